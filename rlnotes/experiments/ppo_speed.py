"""How fast PPO learns to walk: ours on EnvPool against Stable-Baselines3's, and where
our time goes (`ppo_race`).

All of them have 32 walkers, rollouts of 250 steps, two layers of 128 and five epochs of
batches of 1,000, on one thread of torch. SB3's own vectors are those that take turns in
one process and those in processes of their own. On EnvPool, through an adapter of ours,
SB3 shows what is left when the world costs the same.

Ours does somewhat more: it standardises what it sees, softens the falls, and its
deviation depends on the state.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from rlnotes.algos import ppo, sb3
from rlnotes.envs.vector import make_vec_env
from rlnotes.experiments.base import Bar, Budget, Experiment, Variant
from rlnotes.experiments.bipedal import (
    EASY,
    PPO,
    WalkerSettings,
    new_agent,
    training_envs,
)
from rlnotes.experiments.ppo_race import (
    OURS,
    Contestant,
    Parts,
    Play,
    Race,
    our_turns,
    sb3_turns,
)


def ours(
    settings: WalkerSettings, seed: int, num_threads: int
) -> AbstractContextManager[Play]:
    envs = training_envs(EASY, settings, num_threads)
    return our_turns(new_agent(envs, settings), envs, settings.steps, seed)


def sb3_ppo(
    settings: WalkerSettings, seed: int, vector: Callable[[int], Any]
) -> AbstractContextManager[Play]:
    envs = vector(settings.num_envs)
    return sb3_turns(settings.agent, envs, settings.steps, seed)


def dummy(num_envs: int) -> Any:
    return sb3.vector(EASY.make, num_envs)


def subproc(num_envs: int) -> Any:
    return sb3.processes(EASY.make, num_envs)


def sb3_envpool(num_envs: int) -> Any:
    from rlnotes.envs.sb3_vector import Sb3Vector  # slow to import

    return Sb3Vector(make_vec_env(EASY.env_id, num_envs, "envpool"))


def parts(settings: WalkerSettings, seed: int) -> Parts:
    envs = training_envs(EASY, settings)
    return Parts(new_agent(envs, settings), envs, seed, EASY.env_id)


# Those that fork come before those that have threads.
WALKERS = Race(
    {
        "sb3_subproc": Contestant(
            "SB3, SubprocVecEnv", partial(sb3_ppo, vector=subproc)
        ),
        "sb3_dummy": Contestant("SB3, DummyVecEnv", partial(sb3_ppo, vector=dummy)),
        "sb3_envpool": Contestant(
            "SB3, EnvPool by an adapter of ours", partial(sb3_ppo, vector=sb3_envpool)
        ),
        OURS: Contestant("ours, EnvPool", partial(ours, num_threads=1)),
        "ours_2_threads": Contestant(
            "ours, EnvPool with 2 threads", partial(ours, num_threads=2)
        ),
    },
    parts,
)


def rollouts(count: int) -> Budget:
    """Of each contestant, on the way to which nothing is evaluated."""
    steps = 32 * PPO.num_steps * count
    return Budget(steps, evaluations=1, curve_episodes=0, final_episodes=0)


# What is on record; SB3 has no bonus for the entropy of what is played.
AS_SB3 = replace(PPO, gamma=0.995, entropy=ppo.drawn_entropy)

PPO_SPEED = Experiment(
    id="parallel/ppo-speed",
    world=lambda settings: EASY,
    settings=WalkerSettings(agent=AS_SB3, num_envs=32),
    budgets={"smoke": rollouts(2), "ci": rollouts(4), "full": rollouts(10)},
    variants={"bipedal-walker": Variant("BipedalWalker")},
    bars=(
        Bar(
            "PPO on EnvPool learns from twice as many steps per second as SB3's",
            "bipedal-walker",
            "worst",
            ">=",
            2.0,
            "ours_times_sb3",
        ),
    ),
    start=WALKERS.start,
    seeds=3,
    cores=2,
)
