"""Figures drawn from run records, so that the book rebuilds without training.

Every figure shows the interquartile mean over training seeds with its 95% bootstrap interval, and
where there is room the single seeds as dots.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from rlnotes.envs import racecar
from rlnotes.evidence import stats
from rlnotes.evidence.records import Record

# Okabe and Ito's palette: distinct also for colour-blind readers.
COLOURS = {
    "TD3+BC": "#0072B2",
    "TD3": "#D55E00",
    "BC": "#009E73",
    "SAC+BC": "#56B4E9",
    "SAC": "#CC79A7",
}
GREY = "#666666"


def axes(columns: int = 1, width: float = 8.0, height: float = 3.4, **options: Any) -> Any:
    """A figure in the book's style with one row of axes."""
    _, made = plt.subplots(1, columns, figsize=(width, height), layout="constrained", **options)
    for one in np.atleast_1d(made):
        one.spines[["top", "right"]].set_visible(False)
        one.grid(alpha=0.25)
        one.set_axisbelow(True)
    return made


def curve(ax: Axes, records: Sequence[Record], metric: str, label: str, colour: str | None = None, **line: Any) -> None:
    """A learning curve: IQM over seeds at each step, the interval as a band."""
    steps = [step for step, _ in records[0].curve(metric)]
    values = np.array([[value for _, value in record.curve(metric)] for record in records])
    colour = colour or COLOURS.get(label, GREY)
    intervals = np.array([stats.interval(column) for column in values.T])
    ax.plot(steps, [stats.iqm(column) for column in values.T], label=label, color=colour, **line)
    ax.fill_between(steps, intervals[:, 0], intervals[:, 1], color=colour, alpha=0.18, linewidth=0)


def interval_rows(ax: Axes, rows: dict[str, list[float]], colours: Mapping[str, str] | None = None) -> None:
    """One line per entry, top to bottom: the seeds as dots, the IQM as a bar, its interval as a line."""
    for height, (label, values) in enumerate(reversed(rows.items())):
        colour = (colours or COLOURS).get(label, GREY)
        summary = stats.summary(values)
        spread = np.linspace(-0.13, 0.13, len(values)) if len(values) > 1 else [0.0]
        ax.plot(values, height + np.asarray(spread), "o", color=colour, alpha=0.35, markersize=4, markeredgewidth=0)
        ax.plot([summary.low, summary.high], [height, height], color=colour, linewidth=2.5)
        ax.plot(summary.iqm, height, "|", color=colour, markersize=16, markeredgewidth=3)
    ax.set_yticks(range(len(rows)), list(reversed(rows)))
    ax.set_ylim(-0.6, len(rows) - 0.4)


def grouped_intervals(ax: Axes, groups: Mapping[str, Mapping[str, list[float]]], offset: float = 0.22) -> None:
    """Groups along the x axis, the same series in each: IQM, interval and single seeds."""
    seen: set[str] = set()
    for place, series in enumerate(groups.values()):
        for number, (label, values) in enumerate(series.items()):
            x = place + (number - (len(series) - 1) / 2) * offset
            colour = COLOURS.get(label, GREY)
            summary = stats.summary(values)
            ax.plot([x] * len(values), values, "o", color=colour, alpha=0.35, markersize=4, markeredgewidth=0)
            ax.plot([x, x], [summary.low, summary.high], color=colour, linewidth=2.5)
            name = None if label in seen else label
            ax.plot(x, summary.iqm, "_", color=colour, markersize=16, markeredgewidth=3, label=name)
            seen.add(label)
    ax.set_xticks(range(len(groups)), list(groups))
    ax.set_xlim(-0.6, len(groups) - 0.4)
    ax.grid(visible=False, axis="x")


def track(ax: Axes) -> None:
    """The race car's track from above: walls, start and finish."""
    for (x0, y0), (x1, y1) in racecar.WALLS:
        ax.plot((x0, x1), (y0, y1), color="#8c8c96", linewidth=4, solid_capstyle="projecting", zorder=1)
    ax.plot(*racecar.START, "^", color="black", markersize=7, zorder=4)
    ax.add_patch(Circle(racecar.FINISH, 1.0, color="#009E73", alpha=0.15, linewidth=0))
    ax.annotate("start", racecar.START, (0.75, 0.35), fontsize="small")
    ax.annotate("finish", racecar.FINISH, ha="center", va="center", fontsize="small")
    ax.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    ax.grid(visible=False)
