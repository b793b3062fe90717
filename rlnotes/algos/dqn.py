"""DQN with double Q-learning (Mnih et al., 2015; van Hasselt et al., 2016).

    y = r + γ (1 − terminated) Q'(s', argmax_a Q(s', a))                  `target_value`
    Q = argmin E[ huber(Q(s, a) − y) ]                                         `td_loss`

Q' is a copy of Q that is renewed every `target_update_interval` steps: the one line
that `bullet/plate` got wrong. s' is where the step led, also when time ran out there:
the one that `parallel/dqn` got wrong.

One environment or many copies of it are played; steps are counted over all of them.
Observations are vectors, or stacks of pictures seen through an eye.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from gymnasium.vector import VectorEnv
from torch import Tensor, nn

from rlnotes.algos.networks import adam, check_gamma
from rlnotes.algos.policy import Policy, require_head
from rlnotes.data.frames import FrameTransitions
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.envs.vector import as_vector, led_to, require_same_step
from rlnotes.seeding import reset_seeds

Diagnostics = dict[str, Tensor]


def on_schedule(step: int, done: bool, config: "Config") -> bool:
    """Whether Q' becomes a copy of Q after this step. Whether an episode ends just then
    must not matter."""
    return step % config.target_update_interval == 0


def linear_epsilon(step: int, steps: int, config: "Config") -> float:
    """The chance of a random action in a training of `steps`, falling on a line."""
    explored = min(1.0, step / max(1, round(config.exploration_fraction * steps)))
    return 1 + explored * (config.final_epsilon - 1)


def one_coin_each(rng: np.random.Generator, num_envs: int, chance: float) -> np.ndarray:
    """Which environments act at random in this step: each throws for itself."""
    return rng.uniform(size=num_envs) < chance


def true_successor(
    next_obs: np.ndarray,
    shown: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
) -> np.ndarray:
    """The s' that is stored: where each step led. What the vector has `shown` after an
    end is the first observation of the next episode, and this step did not go there."""
    return next_obs


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
    train_freq: int = 1  # steps per update: 4
    target_update_interval: int = 500  # steps: 40,000
    target_due: Callable[[int, bool, "Config"], bool] = on_schedule
    double_q: bool = True  # False: Q' also chooses the action that it values
    loss: Callable[[Tensor, Tensor], Tensor] = F.smooth_l1_loss
    max_grad_norm: float | None = None  # of all gradients together
    epsilon: Callable[[int, int, "Config"], float] = linear_epsilon
    explorers: Callable[[np.random.Generator, int, float], np.ndarray] = one_coin_each
    successor: Callable[..., np.ndarray] = true_successor

    def __post_init__(self) -> None:
        check_gamma(self.gamma)


def new_memory(policy: Policy, config: Config) -> Transitions | FrameTransitions:
    """Stacks of pictures share most of what they show, so each is stored once."""
    if policy.eye is not None:
        return FrameTransitions(config.buffer_size, policy.obs_shape)
    return Transitions(config.buffer_size, policy.obs_shape, 1)


class Agent:
    """The policy, whose outputs are Q, its slow copy, and what was played."""

    def __init__(self, policy: Policy, config: Config) -> None:
        require_head(policy, "DQN", "argmax")
        self.config = config
        self.policy = policy
        self.target = copy.deepcopy(policy.net)
        self.optimiser = adam(policy.net.parameters(), config.learning_rate)
        self.memory = new_memory(policy, config)
        self.rng = np.random.default_rng(0)  # from the seed, once it trains
        self.step = 0  # environment steps
        self.target_updates = 0


@torch.no_grad()
def target_value(
    chooser: nn.Module, target: nn.Module, batch: Batch, gamma: float
) -> Tensor:
    """One network chooses the next action, the other values it; else every error
    upwards is chosen. Equations eq-dqn and eq-vector-dqn, van Hasselt et al. (2016)."""
    chosen = chooser(batch.next_obs).argmax(-1, keepdim=True)
    next_q = target(batch.next_obs).gather(1, chosen).squeeze(1)
    return batch.reward + gamma * (1 - batch.terminated) * next_q


def td_loss(
    q: nn.Module,
    batch: Batch,
    target: Tensor,
    loss: Callable[[Tensor, Tensor], Tensor] = F.smooth_l1_loss,
) -> tuple[Tensor, Diagnostics]:
    value = q(batch.obs).gather(1, batch.action.long()).squeeze(1)
    error = loss(value, target)
    return error, {"td_loss": error.detach(), "q_data": value.detach().mean()}


def update(agent: Agent, batch: Batch) -> Diagnostics:
    """One step of Q on a batch as it was played: it is encoded here."""
    q, config = agent.policy.net, agent.config
    batch = agent.policy.encode_batch(batch)
    chooser = q if config.double_q else agent.target
    target = target_value(chooser, agent.target, batch, config.gamma)
    loss, diagnostics = td_loss(q, batch, target, config.loss)
    agent.optimiser.zero_grad()
    loss.backward()
    if config.max_grad_norm is not None:
        nn.utils.clip_grad_norm_(q.parameters(), config.max_grad_norm)
    agent.optimiser.step()
    return diagnostics


def train(
    agent: Agent, env: gym.Env[Any, Any] | VectorEnv, steps: int, seed: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Play until there have been `steps`, with an update every `train_freq` of them
    once learning has started; each step is yielded.

    A vector of n environments takes n steps at once, so that the last ones may be more
    than were asked for; whatever is due after each of the n is done when all of them
    are stored.
    """
    policy, config, memory = agent.policy, agent.config, agent.memory
    if agent.step == 0:
        agent.rng = np.random.default_rng(seed)
    num_envs = env.num_envs if isinstance(env, VectorEnv) else 1
    count = steps - agent.step + num_envs
    starts = iter(reset_seeds("train", seed, count, stream=agent.step))
    envs = as_vector(env, starts)
    require_same_step(envs, "DQN")
    first: Any = list(islice(starts, num_envs))  # the base class declares a single one
    obs, _ = envs.reset(seed=first)
    while agent.step < steps:
        chance = config.epsilon(agent.step + 1, steps, config)
        random = config.explorers(agent.rng, num_envs, chance)
        action = policy.act(obs)
        action[random] = agent.rng.integers(policy.num_actions, size=random.sum())
        shown, reward, terminated, truncated, infos = envs.step(action)
        next_obs = led_to(shown, infos)
        next_obs = config.successor(next_obs, shown, terminated, truncated)
        # Running out of time is no end of the task: `terminated`, and not `done`.
        memory.extend(obs, action[:, None], reward, next_obs, terminated)
        obs = shown
        for done in (terminated | truncated).tolist():
            agent.step += 1
            diagnostics: Diagnostics = {}
            due = agent.step % config.train_freq == 0
            if agent.step > config.learning_starts and due:
                if config.anneal_lr:
                    rate = config.learning_rate * max(0.0, 1 - agent.step / steps)
                    agent.optimiser.param_groups[0]["lr"] = rate
                diagnostics = update(agent, memory.sample(config.batch_size))
            if config.target_due(agent.step, done, config):
                agent.target.load_state_dict(policy.net.state_dict())
                agent.target_updates += 1
            updates = torch.tensor(agent.target_updates)
            yield agent.step, diagnostics | {"target_updates": updates}
