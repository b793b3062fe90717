"""The doctor on the book's records: the fault of every twin comes first, and healthy
runs are quiet."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

from rlnotes.doctor import examine
from rlnotes.doctor.checks import Check
from rlnotes.experiments import registry
from rlnotes.paths import Run, results
from rlnotes.report import doctor
from rlnotes.report.doctor import TWINS, Verdict
from rlnotes.report.tables import Link
from rlnotes.runs.store import Record

BOOK = Path(__file__).parents[2] / "book"
EXPERIMENTS = dict(registry.EXPERIMENTS)  # before the toys come
# Controls that hand in a function of an autopsy, and are no twins of it.
CONTROLS = {
    "autopsies.survival.constant_reward",
    "autopsies.survival.swapped_airl_reward",
    "autopsies.survival.hundredfold_airl_reward",
    "autopsies.survival.no_reward",
}
# What needs the dataset that a run learnt from.
OF_DATA = ("td3bc/pendulum", "td3bc/racecar")


@pytest.fixture(autouse=True)
def ours(monkeypatch: pytest.MonkeyPatch, toys: None) -> None:
    monkeypatch.setattr(registry, "EXPERIMENTS", EXPERIMENTS)


def split(address: str) -> tuple[str, str]:
    id, _, variant = address.rpartition("/")
    return id, variant


def test_every_twin_is_a_variant_and_every_fault_a_check() -> None:
    for address, faults in TWINS.items():
        id, variant = split(address)
        assert variant in registry.find(id).variants
        assert set(faults) <= set(doctor.CHECKS)


def handed_in(part: Any) -> set[str]:
    if isinstance(part, dict):
        return {name for one in part.values() for name in handed_in(one)}
    is_fault = isinstance(part, str) and part.startswith("autopsies.")
    return {part} - CONTROLS if is_fault else set()


def test_whatever_has_a_function_of_an_autopsy_is_a_twin() -> None:
    folder = results("full")
    found = {}
    for path in sorted(folder.rglob("*.json")):
        seeds = json.loads(path.read_text())["seeds"].values()
        address = str(path.relative_to(folder).with_suffix(""))
        found[address] = {name for one in seeds for name in handed_in(one["settings"])}
    assert found
    assert {address for address, names in found.items() if names} - set(TWINS) == set()


def on_record(of_data: bool) -> list[str]:
    return [
        id
        for id, one in EXPERIMENTS.items()
        if one.on_record and id.startswith(OF_DATA) == of_data
    ]


def test_to_be_no_worse_than_another_is_not_to_be_healthy() -> None:
    good = doctor.healthy(EXPERIMENTS["td3bc/pendulum"])
    assert {"td3bc-expert", "fresh-seeds"} <= good
    assert "td3bc-medium" not in good


def judged(id: str) -> None:
    for one in doctor.verdicts([id]):
        if one.kind == "twin":
            assert one.detected == one.seeds, one
        if one.kind == "healthy":
            assert not one.fired, one
        if one.kind == "library":
            assert one.says == "quiet", one


@pytest.mark.parametrize("id", on_record(of_data=False))
def test_twins_are_detected_and_healthy_runs_are_quiet(id: str) -> None:
    judged(id)


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("id", on_record(of_data=True))
def test_so_they_are_where_the_data_has_to_be_read(id: str) -> None:
    judged(id)


def test_the_tables_say_what_was_found() -> None:
    found = doctor.verdicts(["parallel/dqn", "parallel/throughput"])
    rows = {row[0]: row for row in doctor.table(found).rows}
    assert rows["parallel/dqn/seldom"][1:3] == ("stale-copy", "5 of 5")
    assert "parallel/dqn/dqn" not in rows
    assert set(doctor.table(found, "twin").rows) == set(rows.values())
    assert doctor.table(found, "healthy").rows == []
    counts = {row[0]: row for row in doctor.summary(found).rows}
    assert counts[doctor.KINDS["twin"][0]][3:] == ("detected: 4", "missed: 0", "0")
    healthy = counts[doctor.KINDS["healthy"][0]]
    assert healthy[3:5] == ("quiet: 1", "false alarm: 0")
    assert int(healthy[5]) > 0, "speeds cannot be called healthy"


def test_a_check_is_proven_by_twins_that_have_nothing_else() -> None:
    rows = {
        row[0]: row for row in doctor.by_check(doctor.verdicts(["parallel/dqn"])).rows
    }
    assert list(rows) == list(doctor.CHECKS)
    assert rows["stale-copy"] == ("stale-copy", "5 of 5", "10", "0")
    assert rows["out-of-bounds"][1] == "–"


def test_a_twin_that_was_not_examined_is_neither_detected_nor_missed() -> None:
    def made(kind: str, **more: dict[str, int]) -> Verdict:
        empty: dict[str, dict[str, int]] = {"fired": {}, "first": {}, "quiet": {}}
        return Verdict("a/b", kind, ("lost-ends",), 2, **empty | more)

    assert made("twin", quiet={"raw-inputs": 2}).says == "not examined"
    assert made("twin", quiet={"lost-ends": 2}).says == "missed"
    half = {"lost-ends": 1, "raw-inputs": 1}
    assert made("twin", fired={"lost-ends": 2}, first=half).says == "missed"
    assert made("twin", fired=half, first={"lost-ends": 2}).says == "detected"
    assert made("healthy").says == "not examined"
    assert made("healthy", quiet=half).says == "quiet"
    assert made("library", fired=half).says == "false alarm"
    assert made("other", fired=half).says == "fires"


def test_the_picture_has_a_row_for_every_fault_and_one_for_the_healthy() -> None:
    ax = doctor.picture(doctor.verdicts(["parallel/dqn"]))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[-1] == "foreign-successor  (1)"
    assert labels[0].startswith(doctor.KINDS["healthy"][0])
    plt.close()


def test_what_the_doctor_said_beside_a_training_is_his_report() -> None:
    rows = ((10, "fires_stale-copy", 1.0), (10, "fires_raw-inputs", 0.0))
    run = Run("doctor/sb3", "dqn-cartpole", 0)
    report = doctor.examine_record(Record(run, {}, rows))
    assert report.fired == ["stale-copy"]
    assert list(report.quiet) == ["raw-inputs"]
    assert len(report.unexamined) == len(doctor.CHECKS) - 2


def test_the_index_names_every_symptom_of_the_chapters_that_are_there() -> None:
    assert len(doctor.symptoms().rows) == len(doctor.CHECKS)
    (row,) = doctor.symptoms(["worlds"]).rows
    assert row[3] == "stale-copy"
    assert isinstance(row[-1], Link)
    assert row[-1].href == "worlds.html#plate-autopsy"


def page(check: Check) -> str:
    return f"{check.section.partition('#')[0]}.ipynb"


def test_a_section_is_a_link_once_its_chapter_is_written() -> None:
    rows = {row[0]: row for row in doctor.checks().rows}
    assert set(rows) == set(doctor.CHECKS)
    assert isinstance(rows["invented-values"][-1], Link)
    a_note = rows["won-discriminator"][-1]
    assert isinstance(a_note, Link)
    assert a_note.href == "gail.html#gail-controls"
    there = [one for one in doctor.CHECKS.values() if (BOOK / page(one)).exists()]
    assert there
    assert all(isinstance(doctor.section(one), Link) for one in there)
    one = replace(doctor.CHECKS["stale-copy"], section="nowhere#yet")
    assert doctor.section(one) == "nowhere (to come)"


def test_a_page_shows_findings_and_plots(tmp_path: Path) -> None:
    report = doctor.examine_run("parallel/dqn", "seldom", 3)
    page = doctor.page(report)
    assert "the target network is renewed too seldom" in page
    assert page.count("data:image/png;base64,") == len(report.exhibits) > 3
    assert "None." in doctor.page(examine())
    (renewals,) = (one for one in report.exhibits if one.name == "target_updates")
    assert renewals.bound == pytest.approx(100)
    assert list(renewals.y)[-1] == 7
