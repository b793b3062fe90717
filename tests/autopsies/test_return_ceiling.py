"""The ceiling of a wrapped world: the notes' 125, and whatever other wrappers make of a
perfect episode."""

from functools import partial

import pytest
from gymnasium.wrappers import TransformReward
from hypothesis import given
from hypothesis import strategies as st

from rlnotes.autopsies import return_ceiling
from rlnotes.envs.frame_skip import FrameSkip
from rlnotes.envs.pixel_cartpole import PixelCartPoleEnv, in_frames


def test_the_notes_wrapper_pays_125_for_500_frames() -> None:
    notes = partial(FrameSkip, frame_skip=4, divide_reward=True)
    found = return_ceiling.ceiling(notes, 500)
    assert found == 125
    assert return_ceiling.fires(found, believed=500)


@pytest.mark.parametrize(
    ("skip", "divided", "found"),
    [(4, True, 125), (2, True, 250), (1, True, 500), (4, False, 500), (2, False, 500)],
)
def test_the_ceiling_of_the_pixel_world(skip: int, divided: bool, found: float) -> None:
    """Of its own wrappers, its time limit among them, around a world that would go on
    for longer; no cart that moves earns more."""
    wrap = partial(in_frames, frame_skip=skip, divide_reward=divided)
    highest = return_ceiling.ceiling(wrap, frames=10_000)
    assert highest == found
    assert return_ceiling.fires(highest, believed=500) == (found != 500)
    env = PixelCartPoleEnv(frame_skip=skip, divide_reward=divided, screen_size=4)
    total, over = 0.0, False
    env.reset(seed=0)
    while not over:
        _, paid, over, cut_off, _ = env.step(env.action_space.sample())
        total, over = total + paid, over or cut_off
    assert 0 < total <= highest


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
