"""REINFORCE: make what went well more likely (Williams, 1992).

    ∇J = E[ Σ_t ∇ log π(a_t|s_t) (G_t − b) ],   G_t = r_t + γ G_{t+1}      `policy_loss`

The baseline b and the scale are those of the batch: returns are standardised over the
episodes of one update. The policy is categorical over discrete actions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from torch.distributions import Categorical

from rlnotes.algos.networks import adam, check_gamma
from rlnotes.algos.policy import Policy, require_head
from rlnotes.seeding import reset_seeds

Diagnostics = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    """The paper names no settings; these are ours, for CartPole."""

    gamma: float = 0.99
    learning_rate: float = 1e-2
    episodes_per_update: int = 8
    hidden: tuple[int, ...] = (128,)

    def __post_init__(self) -> None:
        check_gamma(self.gamma)


class Agent:
    """The policy, and the finished episodes that wait for the next update."""

    def __init__(self, policy: Policy, config: Config) -> None:
        require_head(policy, "REINFORCE", "argmax")
        self.config = config
        self.policy = policy
        self.optimiser = adam(policy.net.parameters(), config.learning_rate)
        self.rng = np.random.default_rng(0)  # from the seed, once it trains
        self.step = 0  # environment steps
        self.episodes = 0
        self.forget()

    def forget(self) -> None:
        policy = self.policy
        self.observations = torch.zeros(0, *policy.obs_shape, dtype=policy.obs_dtype)
        self.actions = torch.zeros(0, dtype=torch.long)
        self.returns = torch.zeros(0)

    def remember(
        self,
        observations: Sequence[np.ndarray],
        actions: Sequence[int],
        returns: Sequence[float],
    ) -> None:
        seen = torch.as_tensor(np.stack(observations), dtype=self.policy.obs_dtype)
        self.observations = torch.cat([self.observations, seen])
        self.actions = torch.cat([self.actions, torch.tensor(actions)])
        self.returns = torch.cat([self.returns, torch.tensor(returns)])
        self.episodes += 1


def returns_to_go(rewards: Sequence[float], gamma: float) -> list[float]:
    """G_t for every step of one episode.

    An episode cut off by a time limit has a future that is not counted: without a
    critic there is nothing to put in its place. With γ = 0.99 only about the last
    hundred steps feel it.
    """
    returns, to_go = [], 0.0
    for reward in reversed(rewards):
        to_go = reward + gamma * to_go
        returns.append(to_go)
    return returns[::-1]


def policy_loss(
    logits: Tensor, actions: Tensor, returns: Tensor
) -> tuple[Tensor, Diagnostics]:
    dist = Categorical(logits=logits)
    # Standardised over all episodes of the update: within one episode, its quality
    # would cancel out.
    advantage = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(dist.log_prob(actions) * advantage).mean()
    entropy = dist.entropy().detach().mean()
    return loss, {"policy_loss": loss.detach(), "entropy": entropy}


def update(agent: Agent) -> Diagnostics:
    """One step on all that is remembered, which is then forgotten."""
    encoded = agent.policy.encode_obs(agent.observations)
    logits = agent.policy.net(encoded)
    loss, diagnostics = policy_loss(logits, agent.actions, agent.returns)
    agent.optimiser.zero_grad()
    loss.backward()
    agent.optimiser.step()
    length = torch.tensor(len(agent.actions) / agent.config.episodes_per_update)
    agent.forget()
    return diagnostics | {"episode_length": length}


def train(
    agent: Agent, env: gym.Env[Any, Any], steps: int, seed: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Play until there have been `steps`, with an update every `episodes_per_update`
    episodes; each step is yielded."""
    policy, config = agent.policy, agent.config
    if agent.step == 0:
        agent.rng = np.random.default_rng(seed)
    count = steps - agent.step + 1
    starts = iter(reset_seeds("train", seed, count, stream=agent.step))
    observations: list[np.ndarray] = []
    actions: list[int] = []
    rewards: list[float] = []
    obs, _ = env.reset(seed=next(starts))
    while agent.step < steps:
        agent.step += 1
        action = int(policy.sample(obs[None], agent.rng)[0])
        observations.append(obs)
        actions.append(action)
        obs, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
        diagnostics: Diagnostics = {}
        if terminated or truncated:
            returns = returns_to_go(rewards, config.gamma)
            agent.remember(observations, actions, returns)
            for column in (observations, actions, rewards):
                column.clear()
            obs, _ = env.reset(seed=next(starts))
            if agent.episodes % config.episodes_per_update == 0:
                diagnostics = update(agent)
        yield agent.step, diagnostics
