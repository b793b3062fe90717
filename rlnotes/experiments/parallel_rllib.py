"""Rows `parallel/rllib-dqn` and `parallel/rllib-runners`: RLlib's DQN, judged by our
evaluation, and our PPO on what RLlib's runners play.

The notes gave RLlib's DQN 25 iterations of 1,000 steps, and looked once, at one episode
of 387. With its runners alone they got nowhere.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from rlnotes import ray_local
from rlnotes.algos import ppo
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
    new_trial,
)
from rlnotes.experiments.experts import CARTPOLE_ENV
from rlnotes.seeding import reset_seeds

CARTPOLE = World(CARTPOLE_ENV)


# --- RLlib's DQN


@dataclass(frozen=True, kw_only=True)
class DqnOptions:
    """Under RLlib's own names; the defaults are those of version 2.60. As many replayed
    transitions belong to one that is played as `training_intensity` says; without it,
    there is an update for each step of all runners."""

    lr: float = 5e-4
    train_batch_size_per_learner: int = 32
    gamma: float = 0.99
    double_q: bool = True
    dueling: bool = True
    target_network_update_freq: int = 500  # steps
    num_steps_sampled_before_learning_starts: int = 1_000
    epsilon: tuple[tuple[int, float], ...] = ((0, 1.0), (10_000, 0.05))
    training_intensity: float | None = None
    td_error_loss_fn: Literal["huber", "mse"] = "huber"


@dataclass(frozen=True, kw_only=True)
class RllibDqnSettings(Settings):
    agent: DqnOptions = field(default_factory=DqnOptions)
    anneal_lr: bool = False  # let the rate fall on a line, to zero at the last step
    hidden: tuple[int, ...] = (256, 256)
    replay_buffer: str = "PrioritizedEpisodeReplayBuffer"
    capacity: int = 50_000  # of the replay
    num_env_runners: int = 0  # Ray actors; none: RLlib plays in this process
    num_envs: int = 1  # of each
    rollout_fragment_length: int = 1  # steps of each that are played at once


def training_options(settings: RllibDqnSettings) -> dict[str, Any]:
    """As RLlib's `training` takes them, which reads a schedule where it is a list."""
    options = vars(settings.agent).copy()
    if settings.anneal_lr:
        options["lr"] = [[0, settings.agent.lr], [settings.steps, 0.0]]
    options["epsilon"] = [list(point) for point in settings.agent.epsilon]
    replay = {"type": settings.replay_buffer, "capacity": settings.capacity}
    return options | {"replay_buffer_config": replay}


def start_dqn(settings: RllibDqnSettings, seed: int) -> Trial:
    ray_local.require()
    from rlnotes.algos import rllib_dqn  # slow to import

    policy = Policy.for_spaces(*CARTPOLE.spaces(), settings.hidden)
    (first,) = reset_seeds("train", seed, 1)
    config = rllib_dqn.config(
        CARTPOLE.env_id,
        settings.hidden,
        first,
        settings.num_env_runners,
        settings.num_envs,
        settings.rollout_fragment_length,
        iteration=settings.steps // settings.budget.evaluations,
        **training_options(settings),
    )

    def stream() -> Iterator[tuple[int, Metrics]]:
        with ray_local.session(max(1, settings.num_env_runners)):
            yield from rllib_dqn.train(config, policy, settings.steps)

    return new_trial(policy, None, stream(), CARTPOLE, settings)


HUBER = {"agent.td_error_loss_fn": "huber"}

# All that is not said here is RLlib's own, but for tanh.
NOTES: dict[str, Any] = {
    "agent": DqnOptions(lr=1e-4),
    "anneal_lr": False,
    "hidden": (256, 256),
    "replay_buffer": "PrioritizedEpisodeReplayBuffer",
    "capacity": 50_000,
    "num_env_runners": 3,
    "num_envs": 1,
    "rollout_fragment_length": 1,
    "length": 25 / 60,  # 25 iterations of 1,000 steps
}

RLLIB_DQN = Experiment(
    id="parallel/rllib-dqn",
    world=lambda settings: CARTPOLE,
    settings=RllibDqnSettings(
        agent=DqnOptions(
            lr=1e-3,
            train_batch_size_per_learner=64,
            dueling=False,
            target_network_update_freq=250,
            training_intensity=32.0,  # an update for two steps
            td_error_loss_fn="mse",
        ),
        anneal_lr=True,
        replay_buffer="EpisodeReplayBuffer",
        capacity=100_000,
        num_envs=8,
        rollout_fragment_length=8,
    ),
    budgets={
        "smoke": Budget(1_200, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(10_000, evaluations=5, curve_episodes=5, final_episodes=20),
        "full": Budget(60_000, evaluations=25, curve_episodes=20, final_episodes=100),
    },
    variants={
        "dqn": Variant("RLlib's DQN"),
        "huber": Variant("the Huber loss", HUBER, seeds=3, planned=True),
        "notes": Variant(
            "as in the notes: 3 runners, learning rate 1e-4", NOTES, planned=True
        ),
    },
    bars=(Bar("RLlib's DQN keeps the pole up", "dqn", "iqm", ">=", 450.0),),
    start=start_dqn,
    seeds=5,
)


# --- RLlib's runners, and nothing else of it


class PlainLoop:
    """The runners' worlds once more, each reset with the seed that its twin was reset
    with, and stepped by hand with the actions that were played there."""

    def __init__(self, make: Callable[[], gym.Env[Any, Any]], seeds: Sequence[int]):
        self._envs = [make() for _ in seeds]
        pairs = zip(self._envs, seeds, strict=True)
        self._obs = [env.reset(seed=seed)[0] for env, seed in pairs]
        self._same = self._compared = 0

    def follow(self, pieces: Sequence[Episode]) -> dict[str, Tensor]:
        """How many transitions there have been so far, how many of them do not happen
        here, and what share does. A piece belongs to the world that stands where it
        begins; all of it is wrong if there is none."""
        begin = {piece.observations[0].tobytes(): piece for piece in pieces}
        for index in range(len(self._envs)):
            while piece := begin.pop(self._obs[index].tobytes(), None):
                self._same += self._replay(index, piece)
        self._compared += sum(len(piece.rewards) for piece in pieces)
        return {
            "compared": torch.tensor(self._compared),
            "mismatches": torch.tensor(self._compared - self._same),
            "verified_percent": torch.tensor(100 * self._same / self._compared),
        }

    def _replay(self, index: int, piece: Episode) -> int:
        """How many of its transitions happen here, too."""
        env, same, ends = self._envs[index], 0, (False, False)
        last = len(piece.actions) - 1
        for time, action in enumerate(piece.actions):
            if any(ends):
                break  # there was nothing left to play
            self._obs[index], reward, *ended, _ = env.step(action)
            ends = (bool(ended[0]), bool(ended[1]))
            said = (piece.terminated, piece.truncated) if time == last else (False,) * 2
            led_there = np.array_equal(self._obs[index], piece.observations[time + 1])
            same += led_there and reward == piece.rewards[time] and ends == said
        if any(ends):
            self._obs[index], _ = env.reset()
        return same


@dataclass(frozen=True, kw_only=True)
class RunnersSettings(Settings):
    agent: ppo.Config
    num_runners: int = 2  # Ray actors; none: one runner in this process
    num_envs: int = 1  # of each


def start_runners(settings: RunnersSettings, seed: int) -> Trial:
    ray_local.require()
    from rlnotes.algos import rllib  # slow to import

    policy = ppo.new_policy(*CARTPOLE.spaces(), settings.agent)
    agent = ppo.Agent(policy, settings.agent)
    (first,) = reset_seeds("train", seed, 1)

    def stream() -> Iterator[tuple[int, ppo.Diagnostics]]:
        actors, copies = settings.num_runners, settings.num_envs
        with ray_local.session(actors) if actors else nullcontext():
            runners = rllib.Runners(CARTPOLE.env_id, policy, actors, copies, first)
            with closing(runners):
                plain = PlainLoop(CARTPOLE.make, runners.env_seeds)
                yield from rllib.train(agent, runners, settings.steps, plain.follow)

    return new_trial(policy, None, stream(), CARTPOLE, settings)


# As many environments, and as many steps between updates.
LOCAL = {"num_runners": 0, "num_envs": 2, "agent.num_steps": 1_024}

RLLIB_RUNNERS = Experiment(
    id="parallel/rllib-runners",
    world=lambda settings: CARTPOLE,
    settings=RunnersSettings(
        agent=ppo.Config(num_steps=512, learning_rate=1e-3, anneal_lr=True)
    ),
    budgets={
        "smoke": Budget(1_200, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(20_000, evaluations=4, curve_episodes=5, final_episodes=20),
        "full": Budget(100_000, evaluations=20, curve_episodes=20, final_episodes=100),
    },
    variants={
        "runners": Variant("2 runners on Ray"),
        "local": Variant("a runner in this process", LOCAL, planned=True),
    },
    bars=(
        Bar(
            "PPO on RLlib's runners keeps the pole up",
            "runners",
            "iqm",
            ">=",
            475.0,
        ),
        Bar(
            "all that the runners bring back happens in a plain loop",
            "runners",
            "worst",
            ">=",
            100.0,
            "verified_percent",
        ),
    ),
    start=start_runners,
    seeds=5,
    cores=2,
)
