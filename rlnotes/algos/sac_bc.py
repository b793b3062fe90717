"""SAC+BC: the minimalist recipe of TD3+BC applied to another off-policy learner.

One loss differs from `sac.py`; standardised observations come with the policy, as in `td3_bc.py`:

    π = argmax E[ λ ( min(Q1, Q2)(s, a) − η log π(a|s) ) − (tanh μ(s) − a_data)² ],  λ = α / mean|Q|   `actor_loss`
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from rlnotes.algos import sac
from rlnotes.algos.bc import imitation_error
from rlnotes.data.transitions import Batch, Transitions


@dataclass(frozen=True)
class Config(sac.Config):
    alpha: float = 2.5
    bc_weight: float = 1.0  # 0: plain SAC on a fixed dataset


class Agent(sac.Agent):
    config: Config


def actor_loss(agent: sac.Agent, batch: Batch) -> tuple[Tensor, sac.Diagnostics]:
    assert isinstance(agent.config, Config)
    action, log_prob = sac.sample_action(agent.policy, batch.obs)
    q = torch.minimum(*agent.critic(batch.obs, action))
    q_weight = agent.config.alpha / q.abs().mean().detach()
    imitation = imitation_error(agent.policy, agent.policy(batch.obs), batch.action)
    loss = q_weight * (agent.temperature * log_prob - q).mean() + agent.config.bc_weight * imitation
    return loss, {
        "q_policy": q.detach().mean(),
        "entropy": -log_prob.detach().mean(),
        "imitation": imitation.detach(),
    }


def train(agent: Agent, data: Transitions, updates: int) -> Iterator[tuple[int, sac.Diagnostics]]:
    """`updates` steps on a fixed dataset, yielding the diagnostics of each."""
    encoded = data.encoded(agent.policy.encode_obs, agent.policy.encode_action)
    for step in range(1, updates + 1):
        yield step, sac.update(agent, encoded.sample(agent.config.batch_size), actor_loss)
