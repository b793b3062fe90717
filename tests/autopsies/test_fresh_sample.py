"""The ratio of an action nobody played: no reward moves the mean, and the diagnostic
tells."""

from typing import Any

import gymnasium as gym
import pytest
import torch
from torch.distributions import Independent, Normal

from rlnotes.algos import ppo
from rlnotes.autopsies import fresh_sample
from rlnotes.envs.vector import make_vec_env
from rlnotes.runs import store

CAR = "gail/racecar-ppo"


def test_the_twin_differs_by_exactly_one_setting(differing: Any) -> None:
    assert list(fresh_sample.FAULT) == ["log_prob"]
    settings = differing((CAR, "ppo"), (CAR, "fresh-log-prob"))
    assert settings == {"agent.generator.log_prob"}


def config(fault: bool) -> ppo.Config:
    return ppo.Config(hidden=(16,), **(fresh_sample.FAULT if fault else {}))


@pytest.mark.parametrize("fault", [False, True])
def test_the_diagnostic_fires_on_the_twin_only(fault: bool) -> None:
    torch.manual_seed(0)
    envs, settings = make_vec_env(lambda: gym.make("Pendulum-v1"), 2), config(fault)
    spaces = envs.single_observation_space, envs.single_action_space
    agent = ppo.Agent(ppo.new_policy(*spaces, settings), settings)
    rollout = ppo.Collector(agent.policy, envs, 0).rollout(32)
    first = ppo.update(agent, rollout)["first_ratio_deviation"]
    assert fresh_sample.fires(float(first)) == fault


@pytest.mark.parametrize("fault", [False, True])
def test_with_the_fault_no_advantage_moves_the_mean(fault: bool) -> None:
    torch.manual_seed(0)
    outputs = (0.1 * torch.randn(64, 2)).requires_grad_()
    mean, log_std = outputs.chunk(2, dim=-1)
    dist, played = Independent(Normal(mean, log_std.exp()), 1), torch.randn(64, 1)
    old = dist.log_prob(played).detach()
    new = config(fault).log_prob(dist, played)
    loss, _ = ppo.policy_loss(new, old, 100 * torch.randn(64), clip_coef=1e9)
    loss.backward()
    assert outputs.grad is not None
    on_mean, on_spread = outputs.grad.abs().sum(0)
    assert (on_mean < 1e-3 * on_spread) == fault
    assert on_spread > 0


def test_on_record_it_fires_on_every_faulty_seed_and_on_no_healthy_one() -> None:
    def fires(record: store.Record) -> bool:
        return fresh_sample.fires(record.last("first_ratio_deviation"))

    assert all(fires(record) for record in store.read_all(CAR, "fresh-log-prob"))
    assert not any(fires(record) for record in store.read_all(CAR, "ppo"))
