"""The doctor on the book's records: the fault of every twin comes first, and healthy
runs are quiet."""

import json
from pathlib import Path
from typing import Any

import pytest

from rlnotes.doctor import examine
from rlnotes.experiments import registry
from rlnotes.paths import results
from rlnotes.report import doctor
from rlnotes.report.doctor import TWINS

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
# True of what it sees, though nothing was put in: the critic of TD3+BC on poor data
# promises what its policy, held back by that data, does not earn.
KNOWN = {"td3bc/pendulum/td3bc-medium": {"invented-values"}}


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


# Of drives that `make data` does not make.
UNREAD = {"td3bc/racecar/bc-notes", "td3bc/racecar/bc-notes-standardised"}


def judged(id: str) -> None:
    for one in doctor.verdicts([id]):
        if one.kind == "twin" and (one.examined or one.address not in UNREAD):
            assert one.detected == one.seeds, one
        if one.kind == "healthy":
            assert set(one.fired) <= KNOWN.get(one.address, set()), one


@pytest.mark.parametrize("id", on_record(of_data=False))
def test_twins_are_detected_and_healthy_runs_are_quiet(id: str) -> None:
    judged(id)


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("id", on_record(of_data=True))
def test_so_they_are_where_the_data_has_to_be_read(id: str) -> None:
    judged(id)


def test_the_tables_say_what_was_found() -> None:
    found = doctor.verdicts(["parallel/dqn"])
    rows = {row[0]: row for row in doctor.table(found).rows}
    assert rows["parallel/dqn/seldom"][2:4] == ("stale-copy", "5 of 5")
    assert "parallel/dqn/dqn" not in rows
    counts = {row[:2]: row[2] for row in doctor.summary(found).rows}
    assert counts == {("twin", "detected"): "4", ("healthy", "quiet"): "1"}


def test_the_index_names_every_symptom_of_the_chapters_that_are_there() -> None:
    assert len(doctor.symptoms().rows) == len(doctor.CHECKS)
    some = doctor.symptoms(["worlds"]).rows
    assert [row[2] for row in some] == ["stale-copy"]


def test_a_page_shows_findings_and_plots(tmp_path: Path) -> None:
    report = doctor.examine_run("parallel/dqn", "seldom", 3)
    page = doctor.page(report)
    assert "the target network is renewed too seldom" in page
    assert page.count("data:image/png;base64,") == len(report.exhibits) > 3
    assert "None." in doctor.page(examine())
    (renewals,) = (one for one in report.exhibits if one.name == "target_updates")
    assert renewals.bound == pytest.approx(100)
    assert list(renewals.y)[-1] == 7
