"""Worlds side by side: a new episode begins in the step that ends the old one."""

from typing import Any

import gymnasium as gym
import numpy as np

from rlnotes.envs.vector import make_vec_env

STEPS = 5


def make() -> gym.Env:
    return gym.make("Pendulum-v1", max_episode_steps=STEPS)


def test_an_episode_ends_and_the_next_begins_in_the_same_step() -> None:
    envs, single = make_vec_env(make, 3), make()
    obs: Any = envs.reset(seed=7)[0]  # 7, 8 and 9
    assert obs.shape == (3, 3)
    single.reset(seed=8)
    push = np.ones((3, 1), np.float32)
    for _ in range(STEPS):
        obs, rewards, _, truncated, infos = envs.step(push)
        last, reward, _, cut, _ = single.step(push[1])
        assert (rewards[1], truncated[1]) == (reward, cut)
    assert truncated.all()
    assert np.array_equal(infos["final_obs"][1], last)
    assert not np.array_equal(obs[1], last), "this is where the next one begins"
    assert not np.array_equal(envs.step(push)[0], obs), "no step is spent on the reset"
    envs.close()
