"""Runs trained in the notebook itself: a look, not a result.

Their numbers differ between CPUs and are marked so.
"""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from rlnotes.experiments import registry
from rlnotes.report import addresses, figures, tables
from rlnotes.report.claims import Claim, Sense
from rlnotes.report.results import unit_of_steps
from rlnotes.report.tables import Table
from rlnotes.runs.run import Live


def live_curves(
    lives: Mapping[str, Live],
    metric: str = "return",
    ax: Axes | None = None,
    xlabel: str | None = None,
    title: str = "one seed, trained just now",
) -> Axes:
    """One line per label."""
    ax = ax or figures.axes(width=6.0, height=3.0)
    for (label, live), colour in zip(lives.items(), figures.PALETTE, strict=False):
        points = zip(*live.record.curve(metric), strict=True)
        ax.plot(*points, label=label, color=colour, marker="o")
    first = next(iter(lives.values())).record.run.id
    figures.count_steps(ax, xlabel or unit_of_steps(registry.find(first)))
    ax.set(ylabel=tables.words_for(metric).axis, title=title)
    figures.legend(ax)
    return ax


def live_table(
    lives: Mapping[str, Live],
    columns: Mapping[str, str],
    heading: str = "live, one seed",
) -> Table:
    """One row per label. A column is `metric[/along][:format]`, `steps` or a setting,
    `settings.agent.alpha`; these two are no measurements and are not marked."""
    return Table(
        (heading, *columns),
        [
            (label, *(_cell(live, column) for column in columns.values()))
            for label, live in lives.items()
        ],
    )


def _cell(live: Live, column: str) -> str:
    words, form = addresses.formatted(column)
    measure = addresses.measure(words, _metric(live))
    value: Any = addresses.value(live.record, measure.metric, measure.along)
    setting = measure.metric.startswith(addresses.SETTINGS)
    given = setting or measure.metric == addresses.STEPS
    return tables.text(value, form) if given else tables.varies(value, form)


def live_claim(
    sentence: str, live: Live, sense: Sense, bar: float, metric: str | None = None
) -> Claim:
    """About the last value of `metric`, by default what the ledger reports."""
    value = addresses.value(live.record, metric or _metric(live))
    return Claim(sentence, value, sense, bar, seeds=1, varies=True)


def _metric(live: Live) -> str:
    return registry.find(live.record.run.id).metric
