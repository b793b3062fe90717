"""Every row has a verdict, whatever state its records are in."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rlnotes.experiments import registry
from rlnotes.experiments.base import FRESH, Variant, fresh_seeds
from rlnotes.paths import Run
from rlnotes.report import ledger
from rlnotes.runs.store import Record

Write = Callable[..., None]
KEYS = ["id", "chapter", "notes", "bar", "recorded"]
KEYS += ["interval", "verdict", "cost_minutes", "autopsy"]


@pytest.fixture
def recorded(write: Write) -> None:
    for seed in (0, 1):
        write("toy/task", "good", seed, 96.0, 17.0)
        write("toy/task", "bad", seed, 10.0, 30.0)
        write("toy/copy", "copy", seed, 110.0, 16.0)
    write("toy/expert", "expert", 0, 99.0, 15.0)


def test_nothing_recorded(home: Path) -> None:
    verdicts = {entry.id: entry.verdict for entry in ledger.entries()}
    assert verdicts == {
        "toy/task": "not recorded yet",
        "toy/copy": "not recorded yet",
        "toy/later": "not built yet",
    }


def test_a_recorded_row(recorded: None) -> None:
    task, copy, later = ledger.entries()
    assert (task.verdict, copy.verdict) == ("reached", "reached")
    assert task.recorded == 96.0
    assert task.cost_minutes == 4.0
    assert list(task.as_json()) == KEYS
    assert copy.autopsy
    assert later.recorded is None


def test_an_interval_takes_five_seeds(recorded: None, write: Write) -> None:
    for seed, success in enumerate((99.0, 95.0, 97.0)):
        write("toy/task", "good", seed + 2, success, 17.0)
    five, two, later = ledger.entries()
    assert (five.interval, two.interval) == ((95.0, 99.0), None)
    cells = [row[4] for name in ("Toys", "Others") for row in ledger.table(name).rows]
    assert cells == ["95.0 to 99.0", "–", ""]
    assert later.as_json()["interval"] is None


def test_bars_are_told_by_the_experiment(home: Path) -> None:
    task, copy, later = (entry.bar for entry in ledger.entries())
    assert task == (
        "IQM of success ≥ 95%, worst seed's success ≥ 90%,"
        " IQM of seconds to the finish ≤ 17.1"
    )
    assert copy == "IQM within 10% of that of the expert"
    assert later == "some day"


def test_what_a_bar_is_set_against_must_be_recorded(write: Write) -> None:
    for seed in (0, 1):
        write("toy/copy", "copy", seed, 110.0, 16.0)
    assert ledger.entries()[1].verdict == "not recorded yet"


def test_a_row_does_not_wait_for_what_is_planned(
    recorded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = registry.find("toy/task")
    later = {"later": Variant("later", {"length": 3.0}, planned=True)}
    more = {
        **task.variants,
        **later,
        FRESH: replace(fresh_seeds()[FRESH], planned=True),
    }
    monkeypatch.setitem(registry.EXPERIMENTS, task.id, replace(task, variants=more))
    assert ledger.entries()[0].verdict == "reached"
    waiting = replace(task, planned=True)
    monkeypatch.setitem(registry.EXPERIMENTS, task.id, waiting)
    assert ledger.entries()[0].verdict == "not recorded yet"


def test_one_damaged_record_does_not_hide_the_others(recorded: None) -> None:
    path = Run("toy/task", "bad", 0).json
    path.write_text(path.read_text().replace('seconds": 60.0', 'seconds": 6.0'))
    task, copy, _ = ledger.entries()
    assert task.verdict == "damaged record"
    assert "bad" in (task.problem or "")
    assert list(task.as_json()) == KEYS
    assert copy.verdict == "reached"
    assert "damaged record" in repr(ledger.table("Toys"))


def test_json_has_no_nan(recorded: None, write: Write) -> None:
    for seed in (0, 1):
        write("toy/task", "good", seed, math.nan, math.nan, replace=True)
    shown = [entry.as_json() for entry in ledger.entries()]
    assert json.loads(json.dumps(shown, allow_nan=False))[0]["recorded"] is None
    assert shown[0]["verdict"] == "not reached"


def test_costs(recorded: None) -> None:
    assert ledger.costs_of("toy/task", "toy/expert").rows == [
        ("toy/task", "4", "4"),
        ("toy/expert", "1", "1"),
    ]
    first = ledger.costs().rows[0]
    assert tuple(first[:5]) == ("toy/task", "good", "2", "1.0", "2.0")


def test_costs_by_experiment_are_those_of_the_run_in_the_middle(
    recorded: None,
) -> None:
    """40,000 steps in a minute; nobody kept the memory."""
    rows = [tuple(row) for row in ledger.costs_by_experiment().rows]
    assert rows[0] == ("toy/task", "4", "1.0", "667", "–", "4")
    assert [row[0] for row in rows] == ["toy/task", "toy/copy", "toy/expert"]


@pytest.mark.parametrize(
    ("fresh", "verdict", "shown"),
    [
        (99.0, "reached", 96.0),
        (95.5, "reached", 95.5),
        (40.0, "not reached", 40.0),
        (math.nan, "not reached", None),
    ],
)
def test_where_fresh_seeds_are_worse_they_are_what_is_shown(
    recorded: None,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    fresh: float,
    verdict: str,
    shown: float | None,
) -> None:
    task = registry.EXPERIMENTS["toy/task"]
    again = replace(task, variants={**task.variants, **fresh_seeds(2)})
    monkeypatch.setitem(registry.EXPERIMENTS, "toy/task", again)
    assert list(again.training_seeds(FRESH)) == [100, 101]
    for seed in (100, 101):
        write("toy/task", FRESH, seed, fresh, 17.0)
    entry = ledger.entries()[0]
    assert (entry.verdict, entry.recorded) == (verdict, shown)
    sentences = [bar.sentence for bar in again.all_bars]
    assert "good is good, on fresh seeds too" in sentences
    assert "bad is bad, on fresh seeds too" not in sentences


def test_memory_that_no_record_tells_is_at_least_that_of_a_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run("gail/cartpole", "ten", 0)
    old, new = Record(run, {}, ()), Record(run, {"peak_memory_mb": 812}, ())
    monkeypatch.setattr(ledger, "_least_memory", lambda: {"gail/cartpole": 703.0})
    assert ledger._memory("gail/cartpole", [old]) == "≥ 703"
    assert ledger._memory("gail/cartpole", [old, new]) == "812"
    assert ledger._memory("gail/acrobot", [old]) == "–"
