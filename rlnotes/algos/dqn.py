"""DQN with double Q-learning (Mnih et al., 2015; van Hasselt et al., 2016).

    y = r + γ (1 − terminated) Q'(s', argmax_a Q(s', a))                  `target_value`
    Q = argmin E[ huber(Q(s, a) − y) ]                                         `td_loss`

Q' is a copy of Q that is renewed every `target_update_interval` steps: the one line
that `bullet/plate` got wrong.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rlnotes.algos.networks import adam, check_gamma
from rlnotes.algos.policy import Policy, require_head
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.seeding import reset_seeds

Diagnostics = dict[str, Tensor]


def on_schedule(step: int, done: bool, config: "Config") -> bool:
    """Whether Q' becomes a copy of Q after this step. Whether an episode ends just then
    must not matter."""
    return step % config.target_update_interval == 0


@dataclass(frozen=True)
class Config:
    """The paper played Atari for 50 million steps; but for γ, the defaults are ours,
    for small worlds. The paper's stand beside them."""

    gamma: float = 0.99
    learning_rate: float = 5e-4  # 2.5e-4, of RMSProp
    anneal_lr: bool = False  # let the rate fall on a line, to zero at the last step
    batch_size: int = 128  # 32
    hidden: tuple[int, ...] = (128, 128)  # convolutions
    buffer_size: int = 100_000  # 1,000,000
    learning_starts: int = 1_000  # steps before the first update: 50,000
    exploration_fraction: float = 0.2  # of all steps, to reach `final_epsilon`: 0.02
    final_epsilon: float = 0.05  # 0.1
    train_freq: int = 1  # environment steps per update: 4
    target_update_interval: int = 500  # environment steps: 40,000
    target_due: Callable[[int, bool, "Config"], bool] = on_schedule

    def __post_init__(self) -> None:
        check_gamma(self.gamma)


class Agent:
    """The policy, whose outputs are Q, its slow copy, and what was played."""

    def __init__(self, policy: Policy, config: Config) -> None:
        require_head(policy, "DQN", "argmax")
        self.config = config
        self.policy = policy
        self.target = copy.deepcopy(policy.net)
        self.optimiser = adam(policy.net.parameters(), config.learning_rate)
        self.memory = Transitions(
            config.buffer_size, policy.obs_shape, 1, policy.obs_dtype
        )
        self.rng = np.random.default_rng(0)  # from the seed, once it trains
        self.step = 0  # environment steps
        self.target_updates = 0


@torch.no_grad()
def target_value(q: nn.Module, target: nn.Module, batch: Batch, gamma: float) -> Tensor:
    """One network chooses the next action, the other values it; else every error
    upwards is chosen."""
    chosen = q(batch.next_obs).argmax(-1, keepdim=True)
    next_q = target(batch.next_obs).gather(1, chosen).squeeze(1)
    return batch.reward + gamma * (1 - batch.terminated) * next_q


def td_loss(q: nn.Module, batch: Batch, target: Tensor) -> tuple[Tensor, Diagnostics]:
    value = q(batch.obs).gather(1, batch.action.long()).squeeze(1)
    loss = F.smooth_l1_loss(value, target)
    return loss, {"td_loss": loss.detach(), "q_data": value.detach().mean()}


def update(agent: Agent, batch: Batch) -> Diagnostics:
    """One step of Q on a batch as it was played: it is encoded here."""
    batch = agent.policy.encode_batch(batch)
    target = target_value(agent.policy.net, agent.target, batch, agent.config.gamma)
    loss, diagnostics = td_loss(agent.policy.net, batch, target)
    agent.optimiser.zero_grad()
    loss.backward()
    agent.optimiser.step()
    return diagnostics


def epsilon(step: int, steps: int, config: Config) -> float:
    """The chance of a random action in a training of `steps`, falling on a line."""
    explored = min(1.0, step / max(1, round(config.exploration_fraction * steps)))
    return 1 + explored * (config.final_epsilon - 1)


def train(
    agent: Agent, env: gym.Env[Any, Any], steps: int, seed: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Play until there have been `steps`, with an update every `train_freq` of them
    once learning has started; each step is yielded."""
    policy, config, memory = agent.policy, agent.config, agent.memory
    if agent.step == 0:
        agent.rng = np.random.default_rng(seed)
    count = steps - agent.step + 1
    starts = iter(reset_seeds("train", seed, count, stream=agent.step))
    obs, _ = env.reset(seed=next(starts))
    while agent.step < steps:
        agent.step += 1
        if agent.rng.uniform() < epsilon(agent.step, steps, config):
            action = int(agent.rng.integers(policy.num_actions))
        else:
            action = int(policy.act(obs[None])[0])
        next_obs, reward, terminated, truncated, _ = env.step(action)
        memory.add(obs, np.array([action]), float(reward), next_obs, terminated)
        done = terminated or truncated
        obs = env.reset(seed=next(starts))[0] if done else next_obs
        diagnostics: Diagnostics = {}
        if agent.step > config.learning_starts and agent.step % config.train_freq == 0:
            if config.anneal_lr:
                rate = config.learning_rate * (1 - agent.step / steps)
                agent.optimiser.param_groups[0]["lr"] = rate
            diagnostics = update(agent, memory.sample(config.batch_size))
        if config.target_due(agent.step, done, config):
            agent.target.load_state_dict(policy.net.state_dict())
            agent.target_updates += 1
        updates = torch.tensor(agent.target_updates)
        yield agent.step, diagnostics | {"target_updates": updates}
