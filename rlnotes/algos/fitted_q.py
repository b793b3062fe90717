"""Fitted Q evaluation: what each action is worth, if a given player goes on after it
(Le et al., 2019).

    y = r + γ (1 − terminated) Q'(s', π*(s'))                             `target_value`
    Q = argmin E[ (Q(s, a) − y)² ]                                              `q_loss`

π* is the player as it is: no maximum as in DQN, no entropy as in SAC. So anybody who
can be asked for actions can be asked for Q*, too (`fitted_expert`), as `aggrevated`
does. The data must show other actions than the player's, or nothing is known about
them. Without actions (`use_action`) it is V, from what the player has played itself.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rlnotes.algos.experts import Expert
from rlnotes.algos.networks import TwinQ, adam, check_gamma, polyak_update
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import BatchPolicy
from rlnotes.data.transitions import Transitions

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

    def __post_init__(self) -> None:
        check_gamma(self.gamma)


class Agent:
    """Two Qs, whose mean is meant, in the units of a policy; and their slow copies."""

    def __init__(self, policy: Policy, config: Config) -> None:
        self.config = config
        self.policy = policy
        discrete = policy.head == "argmax"
        width = policy.num_actions if discrete else policy.action_dim
        width = width if config.use_action else 0
        self.critic = TwinQ(policy.obs_shape, width, config.hidden)
        self.target_critic = copy.deepcopy(self.critic)
        self.optimiser = adam(self.critic.parameters(), config.learning_rate)
        self.step = 0  # updates


def features(agent: Agent, action: Tensor) -> Tensor:
    """Of actions in the environment's units: one-hot or in [−1, 1]."""
    policy = agent.policy
    if policy.head == "argmax":
        action = F.one_hot(action.long(), policy.num_actions).float()
    else:
        action = policy.encode_action(action)
    return action if agent.config.use_action else action[..., :0]


def q_value(agent: Agent, obs: Tensor, action: Tensor) -> Tensor:
    """Q of observations and actions in the environment's units."""
    encoded = agent.policy.encode_obs(obs)
    return _mean(agent.critic, encoded, features(agent, action))


def value(agent: Agent, obs: Tensor) -> Tensor:
    """V, where no actions were looked at."""
    return _mean(agent.critic, agent.policy.encode_obs(obs), obs[..., :0])


def fitted_expert(agent: Agent, act: BatchPolicy) -> Expert:
    return Expert(act, partial(q_value, agent))


def _mean(critic: TwinQ, obs: Tensor, action: Tensor) -> Tensor:
    q1, q2 = critic(obs, action)
    return (q1 + q2) / 2


@torch.no_grad()
def target_value(
    target: TwinQ,
    reward: Tensor,
    next_obs: Tensor,
    next_action: Tensor,
    terminated: Tensor,
    gamma: float,
) -> Tensor:
    return reward + gamma * (1 - terminated) * _mean(target, next_obs, next_action)


def q_loss(
    critic: TwinQ, obs: Tensor, action: Tensor, target: Tensor
) -> tuple[Tensor, Diagnostics]:
    q1, q2 = critic(obs, action)
    loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
    return loss, {"q_loss": loss.detach(), "q_data": q1.detach().mean()}


def train(
    agent: Agent, data: Transitions, act: BatchPolicy, steps: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Updates until there have been `steps`, each one yielded. The player is asked once
    what it does after each transition."""
    config, policy, raw = agent.config, agent.policy, data.all()
    action = raw.action.squeeze(-1) if policy.head == "argmax" else raw.action
    parts = raw.next_obs.split(ASKED_AT_ONCE)
    chosen = torch.cat([torch.as_tensor(np.asarray(act(x.numpy()))) for x in parts])
    obs, next_obs = policy.encode_obs(raw.obs), policy.encode_obs(raw.next_obs)
    played, next_action = features(agent, action), features(agent, chosen)
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
