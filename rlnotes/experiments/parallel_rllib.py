"""Rows `parallel/rllib-dqn` and `parallel/rllib-runners`: RLlib's DQN, judged by our
evaluation, and our PPO on what RLlib's runners play.

The notes gave RLlib's DQN 25 iterations of 1,000 steps, and looked once, at one episode
of 387. With its runners alone they got nowhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlnotes import ray_local
from rlnotes.algos.policy import Policy
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
    fresh_seeds,
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
            training_intensity=16.0,  # an update for four steps
        ),
        anneal_lr=True,
        hidden=(128, 128),
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
        "notes": Variant("as in the notes: 3 runners, learning rate 1e-4", NOTES),
        **fresh_seeds(5),
    },
    bars=(Bar("RLlib's DQN keeps the pole up", "dqn", "iqm", ">=", 450.0),),
    start=start_dqn,
    seeds=5,
    planned=True,
)
