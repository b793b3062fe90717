"""The tables of PPO's speed, from hand-made races."""

import pytest

from rlnotes.experiments.ppo_speed import PPO_SPEED, WALKERS
from rlnotes.paths import Run
from rlnotes.report import ppo_speed
from rlnotes.report.ppo_speed import PARTS
from rlnotes.runs.store import Record


def race(seed: int, speed: float) -> Record:
    numbers = {
        f"{name}_{metric}": factor * speed
        for name in WALKERS.contestants
        for metric, factor in (("steps_per_second", 1_000.0), ("times_sb3", 1.0))
    }
    numbers |= {f"{name}_share": speed / 10 for name in PARTS if name != "emulator"}
    rows = tuple((1, metric, value) for metric, value in numbers.items())
    return Record(Run(PPO_SPEED.id, "bipedal-walker", seed), {}, rows)


@pytest.fixture
def races() -> list[Record]:
    return [race(seed, speed) for seed, speed in enumerate((2.0, 9.0, 3.0))]


def test_one_row_per_contestant_with_the_median_of_the_races(
    races: list[Record],
) -> None:
    rows = ppo_speed.table(races).rows
    assert [row[0] for row in rows] == [
        one.label for one in WALKERS.contestants.values()
    ]
    assert {tuple(row[1:]) for row in rows} == {("3,000", "3.00")}


def test_one_row_per_part(races: list[Record]) -> None:
    rows = ppo_speed.profile(races).rows
    assert [row[0] for row in rows] == [
        label for name, label in PARTS.items() if name != "emulator"
    ]
    assert {row[1] for row in rows} == {"30%"}
