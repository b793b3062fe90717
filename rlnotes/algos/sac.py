"""Soft actor-critic: maximise return and entropy together (Haarnoja et al., 2018).

    y = r + γ (1 − terminated) ( min(Q1', Q2')(s', a') − η log π(a'|s') ),  a' ~ π(·|s')
                                                                         `critic_target`
    π = argmax E[ min(Q1, Q2)(s, a) − η log π(a|s) ],   a ~ π(·|s)          `actor_loss`
    η is raised while the entropy −log π is below its target and lowered above it
                                                                      `temperature_loss`

The action is a = tanh(u) with u Gaussian, so log π carries the tanh's change of
variables. The book's pendulum expert is trained with this file; `sac_bc.py` turns it
into an offline learner.
"""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rlnotes.algos.networks import (
    TwinQ,
    adam,
    check_gamma,
    log_tanh_slope,
    polyak_update,
)
from rlnotes.algos.policy import Policy, require_head
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.seeding import reset_seeds

Diagnostics = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    gamma: float = 0.99
    tau: float = 0.005
    learning_rate: float = 3e-4
    batch_size: int = 256
    hidden: tuple[int, ...] = (256, 256)
    # Uniformly random actions before the policy takes over; ours, the paper names none.
    learning_starts: int = 1_000
    buffer_size: int = 1_000_000

    def __post_init__(self) -> None:
        check_gamma(self.gamma)


class Agent:
    """A Gaussian policy, its critics, their slow copies, the temperature, the
    optimisers, and what was played."""

    def __init__(self, policy: Policy, config: Config) -> None:
        require_head(policy, "SAC", "gaussian")
        self.config = config
        self.policy = policy
        self.critic = TwinQ(policy.obs_shape, policy.action_dim, config.hidden)
        self.target_critic = copy.deepcopy(self.critic)
        self.log_temperature = torch.nn.Parameter(torch.zeros(()))
        self.target_entropy = -float(policy.action_dim)
        self.policy_optimiser = adam(self.policy.net.parameters(), config.learning_rate)
        self.critic_optimiser = adam(self.critic.parameters(), config.learning_rate)
        self.temperature_optimiser = adam([self.log_temperature], config.learning_rate)
        self.memory = Transitions(
            config.buffer_size, policy.obs_shape, policy.action_dim, policy.obs_dtype
        )
        self.rng = np.random.default_rng(0)  # from the seed, once it trains
        self.random_rng = np.random.default_rng(0)  # of the first, random actions
        self.step = 0  # environment steps

    @property
    def temperature(self) -> Tensor:
        return self.log_temperature.detach().exp()


def squash(mean: Tensor, log_std: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """The action tanh(mean + std·noise) and its log-probability, summed over action
    dimensions."""
    raw = mean + log_std.exp() * noise
    gaussian = -0.5 * noise.square() - log_std - 0.5 * math.log(2 * math.pi)
    return torch.tanh(raw), (gaussian - log_tanh_slope(raw)).sum(-1)


def sample_action(policy: Policy, obs: Tensor) -> tuple[Tensor, Tensor]:
    """What `Policy.sample` plays, for encoded observations and with its gradient."""
    mean, log_std = policy.mean_and_log_std(policy.net(obs))
    return squash(mean, log_std, torch.randn_like(mean))


@torch.no_grad()
def critic_target(agent: Agent, batch: Batch) -> Tensor:
    next_action, log_prob = sample_action(agent.policy, batch.next_obs)
    next_q = torch.minimum(*agent.target_critic(batch.next_obs, next_action))
    soft_value = next_q - agent.temperature * log_prob
    return batch.reward + agent.config.gamma * (1 - batch.terminated) * soft_value


def critic_loss(
    critic: TwinQ, batch: Batch, target: Tensor
) -> tuple[Tensor, Diagnostics]:
    q1, q2 = critic(batch.obs, batch.action)
    loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
    return loss, {"critic_loss": loss.detach(), "q_data": q1.detach().mean()}


def actor_loss(agent: Agent, batch: Batch) -> tuple[Tensor, Diagnostics]:
    action, log_prob = sample_action(agent.policy, batch.obs)
    q = torch.minimum(*agent.critic(batch.obs, action))
    loss = (agent.temperature * log_prob - q).mean()
    return loss, {"q_policy": q.detach().mean(), "entropy": -log_prob.detach().mean()}


def temperature_loss(
    log_temperature: Tensor, entropy: Tensor, target_entropy: float
) -> Tensor:
    return log_temperature * (entropy - target_entropy)


ActorLoss = Callable[[Agent, Batch], tuple[Tensor, Diagnostics]]


def update(
    agent: Agent, batch: Batch, actor_loss: ActorLoss = actor_loss
) -> Diagnostics:
    """One step of the critics, the policy, the temperature and the target critics, on
    an encoded batch."""
    loss, diagnostics = critic_loss(agent.critic, batch, critic_target(agent, batch))
    agent.critic_optimiser.zero_grad()
    loss.backward()
    agent.critic_optimiser.step()

    agent.critic.requires_grad_(False)  # the policy moves, the critic is only asked
    loss, more = actor_loss(agent, batch)
    agent.policy_optimiser.zero_grad()
    loss.backward()
    agent.policy_optimiser.step()
    agent.critic.requires_grad_(True)

    agent.temperature_optimiser.zero_grad()
    temperature_loss(
        agent.log_temperature, more["entropy"], agent.target_entropy
    ).backward()
    agent.temperature_optimiser.step()

    polyak_update(agent.target_critic, agent.critic, agent.config.tau)
    return diagnostics | more | {"temperature": agent.temperature}


def train(
    agent: Agent, env: gym.Env[Any, Any], steps: int, seed: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Play until there have been `steps`, with one update each once learning has
    started; each step is yielded."""
    policy, config, memory = agent.policy, agent.config, agent.memory
    if agent.step == 0:
        agent.rng = np.random.default_rng(seed)
        agent.random_rng = np.random.default_rng([seed, 1])
    count = steps - agent.step + 1
    starts = iter(reset_seeds("train", seed, count, stream=agent.step))
    obs, _ = env.reset(seed=next(starts))
    while agent.step < steps:
        agent.step += 1
        if agent.step <= config.learning_starts:
            unit = torch.as_tensor(agent.random_rng.uniform(-1, 1, policy.action_dim))
            action = policy.decode_action(unit.float()).numpy()
        else:
            action = policy.sample(obs[None], agent.rng)[0]
        next_obs, reward, terminated, truncated, _ = env.step(action)
        unit_action = policy.encode_action(torch.as_tensor(action)).numpy()
        memory.add(obs, unit_action, float(reward), next_obs, terminated)
        obs = next_obs
        if terminated or truncated:
            obs, _ = env.reset(seed=next(starts))
        diagnostics: Diagnostics = {}
        if agent.step > config.learning_starts:
            batch = policy.encode_batch(memory.sample(config.batch_size))
            diagnostics = update(agent, batch)
        yield agent.step, diagnostics
