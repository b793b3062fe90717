"""The ceiling of a wrapped world: the notes' 125, and whatever other wrappers make of a
perfect episode."""

from functools import partial

import pytest
from gymnasium.wrappers import TransformReward
from hypothesis import given
from hypothesis import strategies as st

from rlnotes.autopsies import return_ceiling
from rlnotes.envs.frame_skip import FrameSkip


def test_the_notes_wrapper_pays_125_for_500_frames() -> None:
    notes = partial(FrameSkip, frame_skip=4, divide_reward=True)
    found = return_ceiling.ceiling(notes, 500)
    assert found == 125
    assert return_ceiling.fires(found, believed=500)


def test_it_is_quiet_where_a_frame_is_worth_a_frame() -> None:
    found = return_ceiling.ceiling(partial(FrameSkip, frame_skip=4), 500)
    assert found == 500
    assert not return_ceiling.fires(found, believed=500)


@given(skip=st.integers(1, 12), frames=st.integers(1, 60))
def test_a_mean_pays_for_decisions_and_a_sum_for_frames(skip: int, frames: int) -> None:
    wrapped = partial(FrameSkip, frame_skip=skip)
    assert return_ceiling.ceiling(wrapped, frames) == frames
    divided = return_ceiling.ceiling(partial(wrapped, divide_reward=True), frames)
    assert divided == pytest.approx(-(-frames // skip))


def test_other_wrappers_are_seen_too() -> None:
    found = return_ceiling.ceiling(
        lambda env: TransformReward(env, lambda reward: 0.1 * float(reward)), 200
    )
    assert found == pytest.approx(20)
    assert return_ceiling.fires(found, believed=200)
