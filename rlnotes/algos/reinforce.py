"""REINFORCE: make what went well more likely (Williams, 1992).

    ∇J = E[ Σ_t ∇ log π(a_t|s_t) (G_t − b) ],   G_t = r_t + γ G_{t+1}                     `policy_loss`

The baseline b and the scale are those of the batch: returns are standardised over the episodes of one
update. The policy is categorical over discrete actions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from torch.distributions import Categorical

from rlnotes.algos.networks import adam
from rlnotes.algos.policy import Policy
from rlnotes.seeding import reset_seeds

Diagnostics = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    discount: float = 0.99
    learning_rate: float = 1e-2
    episodes_per_update: int = 8
    hidden: tuple[int, ...] = (128,)


class Agent:
    def __init__(self, policy: Policy, config: Config) -> None:
        assert policy.head == "argmax"
        self.config = config
        self.policy = policy
        self.optimiser = adam(policy.net.parameters(), config.learning_rate)


def returns_to_go(rewards: Sequence[float], discount: float) -> list[float]:
    """G_t for every step of one episode.

    An episode cut off by a time limit has a future that is not counted: without a critic there is
    nothing to put in its place. With γ = 0.99 only about the last hundred steps feel it.
    """
    returns, following = [], 0.0
    for reward in reversed(rewards):
        following = reward + discount * following
        returns.append(following)
    return returns[::-1]


def policy_loss(logits: Tensor, actions: Tensor, returns: Tensor) -> tuple[Tensor, Diagnostics]:
    distribution = Categorical(logits=logits)
    # Standardised over all episodes of the update: within one episode, its quality would cancel out.
    advantage = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(distribution.log_prob(actions) * advantage).mean()
    return loss, {"policy_loss": loss.detach(), "entropy": distribution.entropy().detach().mean()}


def update(agent: Agent, observations: Tensor, actions: Tensor, returns: Tensor) -> Diagnostics:
    loss, diagnostics = policy_loss(agent.policy.net(observations), actions, returns)
    agent.optimiser.zero_grad()
    loss.backward()
    agent.optimiser.step()
    return diagnostics


def train(agent: Agent, env: gym.Env[Any, Any], steps: int, seed: int) -> Iterator[tuple[int, Diagnostics]]:
    """At least `steps` environment steps, in whole episodes; yields after each step."""
    policy, config = agent.policy, agent.config
    rng = np.random.default_rng(seed)
    starts = iter(reset_seeds("train", seed, steps + 1))
    observations: list[Tensor] = []
    actions: list[int] = []
    returns: list[float] = []
    rewards: list[float] = []
    episodes = 0
    obs, _ = env.reset(seed=next(starts))
    for step in range(1, steps + 1):
        encoded = policy.encode_obs(torch.as_tensor(obs, dtype=torch.float32))
        with torch.no_grad():
            chances = torch.softmax(policy.net(encoded), dim=-1).numpy()
        action = int(np.searchsorted(np.cumsum(chances), rng.uniform() * chances.sum()))
        obs, reward, terminated, truncated, _ = env.step(action)
        observations.append(encoded)
        actions.append(action)
        rewards.append(float(reward))
        diagnostics: Diagnostics = {}
        if terminated or truncated:
            returns += returns_to_go(rewards, config.discount)
            rewards.clear()
            episodes += 1
            obs, _ = env.reset(seed=next(starts))
            if episodes % config.episodes_per_update == 0:
                diagnostics = update(agent, torch.stack(observations), torch.tensor(actions), torch.tensor(returns))
                diagnostics["episode_length"] = torch.tensor(len(actions) / config.episodes_per_update)
                observations.clear()
                actions.clear()
                returns.clear()
        yield step, diagnostics
