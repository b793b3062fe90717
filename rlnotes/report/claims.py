"""Claims: a sentence, a measured value, a bar, a verdict.

A chapter ends with its claims; one that fails raises, and so fails the notebook, the
tests and the build.
"""

from dataclasses import dataclass
from typing import Any, Literal

from rlnotes.experiments.base import Bar, Experiment
from rlnotes.report import statistics, tables
from rlnotes.runs import store

Sense = Literal[">=", "<="]
SIGNS: dict[str, str] = {">=": "≥", "<=": "≤"}


@dataclass(frozen=True)
class Claim:
    """A value that `varies` was measured in this very notebook run; a recorded one is
    compared to the digit. A bar that we `missed` is shown as missed, and fails if it is
    met: then the page has something to tell."""

    sentence: str
    value: float
    sense: Sense
    bar: float
    seeds: int
    varies: bool = False
    missed: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bar if self.sense == ">=" else self.value <= self.bar

    @property
    def fails(self) -> bool:
        return self.holds is self.missed

    @property
    def verdict(self) -> str:
        if self.missed:
            return "MET, not missed" if self.holds else "missed"
        return "holds" if self.holds else "FAILS"

    def cells(self) -> tuple[str, ...]:
        show = tables.varies if self.varies else tables.text
        bar = f"{SIGNS[self.sense]} {tables.number(self.bar)}"
        return (
            self.sentence,
            show(float(self.value)),
            bar,
            str(self.seeds),
            self.verdict,
        )


class ClaimFailed(AssertionError):
    pass


def from_bar(experiment: Experiment[Any], bar: Bar, missed: bool = False) -> Claim:
    """The claim that a ledger bar makes, measured from the `full` records."""
    values = store.finals(experiment.id, bar.variant, bar.metric)
    against = bar.against
    if isinstance(against, str):
        others = store.finals(*place(experiment.id, against), bar.metric)
        against = getattr(statistics.summary(others), bar.statistic)
    measured = getattr(statistics.summary(values), bar.statistic)
    threshold = bar.times * float(against)
    seeds = len(values)
    return Claim(bar.sentence, measured, bar.sense, threshold, seeds, missed=missed)


def place(home: str, address: str) -> tuple[str, str]:
    """Experiment and variant that a bar is `against`."""
    id, _, variant = address.rpartition("/")
    return id or home, variant


def check(*claims: Claim, enforce: bool = True) -> tables.Table:
    """The claims as a table; raises if any fails, unless the budget is too small to
    `enforce` them."""
    headings = ("claim", "measured", "bar", "seeds", "verdict")
    table = tables.Table(headings, [claim.cells() for claim in claims])
    failed = [claim.sentence for claim in claims if claim.fails]
    if failed and enforce:
        raise ClaimFailed(f"{'; '.join(failed)}\n{table!r}")
    return table
