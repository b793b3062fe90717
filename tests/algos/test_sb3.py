"""A policy of SB3, copied: the same actions, and nothing of SB3 needed to use it."""

import gymnasium as gym
import numpy as np
import pytest

import rlnotes.envs
from rlnotes.algos import sb3

assert rlnotes.envs  # importing it registers the worlds


@pytest.mark.parametrize("world", ["rlnotes/Puck-v0", "rlnotes/RaceCar-v0"])
def test_the_copy_acts_as_the_original_before_and_after_learning(world: str) -> None:
    env = gym.make(world)
    model = sb3.sac(env, seed=0, learning_starts=50, policy_kwargs={"net_arch": [16, 16]})
    policy = sb3.new_policy(model)
    env.observation_space.seed(0)
    observations = np.stack([env.observation_space.sample() for _ in range(200)]) / 10
    before = policy.act(observations)
    assert before == pytest.approx(model.predict(observations, deterministic=True)[0], abs=1e-5)

    steps = [step for step, _ in sb3.train(model, policy, 120, chunk=50)]
    assert steps == [50, 100, 120]
    assert model.num_timesteps == 120
    after = policy.act(observations)
    assert after == pytest.approx(model.predict(observations, deterministic=True)[0], abs=1e-5)
    assert not np.allclose(before, after)
