"""Chapter "Offline RL with TD3+BC": the race car, which never learnt in the notes.

Being built: not in the registry, and nothing of it is recorded yet. The learners, the notes' remedies as settings,
and the distance to the demonstrations are here; which variants tell the causes apart is still open.
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
        config = td3_bc.Config(
            alpha=settings["alpha"],
            discount=settings["discount"],
            learning_rate=settings["learning_rate"],
            hidden=hidden,
            layer_norm=settings["layer_norm"],
        )
        first = settings["bc_epochs_first"] * len(data) // imitator.config.batch_size
        stream = _td3_bc(imitator, config, data, first, updates)
        updates += first

    distance = DistanceToData(shown)

    def diagnose() -> Metrics:
        drives = world.play(policy.act, reset_seeds("evaluate", 0, settings["curve_episodes"]))
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


NOTES: Settings = {"dataset": recipes.RACECAR_KEYBOARD}

RACECAR = Experiment(
    id="td3bc/racecar",
    world=track,
    settings={
        "learner": "td3_bc",
        "dataset": recipes.RACECAR_DART,
        "demonstrations": 100,
        "states": "standardised",
        "goal_in_state": False,
        "step_reward": 0.0,
        "bc_epochs_first": 0,
        "dagger_rounds": 0,
        "alpha": 2.5,
        "discount": 0.99,
        "layer_norm": False,
        "learning_rate": 3e-4,
        "hidden": [128, 128],
    },
    budgets={
        "smoke": {"updates": 40, "evaluations": 2, "curve_episodes": 1, "final_episodes": 2},
        "ci": {"updates": 6_000, "evaluations": 3, "curve_episodes": 5, "final_episodes": 20},
        "full": {"updates": 20_000, "evaluations": 10, "curve_episodes": 10, "final_episodes": 100},
    },
    variants={
        "td3bc-dart": {},
        "bc-dart": {"learner": "bc"},
        "td3bc-clean": {"dataset": recipes.RACECAR_CLEAN},
        "bc-clean": {"dataset": recipes.RACECAR_CLEAN, "learner": "bc"},
        "td3bc-keyboard": NOTES,
        "bc-keyboard": NOTES | {"learner": "bc"},
    },
    bars=(
        Bar("TD3+BC on DART demonstrations arrives", "td3bc-dart", "iqm", ">=", 95.0, "final_success_percent"),
        Bar("so does BC", "bc-dart", "iqm", ">=", 95.0, "final_success_percent"),
    ),
    start=start,
    seeds=5,
)
