"""What the samples of a rollout are worth: gradients row by row."""

import pytest
import torch

from rlnotes.algos import ppo
from rlnotes.envs.vector import make_vec_env
from rlnotes.experiments.base import Metrics
from rlnotes.experiments.decorrelation import (
    CARTPOLE,
    DECORRELATION,
    LAYOUTS,
    LONG,
    SHORT,
    sample_gradients,
    variances,
)


def agent_and_rollout() -> tuple[ppo.Agent, ppo.Rollout]:
    torch.manual_seed(0)
    config = ppo.Config(hidden=(8,))
    agent = ppo.Agent(ppo.new_policy(*CARTPOLE.spaces(), config), config)
    collector = ppo.Collector(agent.policy, make_vec_env("CartPole-v1", 4), 0)
    return agent, collector.rollout(16)


def test_the_mean_of_the_rows_is_the_gradient_of_ppos_first_step() -> None:
    agent, rollout = agent_and_rollout()
    found = sample_gradients(agent, rollout)
    values, next_values = ppo.values_of(agent, rollout)
    next_values = next_values * (1 - rollout.terminated)
    advantage = ppo.advantages(rollout, values, next_values, agent.config)
    target = advantage + values
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    encoded = agent.policy.encode_obs(rollout.obs)
    dist = ppo.distribution(agent.policy, encoded)
    loss, _ = ppo.policy_loss(
        dist.log_prob(rollout.action), rollout.log_prob, advantage, 0.2
    )
    loss = loss + (agent.value(encoded).squeeze(-1) - target).square().mean()
    loss.backward()
    for net, name in ((agent.policy.net, "policy"), (agent.value, "value")):
        grads = [one.grad for one in net.parameters() if one.grad is not None]
        expected = torch.cat([one.flatten() for one in grads])
        assert torch.allclose(found[name].mean(0), expected, atol=1e-6)


def test_independent_rows_count_fully_and_copies_count_once() -> None:
    torch.manual_seed(0)
    drawn = [torch.randn(SHORT, 50) for _ in range(400)]
    variance, independent = variances(drawn)
    assert independent / variance == pytest.approx(1, rel=0.05)
    copies = [torch.randn(1, 50).expand(SHORT, 50) for _ in range(400)]
    variance, independent = variances(copies)
    assert independent / variance == pytest.approx(1 / SHORT, rel=0.05)


def test_every_layout_of_one_size_has_the_same_number_of_samples() -> None:
    for name in DECORRELATION.variants:
        settings = DECORRELATION.settings_for(name, "full")
        size = settings.num_envs * settings.agent.num_steps
        assert size == (LONG if name.endswith("long") else SHORT)


@pytest.mark.slow
def test_training_goes_on_as_if_nobody_had_looked() -> None:
    def metrics(variant: str) -> Metrics:
        settings = DECORRELATION.settings_for(variant, "smoke")
        if settings.measured_samples:
            more = {"measured_samples": 2 * LONG}
            settings = DECORRELATION.settings_for(variant, "smoke", more)
        *_, (_, found) = DECORRELATION.trial(settings, 0).stream
        return found

    plain, looked = metrics("sixteen"), metrics("held-still")
    assert {name: looked[name] for name in plain} == plain
    names = {
        f"{net}_variance_{SHORT}_{n}" for net in ("policy", "value") for n in LAYOUTS
    }
    assert names <= set(looked)
