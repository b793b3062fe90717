"""What figures are made of, in the book's style.

Every figure shows the interquartile mean over training seeds with its 95% interval, and
where there is room the single seeds as dots. Too few seeds have no interval (see
`statistics`): then the seeds are all there is beside the middle. In a notebook every
figure comes with words for those who cannot see it (see `describe`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rlnotes.report import describe, statistics

# Okabe and Ito's palette: distinct also for colour-blind readers.
BLUE, ORANGE, GREEN, SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
PINK, AMBER, BLACK, GREY = "#CC79A7", "#E69F00", "#000000", "#666666"
PALETTE = (BLUE, ORANGE, GREEN, SKY, PINK, AMBER, BLACK, GREY)

describe.show_with_words()

Style = dict[str, Any]
SEEDS: Style = {"marker": "o", "linestyle": "", "alpha": 0.35}
SEEDS |= {"markersize": 4, "markeredgewidth": 0}
MIDDLE: Style = {"linestyle": "", "markersize": 16, "markeredgewidth": 3}
THIN: Style = {"linewidth": 0.8, "alpha": 0.5, "marker": ""}
DOTTED: Style = {"color": "black", "linewidth": 1, "linestyle": ":"}


def axes(
    columns: int = 1, width: float = 8.0, height: float = 3.4, **options: Any
) -> Any:
    """A figure in the book's style with one row of axes."""
    size = (width, height)
    _, made = plt.subplots(1, columns, figsize=size, layout="constrained", **options)
    for one in np.atleast_1d(made):
        one.spines[["top", "right"]].set_visible(False)
        one.grid(alpha=0.25)
        one.set_axisbelow(True)
    return made


def count_steps(ax: Axes, label: str) -> None:
    """An x axis of steps, from the first one, written 0, 50k, 1.5M."""
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 4, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))
    ax.set_xlabel(label)
    ax.set_xlim(left=0)


def short(steps: float) -> str:
    """A number of steps in thousands or millions."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if steps >= size:
            return f"{steps / size:g}{letter}"
    return f"{steps:g}"


def curve(
    ax: Axes,
    seeds: Sequence[Sequence[tuple[float, float]]],
    label: str,
    colour: str,
    **line: Any,
) -> None:
    """A learning curve: the IQM over seeds at each step that all of them have, and the
    interval as a band, or a thin line for each seed where they are too few for one.

    Seeds with strides of their own, and no step in common, are compared evaluation by
    evaluation, each drawn at the mean of its steps."""
    steps = sorted(set.intersection(*({step for step, _ in seed} for seed in seeds)))
    values = np.array([[dict(seed)[step] for step in steps] for seed in seeds])
    if not steps:
        both = np.array(seeds)
        steps, values = list(both[..., 0].mean(0)), both[..., 1]
    middle = [statistics.iqm(column) for column in values.T]
    ax.plot(steps, middle, label=label, color=colour, **line)
    if len(seeds) < statistics.FEWEST:
        ax.plot(steps, values.T, color=colour, **{**line, **THIN})
    else:
        band = np.array([statistics.interval(column) for column in values.T])
        ax.fill_between(steps, *band.T, color=colour, alpha=0.18, linewidth=0)


def interval_rows(ax: Axes, rows: Sequence[tuple[str, Sequence[float], str]]) -> None:
    """One line per label, values and colour, top to bottom: the seeds as dots, the IQM
    as a bar, its interval as a line. What is NaN is not drawn."""
    for height, (_, values, colour) in enumerate(reversed(rows)):
        spread = np.linspace(-0.13, 0.13, len(values)) if len(values) > 1 else 0.0
        heights = height + np.broadcast_to(spread, len(values))
        ax.plot(values, heights, color=colour, **SEEDS)
        summary = statistics.summary(values)
        ends = [summary.low, summary.high]
        ax.plot(ends, [height, height], color=colour, linewidth=2.5)
        ax.plot(summary.iqm, height, color=colour, marker="|", **MIDDLE)
    ax.set_yticks(range(len(rows)), [label for label, _, _ in reversed(rows)])
    ax.set_ylim(-0.6, len(rows) - 0.4)


def grouped_intervals(
    ax: Axes,
    groups: Mapping[str, Mapping[str, Sequence[float]]],
    colours: Mapping[str, str],
    offset: float = 0.22,
) -> None:
    """Groups along the x axis, the same series in each: IQM, interval, single seeds."""
    for place, series in enumerate(groups.values()):
        for number, (label, values) in enumerate(series.items()):
            x = place + (number - (len(series) - 1) / 2) * offset
            colour, summary = colours[label], statistics.summary(values)
            ax.plot([x] * len(values), values, color=colour, **SEEDS)
            ax.plot([x, x], [summary.low, summary.high], color=colour, linewidth=2.5)
            name = None if place else label
            style = MIDDLE | {"marker": "_", "color": colour, "label": name}
            ax.plot(x, summary.iqm, **style)
    ax.set_xticks(range(len(groups)), list(groups))
    ax.set_xlim(-0.6, len(groups) - 0.4)
    ax.grid(visible=False, axis="x")


def legend(ax: Axes, place: str | None = "best") -> None:
    """Where `place` says, "outside" to the right, or none. One line needs no legend."""
    if place is None or len(ax.get_legend_handles_labels()[0]) < 2:
        return
    style: Style = {"fontsize": "small", "frameon": False, "loc": place}
    if place == "outside":
        style |= {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    ax.legend(**style)
