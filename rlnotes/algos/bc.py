"""Behaviour cloning: regress the dataset's actions on its observations, and ignore its rewards.

π = argmin E[ (π(s) − a)² ], or E[ −log π(a|s) ] where actions are discrete         `imitation_loss`
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from rlnotes.algos.networks import adam
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions

Diagnostics = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    learning_rate: float = 3e-4
    batch_size: int = 256
    hidden: tuple[int, ...] = (256, 256)


class Agent:
    def __init__(self, policy: Policy, config: Config) -> None:
        self.config = config
        self.policy = policy
        self.optimiser = adam(policy.net.parameters(), config.learning_rate)


def imitation_error(policy: Policy, action: Tensor, data_action: Tensor) -> Tensor:
    """Mean squared distance in the environment's units, from actions in [−1, 1].

    The unit is a hidden setting wherever this error meets another term: for torques of ±2 it counts
    four times as much as it would in [−1, 1].
    """
    return F.mse_loss(policy.decode_action(action), policy.decode_action(data_action))


def imitation_loss(policy: Policy, batch: Batch) -> tuple[Tensor, Diagnostics]:
    if policy.head == "argmax":
        loss = F.cross_entropy(policy.net(batch.obs), batch.action.squeeze(-1).long())
    else:
        loss = imitation_error(policy, policy(batch.obs), batch.action)
    return loss, {"imitation": loss.detach()}


def update(agent: Agent, batch: Batch) -> Diagnostics:
    loss, diagnostics = imitation_loss(agent.policy, batch)
    agent.optimiser.zero_grad()
    loss.backward()
    agent.optimiser.step()
    return diagnostics


def train(agent: Agent, data: Transitions, updates: int) -> Iterator[tuple[int, Diagnostics]]:
    """`updates` steps on a fixed dataset, yielding the diagnostics of each."""
    encoded = data.encoded(agent.policy.encode_obs, agent.policy.encode_action)
    for step in range(1, updates + 1):
        yield step, update(agent, encoded.sample(agent.config.batch_size))
