"""How fast PPO learns to walk: ours on EnvPool against Stable-Baselines3's, and where
our time goes.

All of them have 32 walkers, rollouts of 250 steps, two layers of 128 and five epochs of
batches of 1,000, on one thread of torch. They take turns, and a turn is one rollout and
what is learnt from it. SB3's own vectors are those that take turns in one process and
those in processes of their own; whichever is faster in a turn is what ours is compared
with. On EnvPool, through an adapter of ours, SB3 shows what is left when the world
costs the same.

Ours does somewhat more: it standardises what it sees, softens the falls, and its
deviation depends on the state.

The shares are those of our turn. Collecting and learning are timed apart; within
collecting, EnvPool alone plays the same actions, and the network alone sees the same
observations, once step by step as in play, and once all in one batch, which is what it
would cost without a call for every step. The loop is what is left of collecting:
Python, the reset in the step that ends an episode, and writing it all down.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from rlnotes.algos import ppo, sb3
from rlnotes.envs.vector import make_vec_env
from rlnotes.experiments.backends import Task, envpool
from rlnotes.experiments.base import Bar, Budget, Experiment, Metrics, Trial, Variant
from rlnotes.experiments.bipedal import (
    EASY,
    PPO,
    WalkerSettings,
    new_agent,
    training_envs,
)
from rlnotes.experiments.turns import median_ratio, seconds_per_call

Play = Callable[[], Any]
OURS, SB3_OWN = "ours", ("sb3_dummy", "sb3_subproc")


# --- contestants


@contextmanager
def ours(settings: WalkerSettings, seed: int, num_threads: int) -> Iterator[Play]:
    with closing(training_envs(EASY, settings, num_threads)) as envs:
        stream = ppo.train(new_agent(envs, settings), envs, settings.steps, seed)
        yield partial(next, stream)


@contextmanager
def sb3_ppo(
    settings: WalkerSettings, seed: int, vector: Callable[[int], Any]
) -> Iterator[Play]:
    with closing(vector(settings.num_envs)) as envs:
        options = sb3.ppo_options(settings.agent)
        model = sb3.ppo(envs, seed, settings.steps, **options)
        rollout = settings.num_envs * settings.agent.num_steps
        yield lambda: model.learn(rollout, reset_num_timesteps=False)


def dummy(num_envs: int) -> Any:
    return sb3.vector(EASY.make, num_envs)


def subproc(num_envs: int) -> Any:
    from stable_baselines3.common.vec_env import SubprocVecEnv  # slow to import

    return SubprocVecEnv([EASY.make] * num_envs, start_method="fork")


def sb3_envpool(num_envs: int) -> Any:
    from rlnotes.envs.sb3_vector import Sb3Vector  # slow to import

    return Sb3Vector(make_vec_env(EASY.env_id, num_envs, "envpool"))


@dataclass(frozen=True)
class Contestant:
    label: str
    enter: Callable[[WalkerSettings, int], AbstractContextManager[Play]]


# Those that fork come before those that have threads.
CONTESTANTS = {
    "sb3_subproc": Contestant("SB3, SubprocVecEnv", partial(sb3_ppo, vector=subproc)),
    "sb3_dummy": Contestant("SB3, DummyVecEnv", partial(sb3_ppo, vector=dummy)),
    "sb3_envpool": Contestant(
        "SB3, EnvPool by an adapter of ours", partial(sb3_ppo, vector=sb3_envpool)
    ),
    OURS: Contestant("ours, EnvPool", partial(ours, num_threads=1)),
    "ours_2_threads": Contestant(
        "ours, EnvPool with 2 threads", partial(ours, num_threads=2)
    ),
}


# --- where our time goes


class Parts:
    """Of our turn, each alone, on the rollout that was collected last."""

    def __init__(self, settings: WalkerSettings, seed: int) -> None:
        self.envs = training_envs(EASY, settings)
        self.agent = new_agent(self.envs, settings)
        self.collector = ppo.Collector(self.agent.policy, self.envs, seed)
        self.collect()
        policy, drawn = self.agent.policy, self.rollout.action
        actions = policy.decode_action(torch.tanh(drawn)).numpy()
        self.pool = envpool(Task(EASY.env_id, settings.num_envs, seed, actions), 1)

    def collect(self) -> None:
        self.rollout = self.collector.rollout(self.agent.config.num_steps)

    def learn(self) -> None:
        ppo.update(self.agent, self.rollout)

    @torch.no_grad()
    def draw(self, obs: torch.Tensor) -> None:
        policy = self.agent.policy
        ppo.draw(policy, policy.net(policy.encode_obs(obs)))

    def draw_each(self) -> None:
        for obs in self.rollout.obs:
            self.draw(obs)

    def plays(self) -> dict[str, Play]:
        return {
            "collecting": self.collect,
            "envpool": self.pool.play,
            "network": self.draw_each,
            "network_in_one_batch": lambda: self.draw(self.rollout.obs),
            "learning": self.learn,
        }

    def close(self) -> None:
        self.envs.close()
        self.pool.close()


# --- the race


def start(settings: WalkerSettings, seed: int) -> Trial:
    return Trial(None, settings.steps, measure(settings, seed))


def measure(settings: WalkerSettings, seed: int) -> Iterator[tuple[int, Metrics]]:
    torch.set_num_threads(1)
    rollout = settings.num_envs * settings.agent.num_steps
    load = {"load_average": os.getloadavg()[0]}
    with ExitStack() as stack:
        plays = {
            name: stack.enter_context(one.enter(settings, seed))
            for name, one in CONTESTANTS.items()
        }
        parts = stack.enter_context(closing(Parts(settings, seed)))
        turns = settings.steps // rollout - 1  # the first rollout warms up
        seconds = seconds_per_call(plays | parts.plays(), turns)
    speeds = {name: rollout / seconds[name] for name in CONTESTANTS}
    yield settings.steps, load | compared(speeds) | shares(seconds)


def compared(speeds: dict[str, np.ndarray]) -> Metrics:
    best = np.max([speeds[name] for name in SB3_OWN], axis=0)
    found: Metrics = {}
    for name, speed in speeds.items():
        found[f"{name}_steps_per_second"] = float(np.median(speed))
        found[f"{name}_times_sb3"] = median_ratio(speed, best)
    return found


def shares(seconds: dict[str, np.ndarray]) -> Metrics:
    whole = seconds[OURS]
    parts = {name: x for name, x in seconds.items() if name not in CONTESTANTS}
    parts["loop"] = parts["collecting"] - parts["envpool"] - parts["network"]
    return {f"{name}_share": median_ratio(x, whole) for name, x in parts.items()}


def rollouts(count: int) -> Budget:
    """Of each contestant, on the way to which nothing is evaluated."""
    steps = 32 * PPO.num_steps * count
    return Budget(steps, evaluations=1, curve_episodes=0, final_episodes=0)


PPO_SPEED = Experiment(
    id="parallel/ppo-speed",
    world=lambda settings: EASY,
    settings=WalkerSettings(agent=PPO, num_envs=32),
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
    start=start,
    seeds=3,
    cores=2,
)
