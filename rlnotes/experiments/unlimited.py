"""Row `parallel/unlimited`: how long a pole stays up without the limit of 500 steps,
and why `max_episode_steps=None` leaves the limit where it is.

`gym.make` reads `None` as "the registered limit"; −1 is what removes it, or to take the
world out of its wrappers. Then an episode need not end at all, so the budget's steps
are where we stop watching.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import TimeLimit

from rlnotes.data.rollouts import BatchPolicy, Episode, rollout
from rlnotes.envs.vector import NO_LIMIT
from rlnotes.experiments import experts, recipes
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
)
from rlnotes.seeding import reset_seeds

LONG = 10_000  # steps of an episode in the notes
CARTPOLE = World(experts.CARTPOLE_ENV, {"max_episode_steps": NO_LIMIT})


# --- who makes the world, and who plays


def with_minus_one() -> gym.Env[Any, Any]:
    return gym.make(CARTPOLE.env_id, max_episode_steps=NO_LIMIT)


def with_none() -> gym.Env[Any, Any]:
    """As in the notes, which found that it changes nothing."""
    return gym.make(CARTPOLE.env_id, max_episode_steps=None)


def unwrapped() -> gym.Env[Any, Any]:
    return gym.make(CARTPOLE.env_id).unwrapped


def dqn() -> BatchPolicy:
    """The recorded expert, which has never seen a step after the 500th."""
    return recipes.recorded(experts.CARTPOLE_EXPERT).act


def lean_and_place() -> BatchPolicy:
    """Push to the side that a weighted sum of lean, place and their velocities says."""
    weights = np.array([0.1, 0.3, 1.0, 0.3])
    return lambda obs: (obs @ weights > 0).astype(np.int64)


def lean_alone() -> BatchPolicy:
    """The same, blind to where the cart is."""
    weights = np.array([0.0, 0.0, 1.0, 0.2])
    return lambda obs: (obs @ weights > 0).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class UnlimitedSettings(Settings):
    make: Callable[[], gym.Env[Any, Any]] = with_minus_one
    player: Callable[[], BatchPolicy] = dqn


def play(settings: UnlimitedSettings, starts: Sequence[int]) -> list[Episode]:
    return rollout(
        lambda: TimeLimit(settings.make(), settings.steps), settings.player(), starts
    )


def start(settings: UnlimitedSettings, seed: int) -> Trial:
    def stream() -> Iterator[tuple[int, Metrics]]:
        starts = reset_seeds("evaluate", seed, settings.budget.final_episodes)
        lengths = [len(episode.rewards) for episode in play(settings, starts)]
        yield (
            max(lengths),
            {
                "final_longest": float(max(lengths)),
                "final_shortest": float(min(lengths)),
                "final_long_percent": 100 * float(np.mean(np.array(lengths) > LONG)),
            },
        )

    return Trial(None, settings.steps, stream())


UNLIMITED = Experiment(
    id="parallel/unlimited",
    world=lambda settings: CARTPOLE,
    settings=UnlimitedSettings(),
    budgets={
        "smoke": Budget(600, evaluations=1, curve_episodes=0, final_episodes=2),
        "ci": Budget(LONG + 1, evaluations=1, curve_episodes=0, final_episodes=10),
        "full": Budget(12_000, evaluations=1, curve_episodes=0, final_episodes=20),
    },
    variants={
        "minus-one": Variant("−1"),
        "none": Variant("None, as in the notes", {"make": with_none}),
        "unwrapped": Variant("unwrapped", {"make": unwrapped}),
        "lean-and-place": Variant(
            "−1, a rule for lean and place", {"player": lean_and_place}
        ),
        "lean-alone": Variant("−1, a rule for the lean alone", {"player": lean_alone}),
    },
    bars=(
        Bar(
            "without the limit an episode lasts over 10,000 steps",
            "minus-one",
            "worst",
            ">=",
            LONG + 1,
            "final_longest",
        ),
        Bar(
            "with max_episode_steps=None none lasts over 500",
            "none",
            "best",
            "<=",
            500,
            "final_longest",
        ),
    ),
    start=start,
    scripted=play,
)
