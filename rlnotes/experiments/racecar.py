"""Chapter "Offline RL with TD3+BC": the race car, which never learnt in the notes.

The fix comes first, then the failure as the notes had it, then what each of their
remedies changes (nothing), what the critic has to do with it, and what the
demonstrations have.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from rlnotes.algos import bc, td3_bc
from rlnotes.autopsies import hand_scaling
from rlnotes.autopsies.covariate_shift import DistanceToData
from rlnotes.data import catalogue, dagger
from rlnotes.data.demonstrators import PurePursuit
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.racecar import FINISH
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
    fresh_seeds,
    new_trial,
)
from rlnotes.experiments.trials import OfflineSettings, offline_policy, standardised
from rlnotes.seeding import reset_seeds

DAGGER_EPISODES = 10  # driven by the learner in each round
BEFORE_FINISH = (25, 75, 125, 175, 225)  # steps, where the critic is asked


def arrived(episode: Episode) -> bool:
    return episode.total_reward > 0  # only the finish pays


@dataclass(frozen=True)
class Track(World):
    """The race car from perturbed starts."""

    env_id: str = "rlnotes/RaceCar-v0"
    options: Any = field(default_factory=lambda: {"start_noise": 1.0})
    success: Callable[[Episode], bool] | None = arrived
    at_once: int = 10

    def scores(self, episodes: Sequence[Episode]) -> Metrics:
        seconds = [len(e.rewards) / 20 for e in episodes if arrived(e)]
        mean = float(np.mean(seconds)) if seconds else np.nan
        return super().scores(episodes) | {"seconds_to_finish": mean}


TRACK = Track()


def track(settings: Settings) -> Track:
    return TRACK


@dataclass(frozen=True, kw_only=True)
class RaceCarSettings(OfflineSettings):
    demonstrations: int = 100
    goal_in_obs: bool = False
    step_reward: float = 0.0  # in the place of the data's zeros
    bc_epochs_first: int = 0  # of pure imitation, before the critic comes in
    dagger_rounds: int = 0  # after which the learner drives and is corrected
    arrived_only: bool = False  # drives that end at a wall are left out

    def episodes(self) -> list[Episode]:
        """The dataset, with what the notes did to it where the settings say so."""
        shown = super().episodes()[: self.demonstrations]
        if self.arrived_only:
            shown = [episode for episode in shown if arrived(episode)]
        if self.goal_in_obs:
            shown = [replace(e, observations=with_goal(e.observations)) for e in shown]
        if self.step_reward:
            shown = [replace(e, rewards=self._step_rewards(e)) for e in shown]
        return shown

    def _step_rewards(self, episode: Episode) -> np.ndarray:
        return np.where(episode.rewards == 0, self.step_reward, episode.rewards)


def as_intended(episode: Episode) -> Episode:
    """The same drive, with what the driver wanted in the place of what its shaking
    hands did: all that DART changes about a recording."""
    wanted = PurePursuit()(episode.observations[:-1])
    return replace(episode, actions=wanted)


def with_goal(observations: np.ndarray) -> np.ndarray:
    goal = np.tile(np.array(FINISH, np.float32), (len(observations), 1))
    return np.concatenate([observations, goal], axis=1)


def offline_track(settings: RaceCarSettings) -> Track:
    options = {"start_noise": 1.0, "goal_in_observation": settings.goal_in_obs}
    return Track(options=options)


def start(settings: RaceCarSettings, seed: int) -> Trial:
    world, shown = offline_track(settings), settings.episodes()
    data = Transitions.from_episodes(shown)
    policy = offline_policy(world, settings, data)
    config, steps = settings.agent, settings.steps
    agent: Any
    stream: Iterator[tuple[int, Any]]
    if isinstance(config, bc.Config):
        agent = bc.Agent(policy, config)
        stream = _bc(agent, shown, settings, world, seed)
    else:
        assert isinstance(config, td3_bc.Config)
        imitator = bc.Agent(policy, _imitating(config))
        first = settings.bc_epochs_first * len(data) // config.batch_size
        agent = None if first else td3_bc.Agent(policy, config)
        stream = _td3_bc(imitator, agent, config, data, first, steps)
        steps += first

    distance = DistanceToData(shown)

    def diagnose(drives: Sequence[Episode]) -> Metrics:
        farthest = [distance.farthest(drive) for drive in drives]
        found = {"times_usual_distance": float(np.median(farthest))}
        if isinstance(agent, td3_bc.Agent):
            found |= worth_before_finish(agent, shown)
        return found

    if settings.dagger_rounds:
        agent = None  # what the learner has driven would have to be saved as well
    return new_trial(policy, agent, stream, world, settings, diagnose, steps)


def worth_before_finish(agent: td3_bc.Agent, shown: Sequence[Episode]) -> Metrics:
    """What the critic says of the drives that arrive, so many steps before they do. The
    finish pays 3, so that it is worth 3 γ^steps there, and a critic that says less has
    not heard of it yet."""
    policy, drives = agent.policy, [drive for drive in shown if arrived(drive)]
    found = {}
    for steps in BEFORE_FINISH if drives else ():
        here = -1 - steps
        obs = policy.encode_array(np.stack([d.observations[here - 1] for d in drives]))
        action = torch.as_tensor(np.stack([drive.actions[here] for drive in drives]))
        with torch.no_grad():
            rows = torch.cat([obs, policy.encode_action(action)], dim=-1)
            found[f"q_{steps}_before"] = float(agent.critic.q1(rows).mean())
    return found


def _imitating(config: td3_bc.Config) -> bc.Config:
    return bc.Config(learning_rate=config.learning_rate, hidden=config.hidden)


def _bc(
    agent: bc.Agent,
    shown: list[Episode],
    settings: RaceCarSettings,
    world: World,
    seed: int,
) -> Iterator[tuple[int, Any]]:
    """Behaviour cloning; between rounds of DAgger the learner drives and the expert
    corrects it."""
    rounds = settings.dagger_rounds + 1
    starts = reset_seeds("train", seed, rounds * DAGGER_EPISODES)
    for number in range(1, rounds + 1):
        data = Transitions.from_episodes(shown)
        yield from bc.train(agent, data, settings.steps * number // rounds)
        if number < rounds:
            here = slice((number - 1) * DAGGER_EPISODES, number * DAGGER_EPISODES)
            driver, expert = agent.policy.act, PurePursuit()
            shown = shown + dagger.corrected(world.make, driver, expert, starts[here])


def _td3_bc(
    imitator: bc.Agent,
    agent: td3_bc.Agent | None,
    config: td3_bc.Config,
    data: Transitions,
    first: int,
    updates: int,
) -> Iterator[tuple[int, Any]]:
    """TD3+BC, after `first` updates of pure imitation if any."""
    yield from bc.train(imitator, data, first)
    # Made only now, so that its targets start where imitation ended.
    agent = agent or td3_bc.Agent(imitator.policy, config)
    for step, diagnostics in td3_bc.train(agent, data, updates):
        yield first + step, diagnostics


PUBLISHED_ALPHA = {"agent.alpha": 2.5}
CLEAN = {"dataset": catalogue.RACECAR_CLEAN}
KEYBOARD = {"dataset": catalogue.RACECAR_KEYBOARD}
DART = {"dataset": catalogue.RACECAR_DART}
BC = {"agent": bc.Config(hidden=(128, 128))}

GOAL_IN_STATE = {"goal_in_obs": True}
DIVIDED_BY_15 = {"obs_scale": hand_scaling.positions_by_15}
BC_FIRST = {"bc_epochs_first": 100}
STEP_REWARD = {"step_reward": -0.01}
ALL_REMEDIES = GOAL_IN_STATE | DIVIDED_BY_15 | BC_FIRST | STEP_REWARD
NOTES_DRIVES = {"dataset": catalogue.RACECAR_NOTES} | ALL_REMEDIES

REPRODUCTION = {
    "notes": Variant(
        "the notes' drives, all four together", NOTES_DRIVES | PUBLISHED_ALPHA
    ),
    "clean": Variant("scripted driver", CLEAN | PUBLISHED_ALPHA, replayed=True),
    "keyboard": Variant("arrow keys", KEYBOARD | PUBLISHED_ALPHA, replayed=True),
}
# Each is `keyboard` with one remedy of the notes.
ONE_REMEDY = {
    name: Variant(f"arrow keys, {label}", KEYBOARD | PUBLISHED_ALPHA | remedy)
    for name, label, remedy in (
        ("goal-in-state", "goal in the state", GOAL_IN_STATE),
        ("divided-by-15", "positions / 15", DIVIDED_BY_15),
        ("bc-first", "100 epochs of BC first", BC_FIRST),
        ("step-reward", "−0.01 per step", STEP_REWARD),
    )
}
LONGER = {"length": 4.0, "budget.evaluations": 20}
INTENDED = {"prepare": as_intended}
# What the critic has to do with it: its weight, and whether the data shows it more than
# one action per state. `dart` differs from `noisy` in the strength of the noise, too;
# `intended`, the same drives, differs in what was written down and nothing else.
CRITIC = {
    "clean-small-alpha": Variant("scripted driver, α = 0.2", CLEAN),
    "dart": Variant("DART, α = 0.2", DART),
    "intended": Variant("noise not recorded, α = 0.2", INTENDED, seeds=5),
    "arrived-only": Variant(
        "noise recorded, no crashes, α = 0.2", {"arrived_only": True}
    ),
    "noisy-published-alpha": Variant("noise recorded, α = 2.5", PUBLISHED_ALPHA),
}
# Is its critic done? A target follows its critic by τ every other update, so that in
# 15,000 updates it is renewed some forty times, and the finish is 340 steps away.
PATIENCE = {
    "noisy-published-alpha-longer": Variant(
        "noise recorded, α = 2.5, 4 × as long",
        PUBLISHED_ALPHA | LONGER,
    ),
    "noisy-published-alpha-quick-targets": Variant(
        "noise recorded, α = 2.5, targets 4 × as quick",
        PUBLISHED_ALPHA | {"agent.tau": 0.02},
    ),
    "clean-longer": Variant(
        "scripted driver, α = 2.5, 4 × as long",
        CLEAN | PUBLISHED_ALPHA | LONGER,
    ),
}
# No critic at all: what the demonstrations have to do with it. From `bc-dart` to
# `bc-2-drives` each is `bc-clean` with one change, the last two are `bc-2-drives` with
# one more.
TWO = {"demonstrations": 2}
IMITATION = {
    "bc-notes": Variant("BC: the notes' drives and remedies", NOTES_DRIVES | BC),
    "bc-notes-standardised": Variant(
        "BC: the same, but standardised",
        NOTES_DRIVES | BC | {"obs_scale": standardised},
    ),
    "bc-clean": Variant("BC: a hundred clean drives", CLEAN | BC),
    "bc-dart": Variant("BC: DART", DART | BC, replayed=True),
    "bc-intended": Variant("BC: noise not recorded", INTENDED | BC),
    "bc-keyboard": Variant("BC: arrow keys", KEYBOARD | BC),
    "bc-one-start": Variant(
        "BC: one start", BC | {"dataset": catalogue.RACECAR_ONE_START}
    ),
    "bc-two-steps": Variant(
        "BC: two physics steps per action",
        BC | {"dataset": catalogue.RACECAR_TWO_STEPS},
    ),
    "bc-radius-2": Variant(
        "BC: finish at two metres", BC | {"dataset": catalogue.RACECAR_RADIUS_2}
    ),
    "bc-divided-by-15": Variant("BC: positions / 15", CLEAN | BC | DIVIDED_BY_15),
    "bc-5-drives": Variant("BC: five drives", CLEAN | BC | {"demonstrations": 5}),
    # As many as DAgger's two and what its learner drove.
    "bc-42-drives": Variant(
        "BC: forty-two drives", CLEAN | BC | {"demonstrations": 42}
    ),
    "bc-2-drives": Variant("BC: two drives", CLEAN | BC | TWO),
    "bc-2-drives-dart": Variant("BC: two drives with DART", DART | BC | TWO),
    "bc-2-drives-dagger": Variant(
        "BC: two drives, then DAgger", CLEAN | BC | TWO | {"dagger_rounds": 4}
    ),
}

RACECAR = Experiment(
    id="td3bc/racecar",
    world=offline_track,
    settings=RaceCarSettings(
        agent=td3_bc.Config(alpha=0.2, hidden=(128, 128)),
        dataset=catalogue.RACECAR_NOISY,
    ),
    budgets={
        "smoke": Budget(40, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(4_000, evaluations=2, curve_episodes=5, final_episodes=20),
        "full": Budget(15_000, evaluations=5, curve_episodes=10, final_episodes=100),
    },
    variants={
        "noisy": Variant("noise recorded, α = 0.2", seeds=5),
        "bc-noisy": Variant("BC: noise recorded", BC, seeds=5),
        **REPRODUCTION,
        **ONE_REMEDY,
        **CRITIC,
        **PATIENCE,
        **IMITATION,
        **fresh_seeds(),
    },
    bars=(
        Bar(
            "TD3+BC arrives from perturbed starts",
            "noisy",
            "iqm",
            ">=",
            95.0,
            "final_success_percent",
        ),
        Bar("BC does", "bc-noisy", "iqm", ">=", 95.0, "final_success_percent"),
        Bar(
            "TD3+BC is at least as fast as the scripted driver",
            "noisy",
            "iqm",
            "<=",
            "racecar/demos/clean",
            "final_seconds_to_finish",
        ),
    ),
    start=start,
    seeds=3,
)
