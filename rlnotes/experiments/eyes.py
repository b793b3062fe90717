"""Chapter "Learning from pixels": an eye that fits. How large the picture is, whether
it shows more than the field, and how large the network is behind it, in the first
third of `pong/ppo`, which has 84 × 84 and the small one.

They are compared at equal steps and at equal minutes of one core, which their records
tell (`steps_per_cpu_second`): so quick ones take more steps, slow ones fewer. What is
annealed depends on the step alone.
"""

from typing import Any

from rlnotes.algos.networks import LOW_EYE, NATURE_EYE
from rlnotes.experiments.base import Experiment, Variant
from rlnotes.experiments.pixels import GameSettings, game_world, start
from rlnotes.experiments.pong import (
    FIRST_THIRD,
    PONG,
    PPO,
    PPO_BUDGETS,
    THIRD,
    field,
)
from rlnotes.experiments.settings import changed

LOW: dict[str, Any] = {"eye": LOW_EYE, "game.screen_size": 42}


def lasting(times: float) -> dict[str, float]:
    return {"length": times * THIRD, "annealing_length": 1 / (times * THIRD)}


EYES = Experiment(
    id="pixels/eyes",
    world=game_world,
    settings=changed(GameSettings(agent=PPO, game=PONG), FIRST_THIRD),
    budgets=PPO_BUDGETS,
    variants={
        "small-64-field": Variant(
            "64 × 64 of the field, small", {**field(64), **lasting(1.6)}
        ),
        "small-84-field": Variant(
            "84 × 84 of the field, small", field(84), planned=True
        ),
        "low-42-field": Variant(
            "42 × 42 of the field, smaller", {**LOW, **field(42), **lasting(2.0)}
        ),
        "nature-84": Variant(
            "84 × 84, Nature's", {"eye": NATURE_EYE, **lasting(0.8)}, planned=True
        ),
    },
    bars=(),
    start=start,
    seeds=1,
    large_policies=True,
)
