"""Chapter "AggreVaTeD": PPO walks, on even ground and on the hardcore course.

The notes' PPO walked slowly and never arrived, and on the hardcore course it stood
still. Ours comes first; then the notes' program, and each of its faults put back alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.vector import TransformReward

from rlnotes.algos import ppo
from rlnotes.autopsies import hand_scaling
from rlnotes.autopsies.common_reset import CommonReset
from rlnotes.autopsies.time_limits import TruncationTerminates
from rlnotes.data.rollouts import Episode
from rlnotes.envs.vector import make_vec_env
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
from rlnotes.experiments.settings import Override
from rlnotes.experiments.trials import ObsScale, beginning, raw

FALL = -100.0  # in the place of that step's reward, which is never near it otherwise
SOFT_FALL = -10.0  # what training makes of it
UNBOUNDED = 1e9  # JSON has no infinity


def fell(episode: Episode) -> bool:
    """On its hull, or backwards over the edge of the world."""
    return episode.terminated and episode.rewards[-1] == FALL


def finished(episode: Episode) -> bool:
    """The task ends in two ways only, a fall and the end of the course. (What is
    observed does not tell: the walker does not know where it is.)"""
    return episode.terminated and not fell(episode)


@dataclass(frozen=True)
class Course(World):
    success: Callable[[Episode], bool] | None = finished
    anew: bool = True

    def scores(self, episodes: Sequence[Episode]) -> Metrics:
        falls = np.mean([fell(episode) for episode in episodes])
        timeouts = np.mean([not episode.terminated for episode in episodes])
        return super().scores(episodes) | {
            "falls_percent": 100 * float(falls),
            "timeouts_percent": 100 * float(timeouts),
            "episode_length": float(
                np.mean([len(episode.rewards) for episode in episodes])
            ),
        }


EASY, HARD = Course("BipedalWalker-v3"), Course("BipedalWalkerHardcore-v3")


@dataclass(frozen=True, kw_only=True)
class WalkerSettings(Settings):
    """PPO, and what training does to the world. It is judged in the world as it is."""

    agent: ppo.Config
    num_envs: int
    fall_penalty: float = SOFT_FALL  # where the world says `FALL`
    max_episode_steps: int | None = None  # None: the world's own
    annealing_length: float = 1.0  # times all steps, until the rate is 0
    obs_scale: ObsScale = raw  # where the learner has no `norm_obs`
    truncation_terminates: bool = False
    reset_every_rollout: bool = False


def walkers(
    world: World, num_envs: int, fall_penalty: float, **options: Any
) -> VectorEnv:
    envs: VectorEnv = make_vec_env(world.env_id, num_envs, "envpool", **options)
    if fall_penalty != FALL:
        envs = TransformReward(envs, partial(soften, penalty=fall_penalty))
    return envs


def training_envs(
    world: World, settings: WalkerSettings, num_threads: int = 1
) -> VectorEnv:
    envs = walkers(
        world,
        settings.num_envs,
        settings.fall_penalty,
        num_threads=num_threads,
        max_episode_steps=settings.max_episode_steps,
    )
    if settings.truncation_terminates:
        envs = TruncationTerminates(envs)
    if settings.reset_every_rollout:
        envs = CommonReset(envs, settings.agent.num_steps)
    return envs


def soften(reward: np.ndarray, penalty: float) -> np.ndarray:
    """Who loses 100 by a fall learns first not to fall, and that is to stand still."""
    return np.where(reward == FALL, penalty, reward)


def new_agent(envs: VectorEnv, settings: WalkerSettings) -> ppo.Agent:
    seen, actions = envs.single_observation_space, envs.single_action_space
    assert seen.shape is not None
    scale = settings.obs_scale(np.empty((0, *seen.shape)))
    policy = ppo.new_policy(seen, actions, settings.agent, *scale)
    return ppo.Agent(policy, settings.agent)


def start(world: World, settings: WalkerSettings, seed: int) -> Trial:
    envs = training_envs(world, settings)
    agent = new_agent(envs, settings)
    annealed = round(settings.annealing_length * settings.steps)
    stream = ppo.train(agent, envs, annealed, seed)
    return new_trial(agent.policy, agent, stream, world, settings)


# 8,000 and 16,000 steps to a rollout, so that 2 and 30 million are whole rollouts.
# Rewards times 0.1: a walk of 300 is worth tens, not hundreds, to a value function.
PPO = ppo.Config(
    num_steps=250,
    update_epochs=5,
    batch_size=1_000,
    learning_rate=4e-4,
    anneal_lr=True,
    ent_coef=0.004,
    entropy=ppo.played_entropy,
    reward_scale=0.1,
    norm_obs=True,
    hidden=(128, 128),
)
HARDCORE = replace(PPO, gamma=0.995)

# --- the notes, one thing at a time

HARD_FALLS: Override = {"fall_penalty": FALL}
TIME_LIMIT_ENDS: Override = {"truncation_terminates": True}
RESET: Override = {"reset_every_rollout": True}
RAW_ADVANTAGES: Override = {"agent.norm_adv": False}
DRAWN_ENTROPY: Override = {"agent.entropy": ppo.drawn_entropy}
NOTES_STD = (-10.0, 2.0)  # the bounds of log σ; ours are −4 and 1


# Their learner, as far as it can be told with ours. (What is left: their last layers
# begin like any other, ours a hundredth as large; they pass over a rollout ten times
# with the critic and then with the actor, we with both at once; and in one environment
# they play whole episodes until there are 3,000 steps, where we stop in the middle of
# one and go on there.)
NOTES_PPO = ppo.Config(
    num_steps=3_000,
    batch_size=128,
    ent_coef=0.001,
    max_grad_norm=UNBOUNDED,
    log_std_bounds=NOTES_STD,
    hidden=(128, 128),
)
NOTES_PPO_16 = replace(
    NOTES_PPO,
    num_steps=2_048,
    learning_rate=2.5e-4,
    anneal_lr=True,
    hidden=(256, 256),
)
NOTES_WORLD: Override = {**HARD_FALLS, "obs_scale": hand_scaling.walker_by_bounds}
NOTES: Override = {
    "agent": NOTES_PPO,
    "num_envs": 1,
    **NOTES_WORLD,
    **TIME_LIMIT_ENDS,
}
NOTES_VECTOR: Override = {
    "agent": replace(NOTES_PPO_16, norm_adv=False),
    **NOTES_WORLD,
    **RESET,
}

# --- even ground

EASY_BUDGETS = {
    "smoke": Budget(16_000, evaluations=1, curve_episodes=1, final_episodes=2),
    "ci": Budget(400_000, evaluations=4, curve_episodes=5, final_episodes=20),
    "full": Budget(2_000_000, evaluations=20, curve_episodes=10, final_episodes=100),
}


def walks(variant: str) -> tuple[Bar, ...]:
    return (
        Bar("PPO walks, after 2 million steps", variant, "iqm", ">=", 290.0),
        Bar(
            "and it arrives", variant, "iqm", ">=", 95.0, metric="final_success_percent"
        ),
    )


BIPEDAL_PPO = Experiment(
    id="bipedal/ppo",
    world=lambda settings: EASY,
    settings=WalkerSettings(agent=PPO, num_envs=32),
    budgets=EASY_BUDGETS,
    variants={
        "ppo": Variant("PPO", seeds=5),
        "notes": Variant(
            "as in the notes, one environment", NOTES, seeds=1, planned=True
        ),
        "truncation-terminates": Variant(
            "time limit treated as an end", TIME_LIMIT_ENDS, seeds=2, planned=True
        ),
        "fall-penalty-100": Variant(
            "a fall costs 100", HARD_FALLS, seeds=2, planned=True
        ),
        "drawn-entropy": Variant("entropy before the tanh", DRAWN_ENTROPY),
        # Five times the steps of `bipedal/aggrevated-reinforce`.
        "five-lessons": Variant("PPO, half a million steps", {"length": 0.25}, 5),
    },
    bars=walks("ppo"),
    start=partial(start, EASY),
    seeds=3,
)

BIPEDAL_PPO_VECTOR = Experiment(
    id="bipedal/ppo-vector",
    world=lambda settings: EASY,
    settings=WalkerSettings(agent=replace(PPO, num_steps=500), num_envs=16),
    budgets=EASY_BUDGETS,
    variants={
        "vector": Variant("PPO, 16 environments", seeds=5),
        "notes": Variant("as in the notes, 16 environments", NOTES_VECTOR),
        "reset-every-rollout": Variant("all reset every 500 steps", RESET),
        "raw-advantages": Variant("advantages as they are", RAW_ADVANTAGES),
    },
    bars=walks("vector"),
    start=partial(start, EASY),
    seeds=3,
)

# --- stumps, pits and stairs

HARD_BUDGETS = {
    "smoke": Budget(32_000, evaluations=1, curve_episodes=1, final_episodes=2),
    "ci": Budget(400_000, evaluations=2, curve_episodes=5, final_episodes=20),
    "full": Budget(30_000_000, evaluations=30, curve_episodes=20, final_episodes=100),
}


def crosses(variant: str) -> tuple[Bar, ...]:
    sentence = "PPO crosses the hardcore course, after 30 million steps"
    return (Bar(sentence, variant, "iqm", ">=", 200.0),)


HARDCORE_PPO = Experiment(
    id="hardcore/ppo",
    world=lambda settings: HARD,
    settings=WalkerSettings(agent=HARDCORE, num_envs=64),
    budgets=HARD_BUDGETS,
    variants={"ppo": Variant("PPO, 64 environments")},
    bars=crosses("ppo"),
    start=partial(start, HARD),
    seeds=1,
)

NO_BONUS: Override = {"agent.ent_coef": 0.0}
NEAR_SIGHTED: Override = {"agent.gamma": 0.99}


# After a third of the steps some courses are crossed already.
THIRD = 1 / 3

HARDCORE_PPO_VECTOR = Experiment(
    id="hardcore/ppo-vector",
    world=lambda settings: HARD,
    settings=WalkerSettings(agent=replace(HARDCORE, num_steps=1_000), num_envs=16),
    budgets=HARD_BUDGETS,
    variants={
        "vector": Variant("PPO, 16 environments", seeds=3),
        "fall-penalty-100": Variant(
            "a fall costs 100", {**beginning(THIRD), **HARD_FALLS}, seeds=2
        ),
        "near-sighted": Variant("γ = .99", {**beginning(THIRD), **NEAR_SIGHTED}),
        "no-bonus": Variant("no entropy bonus", {**beginning(THIRD), **NO_BONUS}),
        # As many steps as `hardcore/sb3-ppo`.
        "notes": Variant(
            "as in the notes, 3 million steps",
            {**beginning(0.1), **NOTES_VECTOR},
        ),
    },
    bars=(
        *crosses("vector"),
        Bar(
            "where a fall costs 100, most of it lasts until the time is over",
            "fall-penalty-100",
            "worst",
            ">=",
            50.0,
            metric="final_timeouts_percent",
        ),
    ),
    start=partial(start, HARD),
    seeds=1,
)
