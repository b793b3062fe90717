"""Behaviour cloning: regress the dataset's actions on its observations, and ignore its
rewards.

    π = argmin E[ (π(s) − a)² ], or E[ −log π(a|s) ] where actions are discrete   `loss`
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
    """There is no paper: rate, batch and layers are those of TD3+BC."""

    learning_rate: float = 3e-4
    batch_size: int = 256
    hidden: tuple[int, ...] = (256, 256)


class Agent:
    def __init__(self, policy: Policy, config: Config) -> None:
        self.config = config
        self.policy = policy
        self.optimiser = adam(policy.net.parameters(), config.learning_rate)
        self.step = 0  # updates


def bc_error(policy: Policy, action: Tensor, data_action: Tensor) -> Tensor:
    """Mean squared distance in the environment's units, from actions in [−1, 1].

    The unit is a hidden setting wherever this error meets another term: for torques of
    ±2 it counts four times as much as it would in [−1, 1].
    """
    return F.mse_loss(policy.decode_action(action), policy.decode_action(data_action))


def loss(policy: Policy, batch: Batch) -> tuple[Tensor, Diagnostics]:
    if policy.head == "argmax":
        error = F.cross_entropy(policy.net(batch.obs), batch.action.squeeze(-1).long())
    else:
        error = bc_error(policy, policy(batch.obs), batch.action)
    return error, {"bc_loss": error.detach()}


def update(agent: Agent, batch: Batch) -> Diagnostics:
    error, diagnostics = loss(agent.policy, batch)
    agent.optimiser.zero_grad()
    error.backward()
    agent.optimiser.step()
    agent.step += 1
    return diagnostics


def train(
    agent: Agent, data: Transitions, steps: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Updates on a fixed dataset until there have been `steps`, each one yielded."""
    encoded = data.encoded(agent.policy.encode_obs, agent.policy.encode_action)
    while agent.step < steps:
        diagnostics = update(agent, encoded.sample(agent.config.batch_size))
        yield agent.step, diagnostics
