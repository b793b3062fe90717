"""Run records: whole or absent, checked when read, never overwritten by accident."""

import json
from pathlib import Path
from typing import Any

import pytest

from rlnotes.errors import UserError
from rlnotes.evidence import records
from rlnotes.evidence.records import Run

RUN = Run("td3bc/pendulum", "td3bc-expert", 3, "smoke")
ROWS = [(10, "return", -1.5), (20, "return", 0.1 + 0.2), (20, "final_return", -1.0)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLNOTES_HOME", str(tmp_path))
    return tmp_path


def info(run: Run = RUN) -> dict[str, Any]:
    named = {"id": run.id, "variant": run.variant, "seed": run.seed, "budget": run.budget}
    return named | {"settings": {}, "wall_seconds": 90.0}


def test_what_is_read_is_what_was_written() -> None:
    records.write(RUN, ROWS, info())
    record = records.read(RUN)
    assert list(record.rows) == ROWS  # to the last bit
    assert record.curve("return") == [(10, -1.5), (20, 0.1 + 0.2)]
    assert record.last("final_return") == -1.0
    assert record.best("return") == 0.1 + 0.2
    assert record.minutes == 1.5
    assert records.recorded_seeds(RUN.id, RUN.variant, "smoke") == [3]


def test_an_existing_record_is_kept_unless_told_otherwise() -> None:
    records.write(RUN, ROWS, info())
    with pytest.raises(UserError, match="recorded already"):
        records.write(RUN, ROWS[:1], info())
    assert list(records.read(RUN).rows) == ROWS
    records.write(RUN, ROWS[:1], info(), replace=True)
    assert list(records.read(RUN).rows) == ROWS[:1]
    assert sorted(path.name for path in RUN.folder.iterdir()) == ["metrics.csv", "run.json"]


def test_a_write_that_dies_leaves_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(records.json, "dumps", die)
    with pytest.raises(KeyboardInterrupt):
        records.write(RUN, ROWS, info())
    assert records.recorded_seeds(RUN.id, RUN.variant, "smoke") == []
    assert list(RUN.folder.parent.iterdir()) == []


def test_missing_record_names_the_command() -> None:
    with pytest.raises(UserError, match="no such record.*run td3bc/pendulum --variant td3bc-expert --seed 3"):
        records.read(RUN)
    with pytest.raises(UserError, match="no such record"):
        records.read_all(RUN.id, "bc-expert", "smoke")


def half_csv(folder: Path) -> None:
    file = folder / "metrics.csv"
    file.write_text(file.read_text()[:25])


def changed_number(folder: Path) -> None:
    file = folder / "metrics.csv"
    file.write_text(file.read_text().replace("-1.5", "-0.5"))


def half_json(folder: Path) -> None:
    file = folder / "run.json"
    file.write_text(file.read_text()[:30])


def lost_csv(folder: Path) -> None:
    (folder / "metrics.csv").unlink()


def lost_json(folder: Path) -> None:
    (folder / "run.json").unlink()


def other_run(folder: Path) -> None:
    file = folder / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seed": 4}))


@pytest.mark.parametrize("damage", [half_csv, changed_number, half_json, lost_csv, lost_json, other_run])
def test_damage_is_noticed_and_nothing_is_lost(damage: Any) -> None:
    records.write(RUN, ROWS, info())
    damage(RUN.folder)
    left = {path.name: path.read_bytes() for path in RUN.folder.iterdir()}
    with pytest.raises(UserError, match="damaged record.*--replace"):
        records.read(RUN)
    assert {path.name: path.read_bytes() for path in RUN.folder.iterdir()} == left
