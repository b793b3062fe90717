"""Claims: a sentence, a measured value, a bar, a verdict. A chapter ends with its claims; a failed
claim raises and so fails the notebook, the tests and the build.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rlnotes.evidence import records, stats, tables
from rlnotes.experiments.base import Bar, Experiment


@dataclass(frozen=True)
class Claim:
    """A `live` value was measured in this very notebook run; a recorded one is compared to the digit."""

    sentence: str
    value: float
    sense: Literal[">=", "<="]
    bar: float
    seeds: int
    live: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bar if self.sense == ">=" else self.value <= self.bar

    def cells(self) -> tuple[str, ...]:
        value = tables.live(self.value) if self.live else tables.number(self.value)
        bar = f"{'≥' if self.sense == '>=' else '≤'} {tables.number(self.bar)}"
        return self.sentence, value, bar, str(self.seeds), "holds" if self.holds else "FAILS"


class ClaimFailed(AssertionError):
    pass


def from_bar(experiment: Experiment, bar: Bar) -> Claim:
    """The claim that a ledger bar makes, measured from the `full` records."""
    values = records.finals(experiment.id, bar.variant, bar.metric)
    against = bar.against
    if isinstance(against, str):
        others = records.finals(experiment.id, against, bar.metric)
        against = getattr(stats.summary(others), bar.statistic)
    measured = getattr(stats.summary(values), bar.statistic)
    return Claim(bar.sentence, measured, bar.sense, bar.times * float(against), len(values))


def from_experiment(experiment: Experiment) -> list[Claim]:
    return [from_bar(experiment, bar) for bar in experiment.bars]


def check(claims: Sequence[Claim], enforce: bool = True) -> tables.Table:
    """The claims as a table; raises if any fails, unless the budget is too small to `enforce` them."""
    table = tables.Table(("claim", "measured", "bar", "seeds", "verdict"), [claim.cells() for claim in claims])
    failed = [claim.sentence for claim in claims if not claim.holds]
    if failed and enforce:
        raise ClaimFailed(f"{'; '.join(failed)}\n{table!r}")
    return table
