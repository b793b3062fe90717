"""States scaled by hand: what the notes divided, and that the spread gives it away."""

from typing import Any

import numpy as np
import pytest

from rlnotes.autopsies import hand_scaling
from rlnotes.data import datasets


def test_the_pendulums_velocity_is_divided_by_its_bound() -> None:
    mean, std = hand_scaling.velocity_by_bound(np.zeros((5, 3)))
    assert mean.tolist() == [0, 0, 0]
    assert std.tolist() == [1, 1, 8]


@pytest.mark.parametrize("width", [9, 11])
def test_positions_are_divided_by_the_length_of_the_track(width: int) -> None:
    mean, std = hand_scaling.positions_by_15(np.zeros((5, width)))
    assert mean.tolist() == [0] * width
    assert std.tolist() == [15, 15, *[1] * 7, *[15] * (width - 9)]


def test_it_fires_on_a_spread_that_is_far_from_1() -> None:
    wide = np.random.default_rng(0).normal(size=(500, 3)) * [
        1,
        10,
        0,
    ]  # one is constant
    assert hand_scaling.fires(wide, np.ones(3))
    assert not hand_scaling.fires(wide, wide.std(0) + 1e-3)


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize(
    ("dataset", "fault"),
    [
        ("rlnotes/pendulum/expert-v0", hand_scaling.velocity_by_bound),
        ("rlnotes/racecar/clean-v0", hand_scaling.positions_by_15),
    ],
)
def test_on_the_books_data_it_fires_on_the_fault_only(dataset: str, fault: Any) -> None:
    seen = np.concatenate([e.observations for e in datasets.load(dataset)])
    assert hand_scaling.fires(seen, fault(seen)[1])
    assert not hand_scaling.fires(seen, seen.std(0) + 1e-3)


@pytest.mark.parametrize(
    ("healthy", "faulty"),
    [
        (("td3bc/pendulum", "td3bc-expert"), ("td3bc/pendulum", "hand-scaled-states")),
        (("td3bc/racecar", "bc-clean"), ("td3bc/racecar", "bc-divided-by-15")),
    ],
)
def test_the_twins_differ_by_the_scale_only(
    differing: Any, healthy: tuple[str, str], faulty: tuple[str, str]
) -> None:
    assert differing(healthy, faulty) == {"obs_scale"}
