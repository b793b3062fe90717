"""RLlib's DQN, copied into our policies: before, while and after it learns."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes import ray_local
from rlnotes.algos.policy import Policy

pytestmark = pytest.mark.slow(seconds=10)  # to import RLlib

SEED = 5
QUICK = {
    "lr": 0.01,
    "num_steps_sampled_before_learning_starts": 64,
    "training_intensity": 8.0,
    "train_batch_size_per_learner": 32,
}


def observations() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)


def new_policy() -> Policy:
    env = gym.make("CartPole-v1")
    return Policy.for_spaces(env.observation_space, env.action_space, (16, 8))


def new_config(**options: Any) -> Any:
    from rlnotes.algos import rllib_dqn

    return rllib_dqn.config("CartPole-v1", (16, 8), SEED, **options)


@torch.no_grad()
def assert_same(module: Any, policy: Policy) -> None:
    """The same actions, because of the same values."""
    seen = observations()
    batch = {"obs": torch.as_tensor(seen)}
    theirs = module.compute_q_values(batch)["qf_preds"]
    assert torch.allclose(policy.net(policy.encode_array(seen)), theirs, 1e-4, 1e-5)
    acted = module.forward_inference(batch)["actions"].numpy()
    assert np.array_equal(policy.act(seen), acted)


@pytest.mark.parametrize("dueling", [False, True])
def test_the_copy_acts_as_the_original(dueling: bool) -> None:
    from rlnotes.algos import rllib_dqn

    torch.manual_seed(0)
    config = new_config(dueling=dueling)
    module = config.get_rl_module_spec(env=gym.make("CartPole-v1")).build()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    policy = new_policy()
    rllib_dqn.copy_weights(module, policy)
    assert_same(module, policy)
    assert 0 < policy.act(observations()).mean() < 1


def test_options_arrive_and_the_rest_is_the_librarys() -> None:
    """A replay of the same type keeps its other settings, too."""
    from ray.rllib.algorithms.dqn import DQNConfig

    replay = {"type": "PrioritizedEpisodeReplayBuffer", "capacity": 7}
    config = new_config(num_envs=3, lr=0.1, replay_buffer_config=replay)
    assert (config.lr, config.num_envs_per_env_runner, config.seed) == (0.1, 3, SEED)
    assert config.replay_buffer_config == DQNConfig().replay_buffer_config | replay
    plain = DQNConfig()
    for name in ("double_q", "dueling", "n_step", "grad_clip", "epsilon"):
        assert getattr(config, name) == getattr(plain, name)
    reported = plain.min_sample_timesteps_per_iteration
    assert config.min_sample_timesteps_per_iteration == reported


@pytest.mark.xdist_group("ray")
@pytest.mark.slow(seconds=60)
def test_it_learns_is_copied_each_time_and_repeats_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rlnotes.algos import rllib_dqn

    copy_weights, seen = rllib_dqn.copy_weights, []

    def copied(module: Any, policy: Policy) -> None:
        copy_weights(module, policy)
        assert_same(module, policy)
        weights = torch.nn.utils.parameters_to_vector(policy.parameters())
        seen.append(weights.detach().clone())

    monkeypatch.setattr(rllib_dqn, "copy_weights", copied)
    config = new_config(
        num_envs=4, rollout_fragment_length=4, iteration=200, dueling=False, **QUICK
    )
    with ray_local.session():
        for _ in range(2):
            stream = rllib_dqn.train(config, new_policy(), 600)
            steps = [step for step, _ in stream]
            assert len(steps) == 3
            assert 600 <= steps[-1] < 664
    first, again = seen[:3], seen[3:]
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], first[2])
