"""What an experiment is: a world, settings, variants that each override one thing,
budgets, bars, and a trial to run."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import gymnasium as gym
import numpy as np
import torch

from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import BatchPolicy, Episode, Stage
from rlnotes.errors import unknown
from rlnotes.experiments.settings import Override, changed
from rlnotes.seeding import reset_seeds

Metrics = dict[str, float]


@dataclass(frozen=True)
class World:
    """The unmodified environment in which policies are judged, and what is doing
    well."""

    env_id: str
    options: Mapping[str, Any] = field(default_factory=dict)
    success: Callable[[Episode], bool] | None = None
    reference: tuple[float, float] | None = None  # returns that score 0 and 100
    at_once: int = 50  # copies played side by side; one of PyBullet's takes 38 MB
    anew: bool = False  # they remember what was played in them
    keep_obs: bool = True  # False where they are pictures: a game of them takes 50 MB
    sampled: bool = False  # judged at the end with drawn actions, too

    def make(self, **more: Any) -> gym.Env:
        return gym.make(self.env_id, **{**self.options, **more})

    def stage(self) -> Stage:
        return Stage(self.make, self.at_once, self.keep_obs, self.anew)

    def play(
        self, policy: BatchPolicy, starts: Sequence[int], progress: str | None = None
    ) -> list[Episode]:
        with self.stage() as stage:
            return stage.play(policy, starts, progress)

    def spaces(self) -> tuple[gym.Space, gym.Space]:
        env = self.make()
        env.close()
        return env.observation_space, env.action_space

    def scores(self, episodes: Sequence[Episode]) -> Metrics:
        scores = {"return": float(np.mean([e.total_reward for e in episodes]))}
        if self.success is not None:
            share = np.mean([self.success(episode) for episode in episodes])
            scores["success_percent"] = 100 * float(share)
        if self.reference is not None:
            worst, best = self.reference
            scores["normalised"] = 100 * (scores["return"] - worst) / (best - worst)
        return scores


@dataclass(frozen=True)
class Budget:
    """What a run may spend: steps in the world, or updates where there is none."""

    steps: int
    evaluations: int  # along the way, at equal distances
    curve_episodes: int  # of each of these
    final_episodes: int
    dataset_episodes: int | None = None  # read no more than so many; None: all


SMALLEST = Budget(steps=1, evaluations=1, curve_episodes=1, final_episodes=1)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What all experiments have. `budget` is filled in from the experiment's table."""

    budget: Budget = SMALLEST
    length: float = 1.0  # times the budget's steps
    stop_at_return: float | None = None  # end with the first evaluation as good as this

    @property
    def steps(self) -> int:
        return round(self.budget.steps * self.length)


@dataclass
class Trial:
    """One training run about to happen: consume `stream`, then use what is left behind.

    `agent` is the whole state of the learner, where that can be saved in the middle.
    """

    policy: Policy | None
    steps: int
    stream: Iterator[tuple[int, Metrics]] = field(default_factory=lambda: iter(()))
    agent: Any = None
    best: Policy | None = None  # as it was at its best evaluation so far
    best_return: float = -np.inf
    evaluated: int = 0  # evaluations so far
    stages: dict[str, Policy] = field(default_factory=dict)  # what it was on the way
    ended: bool = False  # by its last step, or because it was good enough
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


Diagnose = Callable[[Sequence[Episode]], Metrics]


def nothing_more(episodes: Sequence[Episode]) -> Metrics:
    return {}


def new_trial(
    policy: Policy,
    agent: Any,
    stream: Iterator[tuple[int, Any]],
    world: World,
    settings: Settings,
    diagnose: Diagnose = nothing_more,
    steps: int | None = None,
) -> Trial:
    """A learner's stream with evaluations; `steps` where it is not the settings'
    own."""
    trial = Trial(policy, steps or settings.steps, agent=agent)
    trial.best = copy.deepcopy(policy)
    trial.stream = with_evaluations(trial, stream, world, settings, diagnose)
    return trial


def with_evaluations(
    trial: Trial,
    stream: Iterator[tuple[int, Any]],
    world: World,
    settings: Settings,
    diagnose: Diagnose,
) -> Iterator[tuple[int, Metrics]]:
    """A learner's stream, with evaluations at equal distances and a longer one at the
    end.

    Every training seed meets the same starts. Those along the way, which choose the
    best policy and may end the training, are others than those of the end, which are
    reported. `diagnose` adds what else is worth knowing about the episodes along the
    way. A stream of large strides is evaluated at the first step past each distance.

    What a learner measures of an update before it changes anything, `first_…`, is also
    told of the very first one: at an evaluation it may be too late to see a fault.
    """
    assert trial.policy is not None
    assert trial.best is not None
    budget, policy = settings.budget, trial.policy
    begun = trial.evaluated > 0
    with world.stage() as stage:
        for step, diagnostics in stream:
            metrics: Metrics = {}
            if not begun:
                metrics = {
                    name: float(value)
                    for name, value in diagnostics.items()
                    if name.startswith("first_")
                }
                begun = True
            reached = step * budget.evaluations // trial.steps
            if reached > trial.evaluated:
                trial.evaluated = reached
                metrics = {name: float(value) for name, value in diagnostics.items()}
                starts = reset_seeds("select", 0, budget.curve_episodes)
                episodes = stage.play(policy.act, starts)
                metrics |= world.scores(episodes) | diagnose(episodes)
                if metrics["return"] > trial.best_return:
                    trial.best_return = metrics["return"]
                    trial.best.load_state_dict(policy.state_dict())
            enough = settings.stop_at_return
            good = enough is not None and metrics.get("return", -np.inf) >= enough
            if step >= trial.steps or good:
                starts = reset_seeds("evaluate", 0, budget.final_episodes)
                players: dict[str, BatchPolicy] = {
                    "final": policy.act,
                    "final_best": trial.best.act,
                }
                if world.sampled:
                    rng = np.random.default_rng(0)
                    players["final_sampled"] = partial(policy.sample, rng=rng)
                for prefix, act in players.items():
                    scores = world.scores(stage.play(act, starts))
                    metrics |= {f"{prefix}_{name}": x for name, x in scores.items()}
                trial.ended = True
                yield step, metrics
                return
            yield step, metrics


@dataclass(frozen=True)
class Bar:
    """A threshold on a statistic over training seeds: what the ledger row must reach.

    `against` is a number, or a variant whose same statistic is the threshold: its name,
    or the address `id/variant` where it belongs to another experiment.
    """

    sentence: str
    variant: str
    statistic: Literal["iqm", "worst", "best"]
    sense: Literal[">=", "<="]
    against: float | str
    metric: str = "final_return"
    times: float = 1.0  # the threshold is so many times what it is compared with


@dataclass(frozen=True)
class Variant:
    """One override of an experiment's settings, with the name that figures show."""

    label: str
    override: Override = field(default_factory=dict)
    seeds: int | None = None  # where it needs another number than the experiment's
    first_seed: int = 0
    replayed: bool = False  # a chapter plays every seed's policy, so all are kept
    stages: tuple[int, ...] = ()  # evaluations after which its policy is kept, too
    planned: bool = False  # can be run, and is not on record yet


FRESH = "fresh-seeds"


def fresh_seeds(count: int = 5, planned: bool = False) -> dict[str, Variant]:
    """The first variant again, on seeds that no setting was chosen on."""
    again = Variant("on fresh seeds", seeds=count, first_seed=100, planned=planned)
    return {FRESH: again}


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Experiment(Generic[S]):
    """A ledger row that can be run, or an experiment that another one rests on.

    The settings of a run are `settings`, then the budget's, then the variant's
    override. The first variant is the one the ledger reports.
    """

    id: str
    world: Callable[[S], World]
    settings: S
    budgets: Mapping[str, Budget]
    variants: Mapping[str, Variant]
    bars: tuple[Bar, ...]
    start: Callable[[S, int], Trial]
    scripted: Callable[[S, Sequence[int]], list[Episode]] | None = (
        None  # nothing learns
    )
    seeds: int = 10
    cores: int = 1  # what one run keeps busy
    planned: bool = False  # all of its variants are
    large_policies: bool = False  # eyes, of megabytes: `kept_policies`

    def __post_init__(self) -> None:
        for variant in self.variants.values():
            changed(self.settings, variant.override)
        named = {bar.variant for bar in self.bars} | {
            bar.against
            for bar in self.bars
            if isinstance(bar.against, str) and "/" not in bar.against
        }
        if missing := named - set(self.variants):
            raise ValueError(
                f"{self.id}: a bar names unknown variants {sorted(missing)}"
            )

    def settings_for(
        self, variant: str, budget: str, more: Override | None = None
    ) -> S:
        if budget not in self.budgets:
            raise unknown("budget", budget, self.budgets)
        if variant not in self.variants:
            raise unknown(f"variant of {self.id}", variant, self.variants)
        settings = replace(self.settings, budget=self.budgets[budget])
        return changed(changed(settings, self.variants[variant].override), more or {})

    def trial(self, settings: S, seed: int) -> Trial:
        """The run of `seed`, about to happen."""
        torch.manual_seed(seed)
        return self.start(settings, seed)

    def seeds_for(self, variant: str) -> int:
        return self.variants[variant].seeds or self.seeds

    def training_seeds(self, variant: str, count: int | None = None) -> range:
        first = self.variants[variant].first_seed
        return range(first, first + (count or self.seeds_for(variant)))

    @property
    def on_record(self) -> list[str]:
        """The variants that have been run; others are planned."""
        if self.planned:
            return []
        return [name for name, one in self.variants.items() if not one.planned]

    @property
    def main_variant(self) -> str:
        return next(iter(self.variants))

    @property
    def all_bars(self) -> tuple[Bar, ...]:
        """The bars, and those of the first variant once more for its fresh seeds."""
        again = [
            replace(bar, variant=FRESH, sentence=f"{bar.sentence}, on fresh seeds too")
            for bar in self.bars
            if bar.variant == self.main_variant and FRESH in self.on_record
        ]
        return (*self.bars, *again)

    @property
    def metric(self) -> str:
        """What the ledger reports, and what the median seed is the median of."""
        return self.bars[0].metric if self.bars else "final_return"


def keeps_all_policies(experiment: Experiment[Any], variant: str) -> bool:
    """Of other variants, only the median seed's policy stays with the record; where
    policies are large, of all."""
    if experiment.large_policies:
        return False
    return variant == experiment.main_variant or experiment.variants[variant].replayed


def stage_name(evaluations: int) -> str:
    return f"stage-{evaluations}"


def keep_stages(variant: Variant, trial: Trial) -> None:
    """A copy of the policy, if the trial has come to the next of its stages."""
    for evaluations in variant.stages:
        name = stage_name(evaluations)
        if trial.evaluated >= evaluations and name not in trial.stages:
            assert trial.policy is not None
            trial.stages[name] = copy.deepcopy(trial.policy)


def kept_policies(
    experiment: Experiment[Any], variant: str, trial: Trial
) -> dict[str, Policy]:
    """What a run leaves behind, each under its name: its last policy, its best, and
    those of its stages. If they are large, not the best, and the last only of the first
    variant and those that a chapter plays."""
    found = {"last": trial.policy, "best": trial.best}
    if experiment.large_policies:
        played = experiment.variants[variant].replayed
        found = {}
        if played or variant == experiment.main_variant:
            found = {"last": trial.policy}
    found |= trial.stages
    return {name: policy for name, policy in found.items() if policy is not None}
