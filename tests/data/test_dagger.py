"""DAgger keeps the learner's states and takes the expert's actions."""

import gymnasium as gym
import numpy as np

from rlnotes.data import dagger
from rlnotes.data.demonstrators import PurePursuit
from rlnotes.data.rollouts import rollout


def straight_on(obs: np.ndarray) -> np.ndarray:
    return np.tile(np.array([0.0, 0.5], np.float32), (len(obs), 1))


def make_env() -> gym.Env:
    return gym.make("rlnotes/RaceCar-v0", start_noise=1.0)


def test_states_of_the_learner_actions_of_the_expert() -> None:
    driven = rollout(make_env, straight_on, [1, 2])
    corrected = dagger.corrected(make_env, straight_on, PurePursuit(), [1, 2])
    for before, after in zip(driven, corrected, strict=True):
        assert np.array_equal(before.observations, after.observations)
        assert np.array_equal(before.rewards, after.rewards)
        assert np.array_equal(after.actions, PurePursuit()(before.observations[:-1]))
        assert not np.array_equal(after.actions, before.actions)
