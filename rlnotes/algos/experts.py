"""Experts that can be asked: what they would do, and what any action is worth if they
go on after it.

    A*(s, a) = Q*(s, a) − V*(s),   V*(s) = Q*(s, π*(s))

More is better; where others write costs to go, the sign is the other one. Observations
are raw and actions in the environment's units: an expert need not see the world as its
pupil does.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rlnotes.algos.networks import TwinQ
from rlnotes.algos.policy import Policy, require_head
from rlnotes.data.rollouts import BatchPolicy


@dataclass(frozen=True)
class ValueExpert:
    """One who knows what a state is worth, and nothing of single actions."""

    act: BatchPolicy
    value: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Expert:
    """One who knows what any action is worth. For a gradient along actions, `q` must be
    differentiable."""

    act: BatchPolicy
    q: Callable[[Tensor, Tensor], Tensor]

    def value(self, obs: Tensor) -> Tensor:
        return self.q(obs, torch.as_tensor(self.act(obs.numpy())))

    def advantage(self, obs: Tensor, action: Tensor) -> Tensor:
        return self.q(obs, action) - self.value(obs)


def q_network_expert(q: Policy, act: BatchPolicy | None = None) -> Expert:
    """A network with one Q for each action, say a DQN; its player, if that is not the
    one who takes the largest."""
    require_head(q, "an expert with a Q-network", "argmax")

    def of(obs: Tensor, action: Tensor) -> Tensor:
        values = q.net(q.encode_obs(obs))
        return values.gather(-1, action.long().unsqueeze(-1)).squeeze(-1)

    return Expert(act or q.act, of)


def critic_expert(policy: Policy, critic: TwinQ) -> Expert:
    """A policy of continuous actions and its critics, in the policy's own units.

    SAC's critics are soft: they count the entropy that its policy will have. So they
    are not Q* of the actions it plays; `fitted_q` learns that from what was played.
    """

    def of(obs: Tensor, action: Tensor) -> Tensor:
        pair = policy.encode_obs(obs), policy.encode_action(action)
        return torch.minimum(*critic(*pair))

    return Expert(policy.act, of)


def agreement_expert(act: BatchPolicy) -> Expert:
    """Q* counts nothing but agreement: −1 where a discrete action is not the expert's,
    or minus the squared distance. J is then DAgger's objective."""

    def of(obs: Tensor, action: Tensor) -> Tensor:
        wanted = torch.as_tensor(act(obs.numpy()))
        if wanted.dim() == 1:
            return -(action != wanted).float()
        return -(action - wanted).square().sum(-1)

    return Expert(act, of)
