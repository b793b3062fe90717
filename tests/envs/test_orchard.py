"""The row of trees: what grows where, and what is right there by hand."""

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.envs import checks
from rlnotes.envs.orchard import PICK, WALK
from rlnotes.envs.vector import Backend

ORCHARD = "rlnotes/Orchard-v0"


def returns(actions: list[int]) -> list[float]:
    env = gym.make(ORCHARD)
    env.reset(seed=0)
    return [float(env.step(action)[1]) for action in actions]


def test_the_checker_finds_nothing() -> None:
    checks.interface(ORCHARD)
    checks.repeatable(ORCHARD, seed=0)


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_vectorised_orchards_agree_with_single_ones(backend: Backend) -> None:
    checks.vectorised(ORCHARD, 11, backend)


def test_what_grows_where() -> None:
    assert returns([PICK, PICK, WALK, PICK]) == [1, 1, 0, 0]
    assert returns([WALK] * 7 + [PICK]) == [0] * 8
    assert returns([WALK] * 8 + [PICK, WALK, PICK]) == [0] * 8 + [3, 0, 3]


def test_it_ends_only_by_time_and_begins_at_the_first_tree() -> None:
    env = gym.make(ORCHARD)
    first, _ = env.reset()
    assert first.tolist() == [1] + [0] * 8
    ends = [env.step(WALK)[2:4] for _ in range(200)]
    assert ends == [(False, False)] * 199 + [(False, True)]
    assert env.reset()[0].tolist() == first.tolist()


@pytest.mark.parametrize(("gamma", "best"), [(0.95, WALK), (0.88, WALK), (0.87, PICK)])
def test_from_which_discount_on_it_is_right_to_walk(gamma: float, best: int) -> None:
    """Summed up by playing, against the docstring's formula."""
    env = gym.make(ORCHARD, max_episode_steps=-1)
    worth = []
    for first in ([PICK] * 8, [WALK] * 8):
        env.reset()
        rewards = [float(env.step(action)[1]) for action in [*first, *[PICK] * 2_000]]
        worth.append(float(np.array(rewards) @ gamma ** np.arange(len(rewards))))
    assert worth == pytest.approx([1 / (1 - gamma), gamma**8 * 3 / (1 - gamma)])
    assert int(np.argmax(worth)) == best


@pytest.mark.parametrize("action", [2, -1, 0.5, None])
def test_other_actions_are_refused(action: object) -> None:
    env = gym.make(ORCHARD).unwrapped
    env.reset()
    with pytest.raises(ValueError, match="whole numbers from 0 to 1"):
        env.step(action)
