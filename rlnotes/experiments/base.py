"""What an experiment is: settings, variants that each override one thing, budgets, bars, and a trial."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rlnotes.algos.policy import Policy
from rlnotes.errors import unknown

BUDGETS = ("smoke", "ci", "full")

Settings = dict[str, Any]
Metrics = dict[str, float]


@dataclass
class Trial:
    """One training run about to happen: consume `stream`, then use `policy`."""

    policy: Policy
    steps: int
    stream: Iterator[tuple[int, Metrics]]


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


@dataclass(frozen=True)
class Experiment:
    """One ledger row that can be run.

    The settings of a run are `settings`, then the budget's row, then the variant's override.
    The first variant is the one the ledger reports.
    """

    id: str
    env_id: str
    settings: Settings
    budgets: Mapping[str, Settings]
    variants: Mapping[str, Settings]
    bars: tuple[Bar, ...]
    start: Callable[[Settings, int], Trial]
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
