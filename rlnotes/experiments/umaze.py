"""Chapter "Offline RL with TD3+BC": a public dataset, the U maze of D4RL.

The data never shows a ball that stays at its goal. Two changes to the published recipe,
each alone and both together: hindsight relabelling, which tells the critic about goals
reached, and a larger α, which lets the critic speak.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from torch import Tensor

from rlnotes.algos import bc, td3_bc
from rlnotes.data import catalogue, hindsight, waypoints
from rlnotes.data.rollouts import Episode
from rlnotes.envs.maze import GOAL_RADIUS
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Trial,
    Variant,
    World,
    fresh_seeds,
)
from rlnotes.experiments.trials import OfflineSettings, offline_trial

PLACE, GOAL = slice(0, 2), slice(4, 6)
# Normalised scores that others report on this dataset.
PUBLISHED_SCORES = {
    "td3bc-final": 48.8,
    "td3bc-best": 71.9,
    "bc": 53.8,
    "cql-best": 85.5,
}


@dataclass(frozen=True)
class Maze(World):
    """The U maze. Its return counts the steps at the goal, so it mixes two skills:
    getting there and staying."""

    env_id: str = "rlnotes/UMaze-v0"
    # Random play and the noise-free controller, as published.
    reference: tuple[float, float] | None = (13.49, 218.70)

    def scores(self, episodes: Sequence[Episode]) -> Metrics:
        shares = [stays(episode) for episode in episodes]
        known = [share for share in shares if not np.isnan(share)]
        return super().scores(episodes) | {
            "steps_to_goal": float(np.mean([steps_to_goal(e) for e in episodes])),
            "stays_percent": 100 * float(np.mean(known)) if known else np.nan,
        }


def steps_to_goal(episode: Episode) -> int:
    """The steps before the first reward; all of them where there is none."""
    paid = episode.rewards > 0
    return int(np.argmax(paid)) if paid.any() else len(paid)


def stays(episode: Episode) -> float:
    """Of the steps after the first one at the goal, the share there; NaN of none."""
    after = episode.rewards[steps_to_goal(episode) + 1 :]
    return float(after.mean()) if len(after) else np.nan


def at_goal(places: Tensor, goals: Tensor) -> Tensor:
    """The maze's own reward."""
    return ((places - goals).norm(dim=-1) <= GOAL_RADIUS).float()


@cache
def played(episodes: int | None = None) -> tuple[str, list[Episode]]:
    """The dataset's id and its episodes, read once: there are 13,000 of them."""
    return waypoints.load(episodes)


@dataclass(frozen=True, kw_only=True)
class MazeSettings(OfflineSettings):
    relabelled: float = 0.5  # share of the transitions that get another goal


def start(settings: MazeSettings, seed: int) -> Trial:
    _, episodes = played(settings.budget.dataset_episodes)
    data = hindsight.relabelled(
        episodes, settings.relabelled, GOAL, PLACE, at_goal, seed
    )
    return offline_trial(Maze(), settings, data)


PUBLISHED = {"agent.alpha": 2.5, "relabelled": 0.0}
BC = {"agent": bc.Config(hidden=(128, 128))}

UMAZE = Experiment(
    id="td3bc/umaze",
    world=lambda settings: Maze(),
    settings=MazeSettings(
        agent=td3_bc.Config(alpha=40.0, hidden=(128, 128)), dataset=catalogue.UMAZE
    ),
    budgets={
        "smoke": Budget(
            40, 2, curve_episodes=2, final_episodes=2, dataset_episodes=200
        ),
        "ci": Budget(2_000, evaluations=2, curve_episodes=10, final_episodes=20),
        "full": Budget(20_000, evaluations=5, curve_episodes=30, final_episodes=100),
    },
    variants={
        "relabelled-alpha-40": Variant("α = 40, relabelled", seeds=5),
        "published": Variant("α = 2.5 (published)", PUBLISHED),
        "relabelled": Variant("α = 2.5, relabelled", {"agent.alpha": 2.5}),
        "alpha-40": Variant("α = 40", {"relabelled": 0.0}),
        "bc": Variant("BC", BC | {"relabelled": 0.0}),
        "bc-relabelled": Variant("BC, relabelled", BC),
        "2000-updates": Variant("α = 2.5, 2,000 updates", PUBLISHED | {"length": 0.1}),
        **fresh_seeds(),
    },
    bars=(
        Bar(
            "relabelled and with α = 40, TD3+BC learns the U maze",
            "relabelled-alpha-40",
            "iqm",
            ">=",
            72.0,
            "final_normalised",
        ),
    ),
    start=start,
    seeds=3,
)
