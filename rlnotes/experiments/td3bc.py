"""Chapter "Offline RL with TD3+BC": the pendulum.

Three datasets (expert, medium, random) and three learners (TD3+BC, TD3, BC), ablations that each
change one setting, and SAC with and without the same BC term. The two `online` variants train the
policies that the datasets are collected with.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from rlnotes.algos import bc, sac, sac_bc, td3_bc
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import extrapolation
from rlnotes.autopsies.time_limits import truncation_as_termination
from rlnotes.data import datasets
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.experiments.base import Bar, Experiment, Metrics, Settings, Trial, World, evaluated
from rlnotes.seeding import reset_seeds

ENV = "Pendulum-v1"
WORLD = World(ENV)
EXPERT, MEDIUM, RANDOM = (f"rlnotes/pendulum/{name}-v0" for name in ("expert", "medium", "random"))

SETTINGS: Settings = {
    "learner": "td3_bc",
    "dataset": EXPERT,
    "states": "standardised",
    "truncation_terminates": False,
    "alpha": 2.5,
    "bc_weight": 1.0,
    "learning_rate": 3e-4,
    "hidden": [128, 128],
    "length": 1.0,  # times the budget's steps
}

# The one table of what each budget spends. `updates` is the notes' 10,000 at the full budget.
BUDGETS: dict[str, Settings] = {
    "smoke": {"updates": 40, "online_steps": 1_100, "evaluations": 2, "curve_episodes": 1, "final_episodes": 2},
    "ci": {"updates": 6_000, "online_steps": 5_000, "evaluations": 6, "curve_episodes": 5, "final_episodes": 20},
    "full": {"updates": 10_000, "online_steps": 20_000, "evaluations": 10, "curve_episodes": 10, "final_episodes": 100},
}

# The notes divide the angular velocity by its bound of 8 and leave the rest as it is.
STATE_SCALES: dict[str, np.ndarray | None] = {
    "standardised": None,
    "raw": np.array([1.0, 1.0, 1.0]),
    "hand-scaled": np.array([1.0, 1.0, 8.0]),
}


def start(settings: Settings, seed: int) -> Trial:
    """Build the learner that `settings` describe, ready to train."""
    torch.manual_seed(seed)
    if settings["learner"] == "sac-online":
        return _start_online(settings, seed)
    return _start_offline(settings)


def _start_online(settings: Settings, seed: int) -> Trial:
    env = WORLD.make()
    policy = Policy.for_spaces(env.observation_space, env.action_space, settings["hidden"], head="gaussian")
    config = sac.Config(learning_rate=settings["learning_rate"], hidden=tuple(settings["hidden"]))
    agent = sac.Agent(policy, config)
    steps = round(settings["online_steps"] * settings["length"])
    return _trial(agent, sac.train(agent, env, steps, seed), steps, settings)


def _start_offline(settings: Settings) -> Trial:
    episodes = datasets.load(settings["dataset"])
    if settings["truncation_terminates"]:
        episodes = [truncation_as_termination(episode) for episode in episodes]
    data = Transitions.from_episodes(episodes)

    observations = data.all().obs.numpy()
    mean, std = np.zeros(3), STATE_SCALES[settings["states"]]
    if std is None:
        mean, std = observations.mean(0), observations.std(0) + 1e-3

    env = WORLD.make()
    hidden = tuple(settings["hidden"])
    head: Any = "gaussian" if settings["learner"] == "sac_bc" else "tanh"
    policy = Policy.for_spaces(env.observation_space, env.action_space, hidden, head, mean, std)
    rate, updates = settings["learning_rate"], round(settings["updates"] * settings["length"])
    weights = {"alpha": settings["alpha"], "bc_weight": settings["bc_weight"]}

    agent: Any
    stream: Iterator[Any]
    if settings["learner"] == "bc":
        agent = bc.Agent(policy, bc.Config(learning_rate=rate, hidden=hidden))
        stream = bc.train(agent, data, updates)
    elif settings["learner"] == "sac_bc":
        agent = sac_bc.Agent(policy, sac_bc.Config(learning_rate=rate, hidden=hidden, **weights))
        stream = sac_bc.train(agent, data, updates)
    else:
        agent = td3_bc.Agent(policy, td3_bc.Config(learning_rate=rate, hidden=hidden, **weights))
        stream = td3_bc.train(agent, data, updates)
    return _trial(agent, stream, updates, settings)


def _trial(agent: Any, stream: Iterator[Any], steps: int, settings: Settings) -> Trial:
    def diagnose(episodes: Sequence[Episode]) -> Metrics:
        if not hasattr(agent, "critic"):
            return {}
        starts = reset_seeds("evaluate", 0, settings["curve_episodes"])
        return extrapolation.promised_and_true(agent.policy, agent.critic, ENV, starts, agent.config.discount)

    return Trial(agent.policy, steps, evaluated(agent.policy.act, stream, steps, WORLD, settings, diagnose))


# Each changes one thing about TD3+BC on expert data. (α = ∞ is `td3bc/pendulum-no-bc`.)
ABLATIONS: dict[str, Settings] = {
    "raw-states": {"states": "raw"},
    "hand-scaled-states": {"states": "hand-scaled"},
    "truncation-terminates": {"truncation_terminates": True},
    "alpha-0.5": {"alpha": 0.5},
    "alpha-10": {"alpha": 10.0},
    "twice-as-long": {"length": 2.0},
}

# The same recipe on another learner, with and without the BC term.
OTHER_LEARNERS: dict[str, Settings] = {
    "sacbc-expert": {"learner": "sac_bc"},
    "sac-expert": {"learner": "sac_bc", **extrapolation.FAULT},
}

ONLINE: Settings = {"learner": "sac-online", "learning_rate": 1e-3, "hidden": [64, 64]}

PENDULUM = Experiment(
    id="td3bc/pendulum",
    world=lambda settings: WORLD,
    settings=SETTINGS,
    budgets=BUDGETS,
    variants={
        "td3bc-expert": {},
        "td3bc-medium": {"dataset": MEDIUM},
        "td3bc-random": {"dataset": RANDOM},
        "bc-expert": {"learner": "bc"},
        "bc-medium": {"learner": "bc", "dataset": MEDIUM},
        "bc-random": {"learner": "bc", "dataset": RANDOM},
        **ABLATIONS,
        **OTHER_LEARNERS,
        "online-expert": ONLINE,
        "online-half": ONLINE | {"length": 0.17},
    },
    bars=(
        Bar("TD3+BC learns the pendulum from expert data", "td3bc-expert", "iqm", ">=", -165.0),
        Bar("every seed of it does", "td3bc-expert", "worst", ">=", -200.0),
        Bar("on medium data TD3+BC is at least as good as BC", "td3bc-medium", "iqm", ">=", "bc-medium"),
    ),
    start=start,
    seeds_of=dict.fromkeys(ABLATIONS | OTHER_LEARNERS, 5) | {"online-expert": 1, "online-half": 1},
)

PENDULUM_NO_BC = Experiment(
    id="td3bc/pendulum-no-bc",
    world=lambda settings: WORLD,
    settings=SETTINGS | extrapolation.FAULT,
    budgets=BUDGETS,
    variants={
        "td3-expert": {},
        "td3-medium": {"dataset": MEDIUM},
        "td3-random": {"dataset": RANDOM},
        "twice-as-long": {"length": 2.0},
    },
    bars=(Bar("without the BC term the same learner fails on expert data", "td3-expert", "iqm", "<=", -1000.0),),
    start=start,
    seeds_of={"twice-as-long": 5},
)
