"""The ratio of an action nobody played: no reward moves the mean, and the diagnostic tells."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from rlnotes.algos import ppo
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import fresh_sample


def agent(fault: bool) -> ppo.Agent:
    torch.manual_seed(0)
    one = np.ones(1)
    learner = ppo.Agent(Policy(-2 * one, 2 * one, np.zeros(3), np.ones(3), (16,), "gaussian"), ppo.Config(hidden=(16,)))
    if fault:
        learner.log_prob_of = fresh_sample.log_prob_of_fresh
    return learner


@pytest.mark.parametrize("fault", [False, True])
def test_the_diagnostic_fires_on_the_twin_only(fault: bool) -> None:
    learner = agent(fault)
    envs = SyncVectorEnv([lambda: gym.make("Pendulum-v1")] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    rollout = ppo.Player(learner.policy, envs, 0).rollout(32)
    assert fresh_sample.fires(float(ppo.update(learner, rollout)["first_ratio_off"])) == fault


@pytest.mark.parametrize("fault", [False, True])
def test_with_the_fault_no_advantage_moves_the_mean(fault: bool) -> None:
    learner = agent(fault)
    obs, played = torch.randn(64, 3), torch.randn(64, 1)
    outputs = learner.policy.net(obs).detach().requires_grad_()
    mean, log_std = outputs.chunk(2, dim=-1)
    chances = torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)
    old = chances.log_prob(played).detach()
    loss, _ = ppo.policy_loss(learner.log_prob_of(chances, played), old, 100 * torch.randn(64), clip=1e9)
    loss.backward()
    assert outputs.grad is not None
    on_mean, on_spread = outputs.grad.abs().sum(0)
    assert (on_mean < 1e-3 * on_spread) == fault
    assert on_spread > 0
