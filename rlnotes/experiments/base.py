"""What an experiment is: a world, settings, variants that each override one thing, budgets, bars, a trial."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import BatchPolicy, Episode, rollout
from rlnotes.errors import unknown
from rlnotes.seeding import reset_seeds

BUDGETS = ("smoke", "ci", "full")

Settings = dict[str, Any]
Metrics = dict[str, float]


@dataclass(frozen=True)
class World:
    """The unmodified environment in which policies are judged, and what counts as doing well in it."""

    env_id: str
    options: Mapping[str, Any] = field(default_factory=dict)
    success: Callable[[Episode], bool] | None = None
    reference: tuple[float, float] | None = None  # the returns whose normalised scores are 0 and 100

    def make(self, **more: Any) -> gym.Env:
        return gym.make(self.env_id, **{**self.options, **more})

    def play(self, policy: BatchPolicy, starts: Sequence[int], progress: str | None = None) -> list[Episode]:
        return rollout(self.make, policy, starts, progress=progress)

    def scores(self, episodes: Sequence[Episode]) -> Metrics:
        scores = {"return": float(np.mean([episode.total_reward for episode in episodes]))}
        if self.success is not None:
            scores["success_percent"] = 100 * float(np.mean([self.success(episode) for episode in episodes]))
        if self.reference is not None:
            worst, best = self.reference
            scores["normalised"] = 100 * (scores["return"] - worst) / (best - worst)
        return scores


@dataclass
class Trial:
    """One training run about to happen: consume `stream`, then use `policy` (None if nothing is trained)."""

    policy: Policy | None
    steps: int
    stream: Iterator[tuple[int, Metrics]]


def evaluated(
    policy: BatchPolicy,
    stream: Iterator[tuple[int, Any]],
    steps: int,
    world: World,
    settings: Settings,
    diagnose: Callable[[Sequence[Episode]], Metrics] = lambda episodes: {},
) -> Iterator[tuple[int, Metrics]]:
    """A learner's stream, with evaluations at equal distances and a longer one at the end.

    Every training seed meets the same evaluation starts. `diagnose` adds what else is worth knowing about
    the episodes played along the way. A stream of large strides is evaluated at the first step past each distance.
    Training ends before `steps` if an evaluation returns as much as `settings` call enough.
    """
    done = 0
    enough = settings.get("enough", np.inf)
    for step, diagnostics in stream:
        metrics: Metrics = {}
        if (reached := step * settings["evaluations"] // steps) > done:
            done = reached
            metrics = {name: float(value) for name, value in diagnostics.items()}
            episodes = world.play(policy, reset_seeds("evaluate", 0, settings["curve_episodes"]))
            metrics |= world.scores(episodes) | diagnose(episodes)
        over = step >= steps or metrics.get("return", -np.inf) >= enough
        if over:
            final = world.scores(world.play(policy, reset_seeds("evaluate", 0, settings["final_episodes"])))
            metrics |= {f"final_{name}": value for name, value in final.items()}
        yield step, metrics
        if over:
            return


@dataclass(frozen=True)
class Bar:
    """A threshold on a statistic over training seeds: what the ledger row must reach.

    `against` is a number, or the name of another variant whose same statistic is the threshold.
    """

    sentence: str
    variant: str
    statistic: Literal["iqm", "worst", "best"]
    sense: Literal[">=", "<="]
    against: float | str
    metric: str = "final_return"
    times: float = 1.0  # the threshold is so many times what it is compared with


@dataclass(frozen=True)
class Experiment:
    """One ledger row that can be run.

    The settings of a run are `settings`, then the budget's row, then the variant's override.
    The first variant is the one the ledger reports.
    """

    id: str
    world: Callable[[Settings], World]
    settings: Settings
    budgets: Mapping[str, Settings]
    variants: Mapping[str, Settings]
    bars: tuple[Bar, ...]
    start: Callable[[Settings, int], Trial]
    scripted: Callable[[Settings, Sequence[int]], list[Episode]] | None = None  # plays itself, nothing is trained
    seeds: int = 10
    seeds_of: Mapping[str, int] = field(default_factory=dict)  # where a variant needs another number

    def settings_for(self, variant: str, budget: str) -> Settings:
        if budget not in self.budgets:
            raise unknown("budget", budget, list(self.budgets))
        if variant not in self.variants:
            raise unknown(f"variant of {self.id}", variant, list(self.variants))
        known = self.settings | dict(self.budgets[budget])
        override = self.variants[variant]
        if stray := set(override) - set(known):
            raise ValueError(f"{self.id}, {variant}: overrides settings that do not exist: {sorted(stray)}")
        return known | override

    def seeds_for(self, variant: str) -> int:
        return self.seeds_of.get(variant, self.seeds)

    @property
    def main_variant(self) -> str:
        return next(iter(self.variants))
