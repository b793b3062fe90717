"""What the doctor costs: Stable-Baselines3's algorithms with and without the callback,
in turns. A turn is a training of `steps` from the beginning, on one thread, and its
time that of the processor. There are as many looks in a short training as in a long
one, so that in most trainings the share is smaller than here."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from rlnotes.experiments.base import (
    Bar,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
)
from rlnotes.experiments.turns import Turns, median_ratio, seconds_per_call

WORLDS = {
    "ppo": "CartPole-v1",
    "a2c": "CartPole-v1",
    "dqn": "CartPole-v1",
    "sac": "Pendulum-v1",
    "td3": "Pendulum-v1",
}


@dataclass(frozen=True, kw_only=True)
class CostSettings(Settings):
    algorithm: str = "dqn"


def training(settings: CostSettings, seed: int, watched: bool) -> Callable[[], Any]:
    import stable_baselines3  # slow to import

    from rlnotes.doctor.sb3 import Doctor

    algorithm = getattr(stable_baselines3, settings.algorithm.upper())

    def train() -> Any:
        world = WORLDS[settings.algorithm]
        model = algorithm("MlpPolicy", world, seed=seed, device="cpu")
        return model.learn(settings.steps, callback=Doctor() if watched else None)

    return train


def start(settings: CostSettings, seed: int) -> Trial:
    def stream() -> Iterator[tuple[int, Metrics]]:
        torch.set_num_threads(1)
        seconds = seconds_per_call(
            {
                "alone": training(settings, seed, watched=False),
                "watched": training(settings, seed, watched=True),
            },
            settings.budget.evaluations,
            clock=time.process_time,
        )
        cost = median_ratio(seconds["watched"], seconds["alone"]) - 1
        yield settings.steps, {"doctor_cost_percent": 100 * cost}

    return Trial(None, settings.steps, stream())


DOCTOR_COST = Experiment(
    id="doctor/cost",
    world=lambda settings: World(WORLDS[settings.algorithm]),
    settings=CostSettings(),
    budgets={
        "smoke": Turns(steps=300, evaluations=1),
        "ci": Turns(steps=4_000, evaluations=5),
        "full": Turns(steps=5_000, evaluations=7),
    },
    variants={
        "dqn": Variant("DQN, CartPole"),
        "ppo": Variant("PPO, CartPole", {"algorithm": "ppo"}),
        "a2c": Variant("A2C, CartPole", {"algorithm": "a2c"}),
        "sac": Variant("SAC, Pendulum", {"algorithm": "sac", "length": 0.2}),
        "td3": Variant("TD3, Pendulum", {"algorithm": "td3", "length": 0.2}),
    },
    bars=tuple(
        Bar(
            f"what the doctor adds to {algorithm.upper()}'s time, per cent",
            algorithm,
            "iqm",
            "<=",
            5.0,
            "doctor_cost_percent",
        )
        for algorithm in WORLDS
    ),
    start=start,
    seeds=1,
)
