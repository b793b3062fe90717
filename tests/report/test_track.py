"""Drawings of the track show every drive, and where it crashed."""

import math

import matplotlib as mpl
import numpy as np
import pytest

from rlnotes.data.rollouts import Episode
from rlnotes.paths import Run
from rlnotes.report import race, track
from rlnotes.runs import store
from rlnotes.runs.store import Record

mpl.use("agg")


def drive(y: float, reward: float = 3.0) -> Episode:
    observations = np.zeros((41, 9), np.float32)
    observations[:, 0] = np.linspace(0.5, 7.5, 41)
    observations[:, 1] = y
    actions, rewards = np.zeros((40, 2), np.float32), np.zeros(40)
    rewards[-1] = reward
    return Episode(0, observations, actions, rewards, True, False)


SHOWN = [drive(y) for y in np.linspace(2.8, 3.2, 5)]


def crosses(ax: mpl.axes.Axes) -> int:
    return sum(line.get_marker() == "x" for line in ax.get_lines())


def test_only_crashes_have_a_cross() -> None:
    figure = track.drives(
        {"arrives": (SHOWN, [drive(3.05)]), "crashes": (SHOWN, [drive(3.7, -1.0)])}
    )
    above, above_2, below, below_2 = figure.axes
    assert [crosses(ax) for ax in figure.axes] == [0, 1, 0, 1]
    assert above.get_title() == "arrives"
    near, far = (ax.get_lines()[0].get_ydata() for ax in (below, below_2))
    assert np.max(near) < 2 < np.max(far)
    assert above_2.get_title() == "crashes"


def test_paths_and_controls_have_one_picture_each() -> None:
    driven = {"clean": SHOWN, "dart": SHOWN}
    assert [ax.get_title() for ax in track.paths(driven)] == ["clean", "dart"]
    columns = track.controls({name: episodes[0] for name, episodes in driven.items()})
    assert [ax.get_title() for ax in columns] == ["clean", "dart"]


@pytest.fixture
def maps() -> track.RewardMaps:
    places = np.array([(0.05, 0.05), (0.15, 0.05), (0.05, 0.15)], np.float32)
    rewards = np.array([(1.0, -1.0, 0.5), (0.0, 0.1, 0.2)], np.float16)
    line = np.zeros((2, 3, 2), np.float32)
    return track.RewardMaps(np.array([2_048, 4_096]), places, rewards, line)


def test_a_map_has_its_rewards_at_their_places(maps: track.RewardMaps) -> None:
    figure = track.reward_panels(maps, (0, 1))
    (image,) = figure.axes[0].get_images()
    shown: np.ndarray = np.ma.asarray(image.get_array()).filled(np.nan)
    assert np.array_equal(shown, [[1.0, -1.0], [0.5, np.nan]], equal_nan=True)
    assert image.get_extent() == pytest.approx((0, 0.2, 0, 0.2))
    assert figure.axes[0].get_title() == "after 2,048 steps"


def test_maps_are_those_of_the_record(
    maps: track.RewardMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = dict(reversed(maps._asdict().items()))
    monkeypatch.setattr(store, "arrays", {MAPS: kept}.get)
    assert track.reward_maps() == maps


MAPS = Run("gail/reward-map", "ppo", 0)


def test_the_film_has_a_frame_per_map(maps: track.RewardMaps) -> None:
    assert "video/mp4" in track.reward_film(maps)._repr_html_()


# --- A side that never arrived is not counted as arriving at its limit

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
