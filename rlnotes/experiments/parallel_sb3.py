"""Row `parallel/sb3-dqn`: Stable-Baselines3's DQN on four CartPoles, as the notes ran
it, judged both at its best and at the end.

The notes gave it 5M steps and looked 25 times, with five episodes each; their four
worlds ran in processes of their own, ours take turns in one, which is faster and plays
the same. Actions are the greedy ones.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import TransformReward

from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Settings,
    Trial,
    Variant,
    World,
    new_trial,
)
from rlnotes.experiments.experts import CARTPOLE_ENV

CARTPOLE = World(CARTPOLE_ENV)


@dataclass(frozen=True, kw_only=True)
class DqnOptions:
    """Under Stable-Baselines3's own names; the defaults are those of version 2.9.2."""

    learning_rate: float = 1e-4
    buffer_size: int = 1_000_000
    learning_starts: int = 100
    batch_size: int = 32
    gamma: float = 0.99
    train_freq: int = 4
    gradient_steps: int = 1
    target_update_interval: int = 10_000
    exploration_fraction: float = 0.1
    exploration_final_eps: float = 0.05
    net_arch: tuple[int, ...] = (64, 64)


@dataclass(frozen=True, kw_only=True)
class Sb3DqnSettings(Settings):
    num_envs: int = 4
    # SB3's loss is Huber's, whatever one wants. Of errors below 1 that is half the
    # squared one, and with small rewards all errors are. (No clean test of the loss:
    # Adam's steps stay what they were, and are larger beside smaller values.)
    reward_scale: float = 1.0
    agent: DqnOptions = field(default_factory=DqnOptions)


def training_env(settings: Sb3DqnSettings) -> gym.Env[Any, Any]:
    env = CARTPOLE.make()
    if settings.reward_scale != 1:
        env = TransformReward(env, lambda reward: settings.reward_scale * float(reward))
    return env


def start(settings: Sb3DqnSettings, seed: int) -> Trial:
    from rlnotes.algos import sb3  # nobody else here needs the library

    options = vars(settings.agent).copy()
    net_arch = list(options.pop("net_arch"))
    model = sb3.dqn(
        sb3.vector(partial(training_env, settings), settings.num_envs),
        seed,
        policy_kwargs={"net_arch": net_arch},
        **options,
    )
    policy = sb3.new_policy(model)
    chunk = settings.steps // settings.budget.evaluations
    stream = sb3.train(model, policy, settings.steps, chunk)
    return new_trial(policy, None, stream, CARTPOLE, settings)


# The RL Zoo's settings for this world, which stop after 50,000 steps.
ZOO = {
    "length": 0.01,
    "num_envs": 1,
    "agent.learning_rate": 2.3e-3,
    "agent.buffer_size": 100_000,
    "agent.learning_starts": 1_000,
    "agent.batch_size": 64,
    "agent.train_freq": 256,
    "agent.gradient_steps": 128,
    "agent.target_update_interval": 10,
    "agent.exploration_fraction": 0.16,
    "agent.exploration_final_eps": 0.04,
    "agent.net_arch": (256, 256),
}

SB3_DQN = Experiment(
    id="parallel/sb3-dqn",
    world=lambda settings: CARTPOLE,
    settings=Sb3DqnSettings(),
    budgets={
        "smoke": Budget(640, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(100_000, evaluations=5, curve_episodes=5, final_episodes=20),
        "full": Budget(5_000_000, evaluations=25, curve_episodes=5, final_episodes=100),
    },
    variants={
        "defaults": Variant("SB3's defaults, 4 environments"),
        "zoo": Variant("the RL Zoo's settings, 1 environment", ZOO, seeds=10),
        "zoo-small-rewards": Variant(
            "the RL Zoo's, rewards × 0.01", {**ZOO, "reward_scale": 0.01}, seeds=10
        ),
    },
    bars=(
        Bar(
            "the best of 25 evaluations keeps the pole up",
            "defaults",
            "iqm",
            ">=",
            475.0,
            "final_best_return",
        ),
    ),
    start=start,
    seeds=3,
)
