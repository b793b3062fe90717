"""Pixel CartPole: the physics are CartPole's, the picture is Gymnasium's, and what is
paid is what is said."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.envs import checks
from rlnotes.envs.atari import area_weights
from rlnotes.envs.pixel_cartpole import HEIGHT, WIDTH, PixelCartPoleEnv, covered, draw

ENV_ID = "rlnotes/PixelCartPole-v0"


@pytest.mark.parametrize("check", checks.CHECKS)
def test_it_passes_the_checks_of_worlds(check: str) -> None:
    checks.CHECKS[check](ENV_ID, 3)


def gymnasiums(place: float, lean: float) -> np.ndarray:
    """What Gymnasium draws, in grey, shrunk by areas."""
    env: Any = gym.make("CartPole-v1", render_mode="rgb_array").unwrapped
    env.reset()
    env.state = np.array([place, 0, lean, 0])
    grey = env.render() @ np.array([0.299, 0.587, 0.114])
    env.close()
    return area_weights(int(HEIGHT), 84) @ grey @ area_weights(int(WIDTH), 84).T


@pytest.mark.parametrize(
    ("place", "lean"), [(0, 0), (1.2, 0.1), (-2, -0.2), (0.3, 0.2)]
)
def test_the_picture_is_close_to_gymnasiums(place: float, lean: float) -> None:
    ours, theirs = draw(place, lean, 84, 84).astype(float), gymnasiums(place, lean)
    # They draw in whole pixels and a blue axle; most of the picture is sky.
    assert np.abs(ours - theirs).mean() < 2.5
    changed = theirs < 200
    assert np.corrcoef(ours[changed], theirs[changed])[0, 1] > 0.7


def test_a_hundredth_of_a_radian_and_of_a_metre_can_be_seen() -> None:
    upright = draw(0, 0, 84, 84).astype(int)
    for other in (draw(0, 0.01, 84, 84), draw(0.01, 0, 84, 84)):
        assert np.abs(other.astype(int) - upright).max() > 5


def test_right_is_right_and_up_is_up() -> None:
    dark = 255.0 - draw(1.0, 0.2, 84, 84)
    columns = np.arange(84) * dark.sum(0) / dark.sum()
    assert columns.sum() > 50
    pole = dark[:58]  # above the cart
    top, bottom = (np.average(np.arange(84), weights=x) for x in (pole[38], pole[55]))
    assert top > bottom + 1


def test_the_line_is_in_the_middle_and_nowhere_else() -> None:
    plain, lined = (draw(1, 0, 84, 84, line).astype(int) for line in (False, True))
    assert set(np.flatnonzero((plain != lined).any(0))) == {41, 42}
    assert (lined[:, 41] != lined[:, 40]).any()


def test_it_is_cartpole_four_frames_at_a_time() -> None:
    plain: Any = gym.make("CartPole-v1")
    env = PixelCartPoleEnv(frame_skip=4)
    plain.reset(seed=5)
    seen, _ = env.reset(seed=5)
    assert (seen == seen[0]).all()
    over = False
    for step in range(20):
        action, paid = step % 2, 0.0
        for _ in range(4):
            if not over:
                _, reward, over, _, _ = plain.step(action)
                paid += reward
        before = seen
        seen, reward, terminated, truncated, _ = env.step(action)
        place, _, lean, _ = plain.unwrapped.state
        assert np.array_equal(seen[-1], draw(place, lean, 84, 84))
        assert np.array_equal(seen[:-1], before[1:])
        assert (reward, terminated, truncated) == (paid, over, False)
        if over:
            return
    raise AssertionError("the pole did not fall")


# What a push to the right needs to be more than: a sum of place, lean and their speeds.
# With four frames a push, few such sums keep the pole up.
BALANCING = {1: (0.1, 0.3, 1.0, 0.5), 3: (0.1, 0.3, 1.0, 0.5), 4: (0.07, 0.08, 1, 0.24)}


def balanced(env: PixelCartPoleEnv, frame_skip: int) -> tuple[float, int, bool]:
    """An episode of somebody who can see the state: return, decisions, and whether it
    was the time that ended it."""
    world: Any = env._world.unwrapped
    env.reset(seed=0)
    total, steps, done = 0.0, 0, False
    while not done:
        action = int(world.state @ np.array(BALANCING[frame_skip]) > 0)
        _, reward, terminated, truncated, _ = env.step(action)
        total, steps, done = total + reward, steps + 1, terminated or truncated
    return total, steps, truncated


@pytest.mark.parametrize(
    ("frame_skip", "divide_reward", "expected"),
    [(1, False, 500), (4, False, 500), (4, True, 125), (3, True, 167)],
)
def test_what_a_perfect_episode_is_worth(
    frame_skip: int, divide_reward: bool, expected: float
) -> None:
    env = PixelCartPoleEnv(frame_skip, divide_reward=divide_reward)
    total, steps, truncated = balanced(env, frame_skip)
    assert truncated
    assert total == pytest.approx(expected)
    assert steps == -(-500 // frame_skip)


def test_shares_of_stretches_by_hand() -> None:
    edges = np.array([0.0, 2.0, 4.0, 6.0])
    assert covered(edges, 1, 4.5).tolist() == [0.5, 1.0, 0.25]


def test_what_is_no_action_is_refused() -> None:
    env = PixelCartPoleEnv()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the action"):
        env.step(2)
    with pytest.raises(ValueError, match="'rgb_array' or None"):
        PixelCartPoleEnv(render_mode="human")  # type: ignore[arg-type]
