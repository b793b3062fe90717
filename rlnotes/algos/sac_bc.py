"""SAC+BC: the minimalist recipe of TD3+BC applied to another off-policy learner.

One loss differs from `sac.py`; standardised observations come with the policy, as in
`td3_bc.py`:

    π = argmax E[ λ ( min(Q1, Q2)(s, a) − η log π(a|s) ) − (tanh μ(s) − a_data)² ],
    λ = α / mean|Q|                                                         `actor_loss`
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from rlnotes.algos import sac
from rlnotes.algos.bc import bc_error
from rlnotes.data.transitions import Batch, Transitions


@dataclass(frozen=True)
class Config(sac.Config):
    """SAC's and TD3+BC's; there is no paper on both."""

    alpha: float = 2.5
    bc_weight: float = 1.0  # 0: plain SAC on a fixed dataset
    learning_starts: int = 0  # nothing is played
    buffer_size: int = 0  # and nothing remembered: the data is all there is


class Agent(sac.Agent):
    config: Config


def actor_loss(agent: sac.Agent, batch: Batch) -> tuple[Tensor, sac.Diagnostics]:
    assert isinstance(agent.config, Config)
    action, log_prob = sac.sample_action(agent.policy, batch.obs)
    q = torch.minimum(*agent.critic(batch.obs, action))
    q_weight = agent.config.alpha / q.abs().mean().detach()
    bc_loss = bc_error(agent.policy, agent.policy(batch.obs), batch.action)
    soft_loss = (agent.temperature * log_prob - q).mean()
    loss = q_weight * soft_loss + agent.config.bc_weight * bc_loss
    return loss, {
        "q_policy": q.detach().mean(),
        "entropy": -log_prob.detach().mean(),
        "bc_loss": bc_loss.detach(),
    }


def train(
    agent: Agent, data: Transitions, steps: int
) -> Iterator[tuple[int, sac.Diagnostics]]:
    """Updates on a fixed dataset until there have been `steps`, each one yielded."""
    encoded = data.encoded(agent.policy.encode_obs, agent.policy.encode_action)
    while agent.step < steps:
        batch = encoded.sample(agent.config.batch_size)
        diagnostics = sac.update(agent, batch, actor_loss)
        agent.step += 1
        yield agent.step, diagnostics
