"""The race of our GAIL against the `imitation` library's, one record per race.

Both sides train until they reach the goal or their limit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from rlnotes.report import figures
from rlnotes.runs.store import Record

SIDES = ("ours", "imitation")


@dataclass(frozen=True)
class Ratio:
    """How many times faster ours is; a bound where the other side did not arrive."""

    times: float
    bound: bool

    def __str__(self) -> str:
        return f"{'more than ' if self.bound else ''}{self.times:.0f}"


def times_faster(found: Sequence[Record]) -> Ratio | None:
    """The ratio of the median seconds to the goal.

    A side that has not arrived has no time, and certainly not that of its limit. If
    that is the library in half of the races or more, its median is later than what it
    spent, and the ratio is a bound. If it is ours, there is none.
    """
    ours, theirs = (_median(found, f"{side}_seconds_to_goal") for side in SIDES)
    if math.isinf(ours):
        return None
    if math.isfinite(theirs):
        return Ratio(theirs / ours, bound=False)
    spent = [record.last("imitation_seconds") for record in found]
    return Ratio(float(np.median(spent)) / ours, bound=True)


def _median(found: Sequence[Record], metric: str) -> float:
    """Infinite where half or more never came."""
    values = [record.last(metric) for record in found]
    ranked = sorted(math.inf if math.isnan(value) else value for value in values)
    middle = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
    return sum(middle) / 2


def race_curves(found: Sequence[Record]) -> list[Axes]:
    """Return against seconds of training and against steps, a line per race; dotted,
    the goal."""
    columns = figures.axes(2, width=9, height=3.2, sharey=True)
    for side, colour in zip(SIDES, figures.PALETTE, strict=False):
        for number, record in enumerate(found):
            steps, returns = zip(*record.curve(f"{side}_return"), strict=True)
            seconds = [value for _, value in record.curve(f"{side}_seconds")]
            label = None if number else side
            line = {"color": colour, "marker": "o", "markersize": 3, "label": label}
            for ax, x in zip(columns, (seconds, steps), strict=True):
                ax.plot(x, returns, **line)
    for ax in columns:
        ax.axhline(found[0].settings["goal"], **figures.DOTTED)
        ax.set_xscale("log")
    columns[0].set(xlabel="seconds of training", ylabel="return")
    columns[1].set_xlabel("steps in the world")
    figures.legend(columns[0])
    return columns
