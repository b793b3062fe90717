"""DQN with double Q-learning (Mnih et al., 2015; van Hasselt et al., 2016).

    y = r + γ (1 − terminated) Q'(s', argmax_a Q(s', a))                                   `target_value`
    Q = argmin E[ huber(Q(s, a) − y) ]                                                     `td_loss`

Q' is a copy of Q that is renewed every `target_every` steps: the one line that `bullet/plate` got wrong.
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

from rlnotes.algos.networks import adam
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.seeding import reset_seeds

Diagnostics = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    discount: float = 0.99
    learning_rate: float = 5e-4
    anneal: bool = False  # let the learning rate fall on a line, to zero at the last step
    batch_size: int = 128
    hidden: tuple[int, ...] = (128, 128)
    capacity: int = 100_000
    random_steps: int = 1_000  # before the first update
    epsilon_steps: int = 10_000  # over which exploration falls from 1 to `epsilon_last`
    epsilon_last: float = 0.05
    update_every: int = 1  # environment steps
    target_every: int = 500  # environment steps


class Agent:
    def __init__(self, policy: Policy, config: Config) -> None:
        assert policy.head == "argmax"
        self.config = config
        self.policy = policy
        self.target = copy.deepcopy(policy.net)
        self.optimiser = adam(policy.net.parameters(), config.learning_rate)


@torch.no_grad()
def target_value(q: nn.Module, target: nn.Module, batch: Batch, discount: float) -> Tensor:
    """One network chooses the next action, the other values it; else every error upwards is chosen."""
    chosen = q(batch.next_obs).argmax(-1, keepdim=True)
    next_q = target(batch.next_obs).gather(1, chosen).squeeze(1)
    return batch.reward + discount * (1 - batch.terminated) * next_q


def td_loss(q: nn.Module, batch: Batch, target: Tensor) -> tuple[Tensor, Diagnostics]:
    value = q(batch.obs).gather(1, batch.action.long()).squeeze(1)
    loss = F.smooth_l1_loss(value, target)
    return loss, {"td_loss": loss.detach(), "q_data": value.detach().mean()}


def update(agent: Agent, batch: Batch) -> Diagnostics:
    target = target_value(agent.policy.net, agent.target, batch, agent.config.discount)
    loss, diagnostics = td_loss(agent.policy.net, batch, target)
    agent.optimiser.zero_grad()
    loss.backward()
    agent.optimiser.step()
    return diagnostics


def epsilon(step: int, config: Config) -> float:
    """The chance of a random action, falling on a line."""
    done = min(1.0, step / config.epsilon_steps)
    return 1 + done * (config.epsilon_last - 1)


def renew_on_schedule(step: int, episode_over: bool, config: Config) -> bool:
    """Whether Q' becomes a copy of Q after this step. Whether an episode ends just then must not matter."""
    return step % config.target_every == 0


def train(
    agent: Agent,
    env: gym.Env[Any, Any],
    steps: int,
    seed: int,
    renew_target: Callable[[int, bool, Config], bool] = renew_on_schedule,
) -> Iterator[tuple[int, Diagnostics]]:
    """`steps` environment steps, and an update every `update_every` of them once the random steps are over."""
    policy, config = agent.policy, agent.config
    memory = Transitions(min(config.capacity, steps), policy.obs_dim, 1)
    rng = np.random.default_rng(seed)
    starts = iter(reset_seeds("train", seed, steps + 1))
    renewals = 0
    obs, _ = env.reset(seed=next(starts))
    for step in range(1, steps + 1):
        if rng.uniform() < epsilon(step, config):
            action = int(rng.integers(policy.choices))
        else:
            action = int(policy.act(obs[None])[0])
        next_obs, reward, terminated, truncated, _ = env.step(action)
        memory.add(obs, np.array([action]), float(reward), next_obs, terminated)
        episode_over = terminated or truncated
        obs = env.reset(seed=next(starts))[0] if episode_over else next_obs
        diagnostics: Diagnostics = {}
        if step > config.random_steps and step % config.update_every == 0:
            if config.anneal:
                agent.optimiser.param_groups[0]["lr"] = config.learning_rate * (1 - step / steps)
            diagnostics = update(agent, memory.sample(config.batch_size))
        if renew_target(step, episode_over, config):
            agent.target.load_state_dict(policy.net.state_dict())
            renewals += 1
        yield step, diagnostics | {"renewals": torch.tensor(renewals)}
