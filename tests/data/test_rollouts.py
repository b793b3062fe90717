"""Rolling out: one episode per seed, the same however many environments advance together."""

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.data.rollouts import Episode, rollout


def make_pendulum() -> gym.Env:
    return gym.make("Pendulum-v1", max_episode_steps=30)


def push(obs: np.ndarray) -> np.ndarray:
    return np.sign(obs[:, 2:])


def test_grouping_does_not_change_an_episode() -> None:
    together = rollout(make_pendulum, push, seeds=[3, 4, 5], at_once=3)
    alone = rollout(make_pendulum, push, seeds=[3, 4, 5], at_once=1)
    for one, other in zip(together, alone, strict=True):
        assert np.array_equal(one.observations, other.observations)
        assert np.array_equal(one.rewards, other.rewards)


def test_episodes_of_different_length_keep_their_own_data() -> None:
    episodes = rollout(lambda: gym.make("CartPole-v1"), lambda obs: np.ones(len(obs), int), seeds=range(8))
    assert len({len(e.rewards) for e in episodes}) > 1
    for episode in episodes:
        assert len(episode.observations) == len(episode.rewards) + 1 == len(episode.actions) + 1
        assert episode.terminated
        assert not episode.truncated


def test_a_time_limit_is_recorded_as_truncation() -> None:
    (episode,) = rollout(make_pendulum, push, seeds=[0])
    assert (episode.terminated, episode.truncated, len(episode.rewards)) == (False, True, 30)


def test_discounted_return_by_hand() -> None:
    episode = Episode(0, np.zeros((4, 1)), np.zeros((3, 1)), np.array([1.0, 2.0, 4.0]), True, False)
    assert episode.discounted_return(0.5) == pytest.approx(1 + 1 + 1)
    assert episode.total_reward == 7
