"""Claims: a sentence, a measured value, a bar, a verdict. A chapter ends with its claims; a failed
claim raises and so fails the notebook, the tests and the build.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from rlnotes.evidence import records, stats
from rlnotes.experiments.base import Bar, Experiment


@dataclass(frozen=True)
class Claim:
    """`live` values were measured in this very notebook run: they differ between CPUs, so they are
    printed between ⟨ ⟩, which nbval's sanitiser masks. Recorded values are compared to the digit."""

    sentence: str
    value: float
    sense: Literal[">=", "<="]
    bar: float
    seeds: int
    live: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bar if self.sense == ">=" else self.value <= self.bar

    @property
    def shown_value(self) -> str:
        return f"⟨{number(self.value)}⟩" if self.live else number(self.value)

    @property
    def shown_bar(self) -> str:
        return f"{'≥' if self.sense == '>=' else '≤'} {number(self.bar)}"

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else "FAILS"


def number(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")


class ClaimFailed(AssertionError):
    pass


def from_bar(experiment: Experiment, bar: Bar) -> Claim:
    """The claim that a ledger bar makes, measured from the `full` records."""
    values = _finals(experiment, bar.variant, bar.metric)
    against = bar.against
    if isinstance(against, str):
        against = getattr(stats.summary(_finals(experiment, against, bar.metric)), bar.statistic)
    measured = getattr(stats.summary(values), bar.statistic)
    return Claim(bar.sentence, measured, bar.sense, float(against), len(values))


def from_experiment(experiment: Experiment) -> list[Claim]:
    return [from_bar(experiment, bar) for bar in experiment.bars]


def _finals(experiment: Experiment, variant: str, metric: str) -> list[float]:
    return [record.last(metric) for record in records.read_all(experiment.id, variant)]


class Table:
    """Shown as a table on the page and as text in a terminal."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self.claims = claims

    def _rows(self) -> list[tuple[str, ...]]:
        return [(c.sentence, c.shown_value, c.shown_bar, str(c.seeds), c.verdict) for c in self.claims]

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in HEADINGS)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def __repr__(self) -> str:
        return "\n".join(" | ".join(row) for row in [HEADINGS, *self._rows()])


HEADINGS = ("claim", "measured", "bar", "seeds", "verdict")


def check(claims: Sequence[Claim]) -> Table:
    """The claims as a table; raises if any fails."""
    table = Table(claims)
    if failed := [claim.sentence for claim in claims if not claim.holds]:
        raise ClaimFailed(f"{'; '.join(failed)}\n{table!r}")
    return table
