"""Absorbing ends: every episode has one length, and the demonstrations look as the wrapper would show them."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rlnotes.data.absorbing import padded
from rlnotes.data.rollouts import rollout
from rlnotes.envs.absorbing import Absorbing


def make(horizon: int = 60) -> gym.Env:
    return Absorbing(gym.make("CartPole-v1", max_episode_steps=1000), horizon)


def falls(obs: np.ndarray) -> np.ndarray:
    """Pushes right until the pole is down, after nine or ten steps."""
    return np.ones(len(obs), np.int64)


def test_it_is_a_proper_world() -> None:
    check_env(make(), skip_render_check=True)


def test_what_ended_stays_where_it_ended() -> None:
    (episode,) = rollout(make, falls, [1])
    (inside,) = rollout(lambda: gym.make("CartPole-v1"), falls, [1])
    steps = len(inside.rewards)
    assert len(episode.rewards) == 60
    assert (episode.terminated, episode.truncated) == (False, True)
    assert np.array_equal(episode.observations[:steps, :-1], inside.observations[:-1])
    assert (episode.observations[:steps, -1] == 0).all()
    assert (episode.observations[steps:] == [0, 0, 0, 0, 1]).all()
    assert episode.total_reward == steps


def test_a_demonstration_is_padded_as_the_wrapper_would_have_shown_it() -> None:
    (wrapped,) = rollout(make, falls, [1])
    (inside,) = rollout(lambda: gym.make("CartPole-v1"), falls, [1])
    shown = padded(inside, 60)
    assert np.array_equal(shown.observations, wrapped.observations)
    assert np.array_equal(shown.rewards, wrapped.rewards)
    assert (shown.actions[len(inside.rewards) :] == 0).all()


def test_what_ran_out_of_time_is_not_made_longer() -> None:
    (inside,) = rollout(lambda: gym.make("CartPole-v1"), falls, [1])
    shown = padded(replace(inside, terminated=False, truncated=True), 60)
    assert len(shown.rewards) == len(inside.rewards)
    assert (shown.observations[:, -1] == 0).all()


def test_a_time_limit_before_the_horizon_is_refused() -> None:
    env = Absorbing(gym.make("CartPole-v1", max_episode_steps=5), 60)
    env.reset(seed=0)
    for step in range(4):
        env.step(step % 2)
    with pytest.raises(RuntimeError, match="after 5 of 60 steps"):
        env.step(0)
