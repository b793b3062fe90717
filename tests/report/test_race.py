"""A side that never arrived is not counted as arriving at its limit."""

import math

import matplotlib as mpl
import numpy as np
import pytest

from rlnotes.paths import Run
from rlnotes.report import race
from rlnotes.runs.store import Record

mpl.use("agg")
NEVER = math.nan


def a_race(ours: float, theirs: float, limit: float = 100.0) -> Record:
    rows = []
    for side, seconds in {"ours": ours, "imitation": theirs}.items():
        spent = limit if math.isnan(seconds) else seconds
        for step, share in ((4_096, 0.5), (8_192, 1.0)):
            rows.append((step, f"{side}_return", 475.0 * share))
            rows.append((step, f"{side}_seconds", spent * share))
        rows.append((8_192, f"{side}_seconds_to_goal", seconds))
    info = {"settings": {"goal": 475.0}}
    return Record(Run("gail/race", "cartpole", 0), info, tuple(rows))


def test_the_ratio_of_the_medians() -> None:
    found = [a_race(2, 20), a_race(4, 60), a_race(400, 50)]
    ratio = race.times_faster(found)
    assert ratio == race.Ratio(50 / 4, bound=False)
    assert str(ratio) == "12"


def test_one_late_library_of_three_does_not_matter_to_the_median() -> None:
    found = [a_race(2, 20), a_race(2, 40), a_race(2, NEVER, limit=30)]
    assert race.times_faster(found) == race.Ratio(20.0, bound=False)


@pytest.mark.parametrize("arrived", [0, 1])
def test_a_library_that_mostly_never_arrives_gives_a_bound(arrived: int) -> None:
    late = [a_race(2, NEVER) for _ in range(2 - arrived)]
    ratio = race.times_faster([*(a_race(2, 100) for _ in range(arrived)), *late])
    assert ratio == race.Ratio(50.0, bound=True)
    assert str(ratio) == "more than 50"


def test_there_is_no_ratio_if_ours_mostly_never_arrives() -> None:
    assert race.times_faster([a_race(NEVER, 20), a_race(2, 20)]) is None


def test_curves_against_seconds_and_steps() -> None:
    seconds, steps = race.race_curves([a_race(2, 20), a_race(4, NEVER)])
    first, second = (np.asarray(line.get_xdata()) for line in seconds.get_lines()[:2])
    assert (first.tolist(), second.tolist()) == ([1, 2], [2, 4])
    assert np.asarray(steps.get_lines()[0].get_xdata()).tolist() == [4_096, 8_192]
    assert seconds.get_legend_handles_labels()[1] == ["ours", "imitation"]
