"""Drawings of the track show every drive, and where it crashed."""

import matplotlib as mpl
import numpy as np
import pytest

from rlnotes.data.rollouts import Episode
from rlnotes.paths import Run
from rlnotes.report import track
from rlnotes.runs import store

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
