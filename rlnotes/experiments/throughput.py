"""Row `parallel/throughput`: how fast each way to step many worlds is, and how far from
the simulator behind them.

A run is one complete round for one world, and its steps are numbers of environments.
For each number all players are made, play the same task in turn, several times, and
are closed. What is recorded are medians: of the steps per second, and of the ratio to
the plain loop of the same turn. Machines differ and are shared, so only the ratio
means anything elsewhere; how busy this one was is recorded, too.

RLlib takes seconds to start and is measured afterwards, with fewer steps and a plain
loop of its own.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

import numpy as np

from rlnotes import ray_local
from rlnotes.experiments import backends
from rlnotes.experiments.backends import BACKENDS, PLAIN, PONG, Task, new_task
from rlnotes.experiments.base import (
    Bar,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
)
from rlnotes.experiments.turns import Turns, median_ratio, take_turns
from rlnotes.seeding import reset_seeds

ON_RAY = {"rllib": 1, "rllib_2_runners": 2}  # how many runners share the environments
NATIVE = ("native", "native_same_step")
ENVPOOL = ("envpool", "envpool_2_threads", "envpool_same_step")


@dataclass(frozen=True, kw_only=True)
class Sizes(Turns):
    """`steps` are those of all environments together."""

    num_envs: tuple[int, ...] = (1, 4, 16, 64)
    ray_steps: int = 0  # none: Ray is left out


@dataclass(frozen=True, kw_only=True)
class ThroughputSettings(Settings):
    budget: Sizes = Sizes(steps=1, evaluations=1)
    env_id: str = "BipedalWalker-v3"
    backends: tuple[str, ...] = tuple(BACKENDS)
    most_envs: int = 64


def start(settings: ThroughputSettings, seed: int) -> Trial:
    for name in settings.backends:
        backends.find(name)  # before anything is measured
    return Trial(None, settings.most_envs, measure(settings, seed))


def measure(settings: ThroughputSettings, seed: int) -> Iterator[tuple[int, Metrics]]:
    """Numbers of environments, and what was measured with each."""
    budget = settings.budget
    numbers = [one for one in budget.num_envs if one <= settings.most_envs]
    (first,) = reset_seeds("train", seed, 1)
    here = [name for name in settings.backends if name not in ON_RAY]
    for num_envs in numbers:
        task = new_task(settings.env_id, num_envs, settings.steps, first)
        load = {"load_average": os.getloadavg()[0]}
        yield num_envs, load | compared(task, here, budget.evaluations)
    there = [name for name in settings.backends if name in ON_RAY]
    if not (there and budget.ray_steps):
        return
    with ray_local.session():
        for num_envs in numbers:
            task = new_task(settings.env_id, num_envs, budget.ray_steps, first)
            fit = [name for name in there if ON_RAY[name] <= num_envs]
            found = compared(task, [PLAIN, *fit], budget.evaluations)
            yield num_envs, {k: x for k, x in found.items() if not k.startswith(PLAIN)}


def compared(task: Task, names: Sequence[str], turns: int) -> Metrics:
    with ExitStack() as stack:
        players = {
            name: stack.enter_context(closing(backends.find(name).make(task))).play
            for name in names
        }
        works = take_turns(players, turns)
    speeds = {
        name: np.array([work.steps / work.seconds for work in done])
        for name, done in works.items()
    }
    found: Metrics = {}
    for name, speed in speeds.items():
        found[f"{name}_steps_per_second"] = float(np.median(speed))
        found[f"{name}_times_plain"] = median_ratio(speed, speeds[PLAIN])
    return found


def without(*names: str) -> tuple[str, ...]:
    return tuple(name for name in BACKENDS if name not in names)


THROUGHPUT = Experiment(
    id="parallel/throughput",
    world=lambda settings: World(settings.env_id),
    settings=ThroughputSettings(),
    budgets={
        "smoke": Sizes(steps=64, evaluations=1, num_envs=(1, 4)),
        "ci": Sizes(steps=1_024, evaluations=3, num_envs=(1, 4, 16)),
        "full": Sizes(steps=4_096, evaluations=5, ray_steps=2_048),
    },
    # The quicker a world, the more steps. A race car takes 38 MB, in each backend.
    variants={
        "bipedal-walker": Variant("BipedalWalker", {"backends": without(*NATIVE)}),
        "cartpole": Variant("CartPole", {"env_id": "CartPole-v1", "length": 4.0}),
        "racecar": Variant(
            "RaceCar",
            {
                "env_id": "rlnotes/RaceCar-v0",
                "backends": without(*NATIVE, *ENVPOOL),
                "length": 0.5,
                "most_envs": 16,
            },
        ),
        # Native is the Arcade Learning Environment's own vector.
        "pong": Variant(
            "Pong",
            {
                "env_id": PONG,
                "backends": without("native_same_step", "envpool_same_step", *ON_RAY),
                "length": 0.5,
            },
            planned=True,
        ),
    },
    bars=(
        Bar(
            "64 walkers in EnvPool are twice as fast as a plain loop, on one thread",
            "bipedal-walker",
            "worst",
            ">=",
            2.0,
            "envpool_times_plain",
        ),
        Bar(
            "64 carts in one array are five times as fast",
            "cartpole",
            "worst",
            ">=",
            5.0,
            "native_times_plain",
        ),
        Bar(
            "64 carts in processes of their own are slower than a plain loop",
            "cartpole",
            "best",
            "<=",
            1.0,
            "async_times_plain",
        ),
    ),
    start=start,
    seeds=2,  # both cores for minutes each, and five turns within
    cores=2,
)
