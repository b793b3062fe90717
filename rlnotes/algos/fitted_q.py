"""Fitted Q evaluation: what each action is worth, if a given player goes on after it
(Le et al., 2019).

    y = r + γ (1 − terminated) Q'(s', π*(s'))                             `target_value`
    Q = argmin E[ (Q(s, a) − y)² ]                                              `q_loss`

π* is the player as it is: no maximum as in DQN, no entropy as in SAC. So anybody who
can be asked for actions can be asked for Q*, too (`fitted_expert`), as `aggrevated`
does. The data must show other actions than the player's, or nothing is known about
them. Without actions (`use_action`) it is V, from what the player has played itself.

A free Q may promise anything where nothing was seen, and whoever follows it goes there.
If the player is believed to be the best there is, Q can be built so that no action is
worth more than the player's own (`peaked`):

    Q(s, a) = V(s) − |L(s) (a − π*(s))|²                                       `PeakedQ`
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rlnotes.algos.experts import Expert
from rlnotes.algos.networks import TwinQ, adam, check_gamma, network, polyak_update
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import BatchPolicy
from rlnotes.data.transitions import Transitions
from rlnotes.errors import UserError

Diagnostics = dict[str, Tensor]

ASKED_AT_ONCE = 50_000  # observations; a million would take gigabytes


@dataclass(frozen=True)
class Config:
    """The paper fits anew for each Q'; ours follows Q slowly, as in TD3 and SAC."""

    gamma: float = 0.99
    tau: float = 0.01
    learning_rate: float = 1e-3
    batch_size: int = 256
    hidden: tuple[int, ...] = (64, 64)
    use_action: bool = True  # False: V
    peaked: bool = False  # no action is worth more than the player's own

    def __post_init__(self) -> None:
        check_gamma(self.gamma)


class PeakedQ(nn.Module):
    """Two critics of how far an action is from the player's own: to be far costs
    something, or nothing, and never pays. Equation eq-peaked."""

    def __init__(
        self, obs_shape: Sequence[int], action_dim: int, hidden: Sequence[int]
    ) -> None:
        super().__init__()
        self.q1 = network(obs_shape, hidden, 1 + action_dim**2)
        self.q2 = network(obs_shape, hidden, 1 + action_dim**2)

    def forward(self, obs: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        return self._of(self.q1(obs), offset), self._of(self.q2(obs), offset)

    def _of(self, outputs: Tensor, offset: Tensor) -> Tensor:
        dim = offset.shape[-1]
        scale = outputs[..., 1:].unflatten(-1, (dim, dim))
        return outputs[..., 0] - (scale @ offset[..., None]).square().sum((-2, -1))


class Agent:
    """Two Qs, whose mean is meant, in the units of a policy; and their slow copies.
    `act` is the player whose actions they are of."""

    def __init__(self, policy: Policy, act: BatchPolicy, config: Config) -> None:
        self.config = config
        self.policy = policy
        self.act = act
        discrete = policy.head == "argmax"
        width = policy.num_actions if discrete else policy.action_dim
        width = width if config.use_action else 0
        if config.peaked and (discrete or not config.use_action):
            raise UserError(
                "peaked measures how far continuous actions are from the player's own:"
                " leave it out for discrete ones, and for V"
            )
        make = PeakedQ if config.peaked else TwinQ
        self.critic: nn.Module = make(policy.obs_shape, width, config.hidden)
        self.target_critic = copy.deepcopy(self.critic)
        self.optimiser = adam(self.critic.parameters(), config.learning_rate)
        self.step = 0  # updates


def features(agent: Agent, obs: Tensor, action: Tensor) -> Tensor:
    """Of actions in the environment's units at raw observations: one-hot, in [−1, 1],
    or how far they are from the player's own."""
    policy, config = agent.policy, agent.config
    if policy.head == "argmax":
        action = F.one_hot(action.long(), policy.num_actions).float()
    else:
        action = policy.encode_action(action)
    if config.peaked:
        action = action - policy.encode_action(player_actions(agent, obs))
    return action if config.use_action else action[..., :0]


def player_actions(agent: Agent, obs: Tensor) -> Tensor:
    """What the player does at raw observations, however many."""
    parts = (part.numpy() for part in obs.split(ASKED_AT_ONCE))
    return torch.cat([torch.as_tensor(np.asarray(agent.act(part))) for part in parts])


def q_value(agent: Agent, obs: Tensor, action: Tensor) -> Tensor:
    """Q of observations and actions in the environment's units."""
    encoded = agent.policy.encode_obs(obs)
    return _mean(agent.critic, encoded, features(agent, obs, action))


def value(agent: Agent, obs: Tensor) -> Tensor:
    """V, where no actions were looked at."""
    return _mean(agent.critic, agent.policy.encode_obs(obs), obs[..., :0])


def fitted_expert(agent: Agent) -> Expert:
    return Expert(agent.act, partial(q_value, agent))


def _mean(critic: nn.Module, obs: Tensor, action: Tensor) -> Tensor:
    q1, q2 = critic(obs, action)
    return (q1 + q2) / 2


@torch.no_grad()
def target_value(
    target: nn.Module,
    reward: Tensor,
    next_obs: Tensor,
    next_action: Tensor,
    terminated: Tensor,
    gamma: float,
) -> Tensor:
    return reward + gamma * (1 - terminated) * _mean(target, next_obs, next_action)


def q_loss(
    critic: nn.Module, obs: Tensor, action: Tensor, target: Tensor
) -> tuple[Tensor, Diagnostics]:
    q1, q2 = critic(obs, action)
    loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
    return loss, {"q_loss": loss.detach(), "q_data": q1.detach().mean()}


def train(
    agent: Agent, data: Transitions, steps: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Updates until there have been `steps`, each one yielded. The player is asked once
    what it does after each transition."""
    config, policy, raw = agent.config, agent.policy, data.all()
    action = raw.action.squeeze(-1) if policy.head == "argmax" else raw.action
    obs, next_obs = policy.encode_obs(raw.obs), policy.encode_obs(raw.next_obs)
    chosen = player_actions(agent, raw.next_obs)
    played = features(agent, raw.obs, action)
    next_action = features(agent, raw.next_obs, chosen)
    while agent.step < steps:
        rows = torch.randint(len(obs), (config.batch_size,))
        target = target_value(
            agent.target_critic,
            raw.reward[rows],
            next_obs[rows],
            next_action[rows],
            raw.terminated[rows],
            config.gamma,
        )
        loss, diagnostics = q_loss(agent.critic, obs[rows], played[rows], target)
        agent.optimiser.zero_grad()
        loss.backward()
        agent.optimiser.step()
        polyak_update(agent.target_critic, agent.critic, config.tau)
        agent.step += 1
        yield agent.step, diagnostics
