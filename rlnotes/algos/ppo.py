"""PPO: several passes over fresh experience, none of which may change the policy much (Schulman et al., 2017).

    L = E[ min( ρ A, clip(ρ, 1 − ε, 1 + ε) A ) ],   ρ = π(a|s) / π_old(a|s)              `policy_loss`
    A_t = δ_t + γ λ (1 − over) A_{t+1}                                                   `advantages`
    δ_t = (1 − γ) r_t + γ V(s_{t+1}) − V(s_t)

After an end V is 0, unless somebody knows better (`worth_of_ends`). The factor 1 − γ makes V a mean of the rewards to
come and not their sum, so that it is as large as they are.

Many copies of the world are played at once. Where one runs out of time its future still counts: V of its last
state stands in for it. Discrete actions are drawn from a categorical distribution, continuous ones from a
Gaussian before the tanh that keeps them in [−1, 1]. That tanh is the same in both policies of the ratio, so it
cancels, and the *same* action must go into both: one drawn anew has nothing to do with what was rewarded.

With λ = 1, V = 0, one epoch and one batch, ρ is 1 and this is REINFORCE (`reinforce_config`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from gymnasium.vector import VectorEnv
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Independent, Normal

from rlnotes.algos.networks import adam, mlp
from rlnotes.algos.policy import Policy
from rlnotes.seeding import reset_seeds

Diagnostics = dict[str, Tensor]

LOG_STD_MIN, LOG_STD_MAX = -4.0, 1.0


@dataclass(frozen=True)
class Config:
    discount: float = 0.99
    gae: float = 0.95  # λ: 0 trusts the value function, 1 trusts the returns
    baseline: bool = True  # False: V = 0
    clip: float = 0.2  # ε
    length: int = 128  # steps of each environment between updates
    epochs: int = 10  # passes over them
    batch_size: int = 256
    learning_rate: float = 3e-4
    anneal: bool = False  # let the learning rate fall on a line, to zero at the last step
    first_deviation: float = 1.0  # of continuous actions, before the tanh
    entropy_weight: float = 0.0
    value_weight: float = 0.5
    max_gradient: float = 0.5
    hidden: tuple[int, ...] = (64, 64)


def reinforce_config(**settings: Any) -> Config:
    """No critic, no second pass. Where a rollout ends in the middle of an episode, the rest of it counts nothing."""
    return Config(gae=1.0, baseline=False, epochs=1, batch_size=1_000_000, **settings)


def log_prob_of_stored(chances: Distribution, action: Tensor) -> Tensor:
    """Of the action that was played. What `autopsies.fresh_sample` takes instead is what the notes took."""
    return chances.log_prob(action)


class Agent:
    def __init__(self, policy: Policy, config: Config) -> None:
        assert policy.head in {"argmax", "gaussian"}
        self.config = config
        self.policy = policy
        self.log_prob_of = log_prob_of_stored
        self.value = mlp([policy.obs_dim, *config.hidden, 1])
        with torch.no_grad():  # begin close to chance, whatever is seen
            last = policy.net[-1]
            assert isinstance(last, nn.Linear)
            last.weight.mul_(0.01)
            last.bias.zero_()
            if policy.head == "gaussian":
                last.bias[policy.action_dim :] = math.log(config.first_deviation)
        self.optimiser = adam([*policy.net.parameters(), *self.value.parameters()], config.learning_rate)


class Rollout(NamedTuple):
    """What all environments did: each field has the shape (steps, environments, ...)."""

    obs: Tensor  # standardised
    action: Tensor  # as drawn: a number of a choice, or a vector before the tanh
    log_prob: Tensor
    reward: Tensor
    next_obs: Tensor  # where an episode was over, its last observation and not the next one's first
    terminated: Tensor
    over: Tensor  # terminated, or out of time


def distribution(policy: Policy, obs: Tensor) -> Distribution:
    outputs = policy.net(obs)
    if policy.head == "argmax":
        return Categorical(logits=outputs, validate_args=False)
    mean, log_std = outputs.chunk(2, dim=-1)
    return Independent(Normal(mean, log_std.clamp(LOG_STD_MIN, LOG_STD_MAX).exp(), validate_args=False), 1)


class Player:
    """Keeps the environments between rollouts, so that an episode may last longer than one of them.

    The environments must reset in the step that ends an episode (`AutoresetMode.SAME_STEP`).
    """

    def __init__(self, policy: Policy, envs: VectorEnv, seed: int) -> None:
        self._policy, self._envs = policy, envs
        starts: Any = reset_seeds("train", seed, envs.num_envs)  # one each; the base class declares a single one
        obs, _ = envs.reset(seed=starts)
        self._obs = self._encoded(obs)

    def _encoded(self, obs: np.ndarray) -> Tensor:
        return self._policy.encode_obs(torch.as_tensor(obs, dtype=torch.float32))

    @torch.no_grad()
    def rollout(self, length: int) -> Rollout:
        steps = [self._step() for _ in range(length)]
        return Rollout(*(torch.stack(column) for column in zip(*steps, strict=True)))

    def _step(self) -> Rollout:
        policy, obs = self._policy, self._obs
        chances = distribution(policy, obs)
        action = chances.sample()
        played = action if policy.head == "argmax" else policy.decode_action(torch.tanh(action))
        seen, reward, terminated, truncated, info = self._envs.step(played.numpy())
        self._obs = next_obs = self._encoded(seen)
        over = terminated | truncated
        if over.any():
            next_obs = next_obs.clone()
            next_obs[torch.from_numpy(over)] = self._encoded(np.stack(list(info["final_obs"][over])))
        flags = (torch.as_tensor(column, dtype=torch.float32) for column in (terminated, over))
        return Rollout(
            obs, action, chances.log_prob(action), torch.as_tensor(reward, dtype=torch.float32), next_obs, *flags
        )


@torch.no_grad()
def advantages(rollout: Rollout, values: Tensor, next_values: Tensor, config: Config) -> Tensor:
    """Generalised advantage estimates; `next_values` belong to `rollout.next_obs`."""
    surprise = (1 - config.discount) * rollout.reward + config.discount * next_values - values
    result = torch.zeros_like(surprise)
    following = torch.zeros_like(surprise[0])
    for step in reversed(range(len(surprise))):
        # An episode that is over owes nothing to the one that follows it in the same row.
        following = surprise[step] + config.discount * config.gae * (1 - rollout.over[step]) * following
        result[step] = following
    return result


def policy_loss(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> tuple[Tensor, Diagnostics]:
    ratio = (log_prob - old_log_prob).exp()
    loss = -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
    off = (ratio.detach() - 1).abs()
    return loss, {
        "policy_loss": loss.detach(),
        "ratio_off": off.max(),
        "clipped": (off > clip).float().mean(),
        "kl": (old_log_prob - log_prob).detach().mean(),
    }


def update(
    agent: Agent,
    rollout: Rollout,
    worth_of_ends: Tensor | float = 0.0,
    also: Callable[[], Tensor] = lambda: torch.zeros(()),
) -> Diagnostics:
    """All epochs on one rollout. `also` is a loss of its own kind, added to every batch's.

    `first_ratio_off` is how far ρ is from 1 before anything has changed: 0.
    """
    config = agent.config
    with torch.no_grad():
        trust = float(config.baseline)
        values, next_values = (trust * agent.value(obs).squeeze(-1) for obs in (rollout.obs, rollout.next_obs))
    next_values = torch.where(rollout.terminated.bool(), worth_of_ends, next_values)
    advantage = advantages(rollout, values, next_values, config)
    target = advantage + values
    rows = (rollout.obs, rollout.action, rollout.log_prob, advantage, target)
    obs, action, log_prob, advantage, target = (row.flatten(0, 1) for row in rows)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)

    first: Tensor | None = None
    for _ in range(config.epochs):
        for batch in torch.randperm(len(obs)).split(config.batch_size):
            chances = distribution(agent.policy, obs[batch])
            new_log_prob = agent.log_prob_of(chances, action[batch])
            loss, diagnostics = policy_loss(new_log_prob, log_prob[batch], advantage[batch], config.clip)
            first = diagnostics["ratio_off"] if first is None else first
            value_loss = F.mse_loss(agent.value(obs[batch]).squeeze(-1), target[batch])
            entropy = chances.entropy().mean()
            total = loss + config.value_weight * value_loss - config.entropy_weight * entropy + also()
            agent.optimiser.zero_grad()
            total.backward()
            for net in (agent.policy.net, agent.value):  # apart, or a poor value function would slow the policy down
                nn.utils.clip_grad_norm_(net.parameters(), config.max_gradient)
            agent.optimiser.step()
    assert first is not None
    return diagnostics | {
        "first_ratio_off": first,
        "value_loss": value_loss.detach(),
        "entropy": entropy.detach(),
        "value": values.mean(),
    }


def train(agent: Agent, envs: VectorEnv, steps: int, seed: int) -> Iterator[tuple[int, Diagnostics]]:
    """At least `steps` environment steps, in whole rollouts; yields after each update."""
    player, length = Player(agent.policy, envs, seed), agent.config.length
    for step in rollout_ends(steps, length * envs.num_envs):
        yield step, update(agent, player.rollout(length))
        slow_down(agent, step / steps)


def slow_down(agent: Agent, done: float) -> None:
    """What annealing does to the learning rate when `done` of all steps, a number up to 1, are behind us."""
    if agent.config.anneal:
        agent.optimiser.param_groups[0]["lr"] = agent.config.learning_rate * max(0.0, 1 - done)


def rollout_ends(steps: int, size: int) -> Sequence[int]:
    """How many steps were played after each rollout of `size`, until `steps` are reached."""
    return range(size, steps + size, size)
