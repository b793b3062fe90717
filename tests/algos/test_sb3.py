"""A policy of SB3, copied: the same actions, and nothing of SB3 needed to use it."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.algos import sb3


@pytest.mark.parametrize("world", ["rlnotes/Puck-v0", "rlnotes/RaceCar-v0"])
def test_the_copy_acts_as_the_original_before_and_after_learning(world: str) -> None:
    env = gym.make(world)
    options = {"learning_starts": 50, "policy_kwargs": {"net_arch": [16, 16]}}
    model = sb3.sac(env, seed=0, **options)
    policy = sb3.new_policy(model)
    env.observation_space.seed(0)
    observations = np.stack([env.observation_space.sample() for _ in range(200)]) / 10
    before = policy.act(observations)
    theirs = model.predict(observations, deterministic=True)[0]
    assert before == pytest.approx(theirs, abs=1e-5)

    steps = [step for step, _ in sb3.train(model, policy, 120, chunk=50)]
    assert steps == [50, 100, 120]
    assert model.num_timesteps == 120
    after = policy.act(observations)
    theirs = model.predict(observations, deterministic=True)[0]
    assert after == pytest.approx(theirs, abs=1e-5)
    assert not np.allclose(before, after)
    env.close()


def test_to_import_the_learners_takes_no_library_of_learners() -> None:
    code = (
        "import sys, rlnotes.algos.sb3;"
        "from rlnotes.algos import bc, dqn, gail, offline_gail, ppo, reinforce, sac;"
        "from rlnotes.algos import sac_bc, td3_bc;"
        "assert 'stable_baselines3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
