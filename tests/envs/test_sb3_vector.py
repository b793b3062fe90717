"""Behind the adapter a vector is what SB3's own would be."""

from contextlib import closing
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.envs.sb3_vector import Sb3Vector
from rlnotes.envs.vector import make_vec_env
from rlnotes.errors import UserError

COPIES = 3
make = partial(gym.make, "CartPole-v1", max_episode_steps=12)


def play(envs: Any, steps: int = 60) -> list[tuple[Any, ...]]:
    """From a seed, with the same actions each time. What only SB3's own knows of its
    steps is left out."""
    rng = np.random.default_rng(0)
    known = ("terminal_observation", "TimeLimit.truncated")
    with closing(envs):
        envs.seed(7)
        seen: list[tuple[Any, ...]] = [(envs.reset().tolist(),)]
        for _ in range(steps):
            obs, reward, done, infos = envs.step(rng.integers(2, size=COPIES))
            ends = [
                {name: np.asarray(one[name]).tolist() for name in known}
                for one, over in zip(infos, done, strict=True)
                if over
            ]
            seen.append((obs.tolist(), reward.tolist(), done.tolist(), ends))
    return seen


def test_it_shows_what_sb3_s_own_vector_shows() -> None:
    from stable_baselines3.common.vec_env import DummyVecEnv

    theirs = play(DummyVecEnv([make] * COPIES))
    assert play(Sb3Vector(make_vec_env(make, COPIES))) == theirs
    ends = [end for _, _, _, found in theirs[1:] for end in found]
    assert {end["TimeLimit.truncated"] for end in ends} == {False, True}


def test_a_vector_that_resets_in_the_next_step_is_refused() -> None:
    with (
        closing(gym.vector.SyncVectorEnv([make])) as envs,
        pytest.raises(UserError, match="Stable-Baselines3 needs environments that"),
    ):
        Sb3Vector(envs)


def test_copies_cannot_be_changed_one_by_one() -> None:
    with closing(Sb3Vector(make_vec_env(make, COPIES))) as envs:
        assert envs.get_attr("render_mode") == COPIES * [None]
        assert envs.env_is_wrapped(gym.Wrapper) == COPIES * [False]
        for change in (lambda: envs.set_attr("x", 1), lambda: envs.env_method("x")):
            with pytest.raises(NotImplementedError, match="of their own"):
                change()
