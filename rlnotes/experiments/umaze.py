"""Chapter "Offline RL with TD3+BC": a public dataset, the U maze of D4RL.

The data never shows a ball that stays at its goal. Two changes to the published recipe, each alone and both
together: hindsight relabelling, which tells the critic about goals reached, and a larger α, which lets the
critic speak.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rlnotes.algos import bc, td3_bc
from rlnotes.algos.policy import Policy
from rlnotes.data import hindsight, waypoints
from rlnotes.data.rollouts import Episode
from rlnotes.envs.maze import GOAL_RADIUS
from rlnotes.experiments.base import Bar, Experiment, Metrics, Settings, Trial, World, evaluated

PLACE, GOAL = slice(0, 2), slice(4, 6)


@dataclass(frozen=True)
class Maze(World):
    """The U maze. Its return counts the steps at the goal, so it mixes two skills: getting there and staying."""

    env_id: str = "rlnotes/UMaze-v0"
    reference: tuple[float, float] | None = (13.49, 218.70)  # random play and the noise-free controller, as published

    def scores(self, episodes: Sequence[Episode]) -> Metrics:
        afterwards = [share for episode in episodes if not np.isnan(share := stays(episode))]
        return super().scores(episodes) | {
            "steps_to_goal": float(np.mean([steps_to_goal(episode) for episode in episodes])),
            "stays_percent": 100 * float(np.mean(afterwards)) if afterwards else np.nan,
        }


def steps_to_goal(episode: Episode) -> int:
    """The steps before the first reward; all of them where there is none."""
    return int(np.argmax(episode.rewards > 0)) if episode.rewards.any() else len(episode.rewards)


def stays(episode: Episode) -> float:
    """Of the steps after the first one at the goal, the share at the goal; NaN where there are none."""
    after = episode.rewards[steps_to_goal(episode) + 1 :]
    return float(after.mean()) if len(after) else np.nan


def at_goal(places: Tensor, goals: Tensor) -> Tensor:
    """The maze's own reward."""
    return ((places - goals).norm(dim=-1) <= GOAL_RADIUS).float()


@cache
def played() -> tuple[str, list[Episode]]:
    """The dataset's id and its episodes, read once: Minari takes half a minute for 13,000 of them."""
    return waypoints.load()


def start(settings: Settings, seed: int) -> Trial:
    torch.manual_seed(seed)
    _, episodes = played()
    data = hindsight.relabelled(episodes, settings["relabelled"], GOAL, PLACE, at_goal, seed)
    observations = data.all().obs.numpy()
    world = Maze()
    env, hidden = world.make(), tuple(settings["hidden"])
    spaces = env.observation_space, env.action_space
    policy = Policy.for_spaces(*spaces, hidden, "tanh", observations.mean(0), observations.std(0) + 1e-3)
    updates, rate = settings["updates"], settings["learning_rate"]
    stream: Iterator[tuple[int, Any]]
    if settings["learner"] == "bc":
        stream = bc.train(bc.Agent(policy, bc.Config(learning_rate=rate, hidden=hidden)), data, updates)
    else:
        config = td3_bc.Config(learning_rate=rate, hidden=hidden, alpha=settings["alpha"])
        stream = td3_bc.train(td3_bc.Agent(policy, config), data, updates)
    return Trial(policy, updates, evaluated(policy.act, stream, updates, world, settings))


PUBLISHED: Settings = {"alpha": 2.5, "relabelled": 0.0}

UMAZE = Experiment(
    id="td3bc/umaze",
    world=lambda settings: Maze(),
    settings={
        "learner": "td3_bc",
        "relabelled": 0.5,
        "alpha": 40.0,
        "learning_rate": 3e-4,
        "hidden": [128, 128],
    },
    budgets={
        "smoke": {"updates": 40, "evaluations": 2, "curve_episodes": 2, "final_episodes": 2},
        "ci": {"updates": 2_000, "evaluations": 2, "curve_episodes": 10, "final_episodes": 20},
        "full": {"updates": 20_000, "evaluations": 5, "curve_episodes": 30, "final_episodes": 100},
    },
    variants={
        "relabelled-alpha-40": {},
        "published": PUBLISHED,
        "relabelled": {"alpha": 2.5},
        "alpha-40": {"relabelled": 0.0},
        "bc": {"learner": "bc", "relabelled": 0.0},
        "bc-relabelled": {"learner": "bc"},
        "2000-updates": PUBLISHED | {"updates": 2_000},
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
    seeds_of={"relabelled-alpha-40": 5},
)
