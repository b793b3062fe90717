"""SAC against torch's own distributions, and on a one-step problem."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from rlnotes.algos import sac, sac_bc
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions


class Aim(gym.Env[np.ndarray, np.ndarray]):
    """One step: the reward is −(a − 1)² for actions in [0, 4], so a = 1 is best."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Box(0, 4, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> Any:
        return np.zeros(1, np.float32), -float((action[0] - 1) ** 2), True, False, {}


def gaussian_policy(hidden: tuple[int, ...] = (16,)) -> Policy:
    env = Aim()
    return Policy.for_spaces(env.observation_space, env.action_space, hidden, head="gaussian")


def test_log_prob_matches_torchs_transformed_distribution() -> None:
    torch.manual_seed(0)
    mean, log_std, noise = torch.randn(50, 2), torch.rand(50, 2) - 1, torch.randn(50, 2)
    action, log_prob = sac.squash(mean, log_std, noise)
    reference = TransformedDistribution(Normal(mean, log_std.exp()), [TanhTransform(cache_size=1)])
    raw = mean + log_std.exp() * noise
    expected = (Normal(mean, log_std.exp()).log_prob(raw) - torch.log(1 - torch.tanh(raw) ** 2)).sum(-1)
    assert torch.allclose(log_prob, expected, atol=1e-4)
    assert torch.allclose(log_prob, reference.log_prob(action).sum(-1), atol=1e-2)


def test_log_prob_stays_finite_where_tanh_saturates() -> None:
    _, log_prob = sac.squash(torch.tensor([[40.0]]), torch.tensor([[0.0]]), torch.tensor([[1.0]]))
    assert torch.isfinite(log_prob).all()


def test_target_is_soft_and_stops_only_at_a_real_end() -> None:
    agent = sac.Agent(gaussian_policy(), sac.Config(hidden=(16,)))
    batch = Batch(torch.zeros(2, 1), torch.zeros(2, 1), torch.ones(2), torch.zeros(2, 1), torch.tensor([0.0, 1.0]))
    torch.manual_seed(1)
    target = sac.critic_target(agent, batch)
    torch.manual_seed(1)
    action, log_prob = sac.sample_action(agent.policy, batch.next_obs)
    value = torch.minimum(*agent.target_critic(batch.next_obs, action)) - log_prob  # temperature starts at 1
    assert target[0].item() == pytest.approx(1 + 0.99 * value[0].item(), rel=1e-5)
    assert target[1].item() == 1


@pytest.mark.parametrize(("entropy", "direction"), [(-3.0, 1), (0.5, -1)])
def test_temperature_rises_below_the_target_entropy_and_falls_above(entropy: float, direction: int) -> None:
    log_temperature = torch.zeros((), requires_grad=True)
    sac.temperature_loss(log_temperature, torch.tensor(entropy), target_entropy=-1.0).backward()
    assert log_temperature.grad is not None
    assert np.sign(-log_temperature.grad.item()) == direction


def test_learns_the_best_action_of_a_one_step_problem() -> None:
    torch.manual_seed(0)
    agent = sac.Agent(gaussian_policy(), sac.Config(hidden=(16,), random_steps=100, learning_rate=1e-2))
    for _ in sac.train(agent, Aim(), steps=700, seed=0):
        pass
    assert agent.policy.act(np.zeros((1, 1)))[0, 0] == pytest.approx(1, abs=0.2)


def offline_imitation_error(bc_weight: float) -> float:
    """Data plays a = 3 where a = 1 would pay more: how far from the data does the policy end?"""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    data = Transitions(500, 1, 1)
    for action in rng.normal(3, 0.05, 500):
        data.add(np.zeros(1), np.array([action]), -((action - 1) ** 2), np.zeros(1), True)
    config = sac_bc.Config(hidden=(16,), learning_rate=1e-2, bc_weight=bc_weight)
    agent = sac_bc.Agent(gaussian_policy(), config)
    for _ in sac_bc.train(agent, data, updates=300):
        pass
    return abs(agent.policy.act(np.zeros((1, 1)))[0, 0] - 3)


def test_the_bc_term_holds_an_offline_policy_near_the_data() -> None:
    assert offline_imitation_error(bc_weight=50.0) < 0.25
    assert offline_imitation_error(bc_weight=0.0) > 0.5
