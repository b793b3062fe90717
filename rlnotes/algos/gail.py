"""GAIL: a discriminator learns to tell demonstrations from the learner, and pays the learner (Ho & Ermon, 2016).

    max_D  E_expert[ log D(s, a) ] + E_learner[ log(1 − D(s, a)) ],   D = σ(logit)        `discriminator_loss`

What it pays is a choice, and the choice is not innocent (`REWARDS`): the first is never negative, so that living
longer always pays; the second never positive, so that ending soon does; the third takes either sign. Where
episodes can end early, that decides more than the demonstrations do. `envs.absorbing` takes the choice out.

The learner is PPO, and never sees a reward of the task.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import torch
import torch.nn.functional as F
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.utils import RunningMeanStd
from torch import Tensor, nn

from rlnotes.algos import ppo
from rlnotes.algos.networks import adam, mlp
from rlnotes.algos.policy import Policy

Diagnostics = dict[str, Tensor]
RewardName = Literal["survive", "hurry", "either"]

REWARDS: dict[RewardName, Callable[[Tensor], Tensor]] = {
    "survive": F.softplus,  # −log(1 − D), as in the paper's code and in the notes: ≥ 0
    "hurry": F.logsigmoid,  # log D: ≤ 0
    "either": lambda logit: logit,  # log D − log(1 − D)
}


@dataclass(frozen=True)
class Config:
    reward: RewardName = "either"
    gradient_penalty: float = 10.0
    spectral: bool = False  # bound the discriminator's slope by its weights instead
    epochs: int = 2  # of the discriminator, over each rollout
    batch_size: int = 256
    learning_rate: float = 3e-4
    hidden: tuple[int, ...] = (64, 64)
    absorbing: bool = False  # the last number of an observation says that the episode has ended
    ends_early: bool = False  # said so on purpose: no warning
    learner: ppo.Config = field(default_factory=ppo.Config)


class Discriminator(nn.Module):
    """The logit of "this was a demonstration". Its inputs are standardised by what both sides have shown so far."""

    def __init__(self, width: int, config: Config) -> None:
        super().__init__()
        self.net = mlp([width, *config.hidden, 1])
        if config.spectral:
            for layer in self.net:
                if isinstance(layer, nn.Linear):
                    nn.utils.parametrizations.spectral_norm(layer)
        self.seen = RunningMeanStd(shape=(width,))

    def forward(self, features: Tensor) -> Tensor:
        mean, deviation = (torch.as_tensor(x, dtype=torch.float32) for x in (self.seen.mean, self.seen.var**0.5))
        return self.net((features - mean) / (deviation + 1e-3)).squeeze(-1)


class Agent:
    def __init__(self, policy: Policy, config: Config) -> None:
        self.config = config
        self.policy = policy
        self.learner = ppo.Agent(policy, config.learner)
        width = policy.obs_dim + (policy.choices if policy.head == "argmax" else policy.action_dim)
        self.discriminator = Discriminator(width, config)
        self.optimiser = adam(self.discriminator.parameters(), config.learning_rate)


def features(agent: Agent, obs: Tensor, action: Tensor) -> Tensor:
    """What the discriminator sees: standardised observations, and actions one-hot or in [−1, 1].

    After the end actions do nothing, so they must not tell the two sides apart either.
    """
    policy = agent.policy
    shown = F.one_hot(action.long(), policy.choices).float() if policy.head == "argmax" else action
    if agent.config.absorbing:
        shown = shown * (1 - obs[..., -1:])
    return torch.cat([obs, shown], dim=-1)


def played_features(agent: Agent, rollout: ppo.Rollout) -> Tensor:
    action = rollout.action if agent.policy.head == "argmax" else torch.tanh(rollout.action)
    return features(agent, rollout.obs, action)


def gradient_penalty(discriminator: Discriminator, expert: Tensor, learner: Tensor, share: Tensor) -> Tensor:
    """How far the slope is from 1 on points between the two sides; `share` says where between."""
    between = (share * expert + (1 - share) * learner).requires_grad_()
    (slope,) = torch.autograd.grad(discriminator(between).sum(), between, create_graph=True)
    return (slope.norm(dim=-1) - 1).square().mean()


def discriminator_loss(agent: Agent, expert: Tensor, learner: Tensor) -> tuple[Tensor, Diagnostics]:
    on_expert, on_learner = agent.discriminator(expert), agent.discriminator(learner)
    loss = -F.logsigmoid(on_expert).mean() - F.logsigmoid(-on_learner).mean()
    right = torch.cat([on_expert > 0, on_learner < 0]).float().mean()
    diagnostics = {"discriminator_loss": loss.detach(), "told_apart": right}
    if agent.config.gradient_penalty:
        share = torch.rand(len(expert), 1)
        loss = loss + agent.config.gradient_penalty * gradient_penalty(agent.discriminator, expert, learner, share)
    return loss, diagnostics


def update_discriminator(agent: Agent, expert: Tensor, learner: Tensor) -> Diagnostics:
    """`epochs` passes over the learner's features, each batch against as many random ones of the expert."""
    size = agent.config.batch_size
    agent.discriminator.seen.update(torch.cat([expert[torch.randint(len(expert), (len(learner),))], learner]).numpy())
    for _ in range(agent.config.epochs):
        for batch in torch.randperm(len(learner)).split(size):
            shown = expert[torch.randint(len(expert), (len(batch),))]
            loss, diagnostics = discriminator_loss(agent, shown, learner[batch])
            agent.optimiser.zero_grad()
            loss.backward()
            agent.optimiser.step()
    return diagnostics


def paid(agent: Agent, rollout: ppo.Rollout) -> ppo.Rollout:
    """The rollout with what the discriminator pays for it."""
    with torch.no_grad():
        logit = agent.discriminator(played_features(agent, rollout))
    return rollout._replace(reward=REWARDS[agent.config.reward](logit))


def train(
    agent: Agent, envs: VectorEnv, obs: Tensor, action: Tensor, steps: int, seed: int
) -> Iterator[tuple[int, Diagnostics]]:
    """At least `steps` environment steps against the expert's observations and actions.

    Both are in the policy's units: standardised, in [−1, 1]. Yields after each rollout.
    """
    expert = features(agent, obs, action)
    player, length = ppo.Player(agent.policy, envs, seed), agent.config.learner.length
    may_end_early = not agent.config.ends_early
    for step in ppo.rollout_ends(steps, length * envs.num_envs):
        rollout = player.rollout(length)
        if may_end_early and rollout.terminated.any():
            may_end_early = False
            warnings.warn(
                f"Episodes end early, and the reward '{agent.config.reward}' is paid per step: the learner can earn"
                " by ending sooner or later than the demonstrations. Wrap the world in envs.absorbing.Absorbing, where"
                " this is explained, or say ends_early=True.",
                stacklevel=2,
            )
        diagnostics = update_discriminator(agent, expert, played_features(agent, rollout).flatten(0, 1))
        rollout = paid(agent, rollout)
        yield step, diagnostics | ppo.update(agent.learner, rollout) | {"paid": rollout.reward.mean()}
