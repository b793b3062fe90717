"""Chapter "Offline RL with TD3+BC": the race car, which never learnt in the notes.

The fix comes first, then the failure as the notes had it, then what each of their remedies changes (nothing),
what the critic has to do with it, and what the demonstrations have to do with it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from rlnotes.algos import bc, td3_bc
from rlnotes.algos.policy import Policy
from rlnotes.autopsies.covariate_shift import DistanceToData
from rlnotes.data import dagger, datasets
from rlnotes.data.demonstrators import PurePursuit
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.racecar import FINISH
from rlnotes.experiments import recipes
from rlnotes.experiments.base import Bar, Experiment, Metrics, Settings, Trial, World, evaluated
from rlnotes.seeding import reset_seeds

DAGGER_EPISODES = 10  # driven by the learner in each round


@dataclass(frozen=True)
class Track(World):
    """The race car from perturbed starts."""

    env_id: str = recipes.RACECAR
    success: Callable[[Episode], bool] = lambda episode: episode.total_reward > 0  # only the finish pays

    def scores(self, episodes: Sequence[Episode]) -> Metrics:
        seconds = [len(episode.rewards) / 20 for episode in episodes if self.success(episode)]
        return super().scores(episodes) | {"seconds_to_finish": float(np.mean(seconds)) if seconds else np.nan}


def track(settings: Settings) -> Track:
    return Track(options={"start_noise": 1.0, "goal_in_observation": settings.get("goal_in_state", False)})


def demonstrations(settings: Settings) -> list[Episode]:
    """The dataset, with what the notes did to it where `settings` say so."""
    episodes = datasets.load(settings["dataset"])[: settings["demonstrations"]]
    if settings["goal_in_state"]:
        episodes = [replace(episode, observations=with_goal(episode.observations)) for episode in episodes]
    if settings["step_reward"]:
        episodes = [replace(e, rewards=np.where(e.rewards == 0, settings["step_reward"], e.rewards)) for e in episodes]
    return episodes


def with_goal(observations: np.ndarray) -> np.ndarray:
    goal = np.tile(np.array(FINISH, np.float32), (len(observations), 1))
    return np.concatenate([observations, goal], axis=1)


def state_scale(settings: Settings, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the data, or the notes' scaling: positions divided by 15, all else as it is."""
    if settings["states"] == "standardised":
        return observations.mean(0), observations.std(0) + 1e-3
    scale = np.ones(observations.shape[1])
    scale[[0, 1, *range(9, len(scale))]] = 15
    return np.zeros(len(scale)), scale


def start(settings: Settings, seed: int) -> Trial:
    torch.manual_seed(seed)
    world = track(settings)
    shown = demonstrations(settings)
    data = Transitions.from_episodes(shown)
    mean, std = state_scale(settings, data.all().obs.numpy())
    env, hidden = world.make(), tuple(settings["hidden"])
    policy = Policy.for_spaces(env.observation_space, env.action_space, hidden, "tanh", mean, std)
    updates = settings["updates"]

    imitator = bc.Agent(policy, bc.Config(learning_rate=settings["learning_rate"], hidden=hidden))
    if settings["learner"] == "bc":
        stream = _bc(imitator, shown, settings, world, seed)
    else:
        config = td3_bc.Config(learning_rate=settings["learning_rate"], hidden=hidden, alpha=settings["alpha"])
        first = settings["bc_epochs_first"] * len(data) // imitator.config.batch_size
        stream = _td3_bc(imitator, config, data, first, updates)
        updates += first

    distance = DistanceToData(shown)

    def diagnose(drives: Sequence[Episode]) -> Metrics:
        return {"times_usual_distance": float(np.median([distance.farthest(drive) for drive in drives]))}

    return Trial(policy, updates, evaluated(policy.act, stream, updates, world, settings, diagnose))


def _bc(
    agent: bc.Agent, shown: list[Episode], settings: Settings, world: World, seed: int
) -> Iterator[tuple[int, Any]]:
    """Behaviour cloning; between rounds of DAgger the learner drives and the expert corrects it."""
    rounds = settings["dagger_rounds"] + 1
    starts = reset_seeds("train", seed, rounds * DAGGER_EPISODES)
    done = 0
    for number in range(1, rounds + 1):
        data = Transitions.from_episodes(shown)
        for step, diagnostics in bc.train(agent, data, settings["updates"] * number // rounds - done):
            yield done + step, diagnostics
        done = settings["updates"] * number // rounds
        if number < rounds:
            round_starts = starts[(number - 1) * DAGGER_EPISODES : number * DAGGER_EPISODES]
            shown = shown + dagger.corrected(world.make, agent.policy.act, PurePursuit(), round_starts)


def _td3_bc(
    imitator: bc.Agent, config: td3_bc.Config, data: Transitions, first: int, updates: int
) -> Iterator[tuple[int, Any]]:
    """TD3+BC, after `first` updates of pure imitation if any."""
    yield from bc.train(imitator, data, first)
    agent = td3_bc.Agent(imitator.policy, config)  # made now, so that its targets start where imitation ended
    for step, diagnostics in td3_bc.train(agent, data, updates):
        yield first + step, diagnostics


PUBLISHED_ALPHA = {"alpha": 2.5}
CLEAN, KEYBOARD, DART = (
    {"dataset": dataset} for dataset in (recipes.RACECAR_CLEAN, recipes.RACECAR_KEYBOARD, recipes.RACECAR_DART)
)
BC = {"learner": "bc"}

REMEDIES: dict[str, Settings] = {
    "goal-in-state": {"goal_in_state": True},
    "divided-by-15": {"states": "divided-by-15"},
    "bc-first": {"bc_epochs_first": 100},
    "step-reward": {"step_reward": -0.01},
}
ALL_REMEDIES: Settings = {name: value for remedy in REMEDIES.values() for name, value in remedy.items()}
AS_IN_THE_NOTES: Settings = {"dataset": recipes.RACECAR_NOTES, **PUBLISHED_ALPHA, **ALL_REMEDIES}

REPRODUCTION: dict[str, Settings] = {
    "notes": AS_IN_THE_NOTES,
    "clean": CLEAN | PUBLISHED_ALPHA,
    "keyboard": KEYBOARD | PUBLISHED_ALPHA,
}
# Each is `keyboard` with one remedy of the notes.
ONE_REMEDY = {name: KEYBOARD | PUBLISHED_ALPHA | remedy for name, remedy in REMEDIES.items()}
# What the critic has to do with it: its weight, and whether the data shows it more than one action per state.
# (`dart` differs from `noisy` in the strength of the noise, too.)
CRITIC: dict[str, Settings] = {
    "clean-small-alpha": CLEAN,
    "dart": DART,
    "noisy-published-alpha": PUBLISHED_ALPHA,
}
# No critic at all: what the demonstrations have to do with it. From `bc-dart` to `bc-2-drives` each is `bc-clean` with
# one change, the last two are `bc-2-drives` with one more.
IMITATION: dict[str, Settings] = {
    "bc-notes": AS_IN_THE_NOTES | BC,
    "bc-notes-standardised": AS_IN_THE_NOTES | BC | {"states": "standardised"},
    "bc-clean": CLEAN | BC,
    "bc-dart": DART | BC,
    "bc-keyboard": KEYBOARD | BC,
    "bc-one-start": BC | {"dataset": recipes.RACECAR_ONE_START},
    "bc-two-steps": BC | {"dataset": recipes.RACECAR_TWO_STEPS},
    "bc-radius-2": BC | {"dataset": recipes.RACECAR_RADIUS_2},
    "bc-divided-by-15": CLEAN | BC | REMEDIES["divided-by-15"],
    "bc-5-drives": CLEAN | BC | {"demonstrations": 5},
    "bc-2-drives": CLEAN | BC | {"demonstrations": 2},
    "bc-2-drives-dart": DART | BC | {"demonstrations": 2},
    "bc-2-drives-dagger": CLEAN | BC | {"demonstrations": 2, "dagger_rounds": 4},
}

RACECAR = Experiment(
    id="td3bc/racecar",
    world=track,
    settings={
        "learner": "td3_bc",
        "dataset": recipes.RACECAR_NOISY,
        "demonstrations": 100,
        "states": "standardised",
        "goal_in_state": False,
        "step_reward": 0.0,
        "bc_epochs_first": 0,
        "dagger_rounds": 0,
        "alpha": 0.2,
        "learning_rate": 3e-4,
        "hidden": [128, 128],
    },
    budgets={
        "smoke": {"updates": 40, "evaluations": 2, "curve_episodes": 1, "final_episodes": 2},
        "ci": {"updates": 4_000, "evaluations": 2, "curve_episodes": 5, "final_episodes": 20},
        "full": {"updates": 15_000, "evaluations": 5, "curve_episodes": 10, "final_episodes": 100},
    },
    variants={"noisy": {}, "bc-noisy": BC, **REPRODUCTION, **ONE_REMEDY, **CRITIC, **IMITATION},
    bars=(
        Bar("TD3+BC arrives from perturbed starts", "noisy", "iqm", ">=", 95.0, "final_success_percent"),
        Bar("BC does", "bc-noisy", "iqm", ">=", 95.0, "final_success_percent"),
        Bar(
            "TD3+BC is at least as fast as the scripted driver, which takes 17.1 s",
            "noisy",
            "iqm",
            "<=",
            17.1,
            "final_seconds_to_finish",
        ),
    ),
    start=start,
    seeds=3,
    seeds_of={"noisy": 5, "bc-noisy": 5},
)
