"""Speeds as ratios measured in one run, because machines differ and are shared.

A step of the race car is compared with bare `stepSimulation` calls in the same world, a
reset with building the world anew. All else is an experiment: what an update costs
(`parallel/update-speed`), how fast many worlds are stepped (`parallel/throughput`), how
fast PPO learns from them (`parallel/ppo-speed`), from pictures, too
(`pixels/ppo-speed`), and what the doctor's callback costs (`doctor/cost`). Here one
round of it is measured and kept nowhere.
"""

from typing import Any

import gymnasium as gym
import numpy as np

from rlnotes.experiments.base import Experiment
from rlnotes.experiments.doctor_cost import DOCTOR_COST
from rlnotes.experiments.pixels_speed import PIXELS_SPEED
from rlnotes.experiments.ppo_speed import PPO_SPEED
from rlnotes.experiments.throughput import THROUGHPUT
from rlnotes.experiments.turns import median_ratio, seconds_per_call
from rlnotes.experiments.update_speed import UPDATE_SPEED
from rlnotes.paths import Run
from rlnotes.runs.run import run_live
from rlnotes.runs.store import Record

ROUNDS = 7


def measure(budget: str) -> dict[str, float]:
    (updates,) = a_round_of(UPDATE_SPEED, budget).values()
    return race_car() | {metric: value for _, metric, value in updates.rows}


def race_car() -> dict[str, float]:
    """The parked car: its wheels and steering are driven, and it stays where it is for
    as long as we measure."""
    env: Any = gym.make("rlnotes/RaceCar-v0").unwrapped
    env.reset(seed=0)
    parked = np.zeros(2, np.float32)
    seconds = seconds_per_call(
        {
            "bare": env.physics.stepSimulation,
            "step": lambda: env.step(parked),
            "reset": lambda: env.reset(seed=0),
        },
        ROUNDS,
        calls=300,
    )
    seconds |= seconds_per_call(
        {"build": lambda: gym.make("rlnotes/RaceCar-v0").close()}, ROUNDS
    )
    env.close()
    return {
        "racecar_steps_per_second": 1 / np.median(seconds["step"]),
        "racecar_share_of_bare_physics": median_ratio(seconds["bare"], seconds["step"]),
        "racecar_reset_milliseconds": 1_000 * np.median(seconds["reset"]),
        "racecar_times_building_anew": median_ratio(seconds["build"], seconds["reset"]),
    }


def parallel(budget: str) -> dict[str, Record]:
    """What a round measures in each world."""
    return a_round_of(THROUGHPUT, budget)


def ppo(budget: str) -> Record:
    (record,) = a_round_of(PPO_SPEED, budget).values()
    return record


def pixels(budget: str) -> Record:
    (record,) = a_round_of(PIXELS_SPEED, budget).values()
    return record


def doctor(budget: str) -> dict[str, float]:
    """What the doctor's callback adds to a training, in per cent of its time."""
    rounds = a_round_of(DOCTOR_COST, budget)
    return {f"doctor_{name}_percent": one.rows[0][2] for name, one in rounds.items()}


def a_round_of(experiment: Experiment[Any], budget: str) -> dict[str, Record]:
    """Of each variant."""
    return {
        name: run_live(
            Run(experiment.id, name, 0, budget), experiment.settings_for(name, budget)
        )[0]
        for name in experiment.variants
    }


def table(report: dict[str, float]) -> str:
    return "\n".join(
        f"{name.replace('_', ' '):30}{value:10.2f}" for name, value in report.items()
    )
