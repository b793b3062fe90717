"""Chapter "Offline RL with TD3+BC": a public dataset, the U maze of D4RL.

Being built: not in the registry, and nothing of it is recorded yet.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from rlnotes.algos import bc, td3_bc
from rlnotes.algos.policy import Policy
from rlnotes.data import hindsight, waypoints
from rlnotes.envs.maze import GOAL_RADIUS
from rlnotes.experiments.base import Bar, Experiment, Settings, Trial, World, evaluated

WORLD = World("rlnotes/UMaze-v0", reference=(13.49, 218.70))  # random play and the noise-free controller, as published
PLACE, GOAL = slice(0, 2), slice(4, 6)


def at_goal(places: Tensor, goals: Tensor) -> Tensor:
    """The maze's own reward."""
    return ((places - goals).norm(dim=-1) <= GOAL_RADIUS).float()


def start(settings: Settings, seed: int) -> Trial:
    torch.manual_seed(seed)
    _, episodes = waypoints.load()
    data = hindsight.relabelled(episodes, settings["relabelled"], GOAL, PLACE, at_goal, seed)
    observations = data.all().obs.numpy()
    env, hidden = WORLD.make(), tuple(settings["hidden"])
    spaces = env.observation_space, env.action_space
    policy = Policy.for_spaces(*spaces, hidden, "tanh", observations.mean(0), observations.std(0) + 1e-3)
    updates, rate = settings["updates"], settings["learning_rate"]
    stream: Iterator[tuple[int, Any]]
    if settings["learner"] == "bc":
        stream = bc.train(bc.Agent(policy, bc.Config(learning_rate=rate, hidden=hidden)), data, updates)
    else:
        config = td3_bc.Config(learning_rate=rate, hidden=hidden, alpha=settings["alpha"])
        stream = td3_bc.train(td3_bc.Agent(policy, config), data, updates)
    return Trial(policy, updates, evaluated(policy.act, stream, updates, WORLD, settings))


UMAZE = Experiment(
    id="td3bc/umaze",
    world=lambda settings: WORLD,
    settings={
        "learner": "td3_bc",
        "relabelled": 0.5,
        "alpha": 2.5,
        "learning_rate": 3e-4,
        "hidden": [128, 128],
    },
    budgets={
        "smoke": {"updates": 40, "evaluations": 2, "curve_episodes": 2, "final_episodes": 2},
        "ci": {"updates": 4_000, "evaluations": 4, "curve_episodes": 20, "final_episodes": 50},
        "full": {"updates": 50_000, "evaluations": 10, "curve_episodes": 50, "final_episodes": 100},
    },
    variants={
        "td3bc-relabelled": {},
        "td3bc": {"relabelled": 0.0},
        "bc": {"learner": "bc", "relabelled": 0.0},
    },
    bars=(Bar("the final score on the U maze", "td3bc-relabelled", "iqm", ">=", 72.0, "final_normalised"),),
    start=start,
    seeds=5,
)
