"""Learning curves that are cut at the same place: after as many steps, or after as many
minutes of one core."""

from collections.abc import Mapping, Sequence

import numpy as np

from rlnotes.experiments.pixels import SPEED
from rlnotes.report import addresses, statistics, tables
from rlnotes.report.results import Choice, Results
from rlnotes.report.tables import Table
from rlnotes.runs.store import Record


def value_at(record: Record, step: float, metric: str = "return") -> float:
    """Of one seed, between two evaluations on the straight line; NaN beyond the last
    one."""
    steps, values = zip(*record.curve(metric), strict=True)
    return float(np.interp(step, steps, values, left=values[0], right=np.nan))


def at_steps(results: Results, variant: str, step: float) -> float:
    """The IQM over seeds after so many steps."""
    found = [value_at(record, step) for record in results.records(variant)]
    return float("nan") if np.isnan(found).any() else statistics.iqm(found)


def last_step(results: Results, variant: str) -> int:
    """Of the last evaluation that all seeds have."""
    return min(record.curve("return")[-1][0] for record in results.records(variant))


def speed(results: Results, variant: str) -> float:
    return float(results.number(f"{variant}/{SPEED}/median"))


def shared(results: Results, variants: Sequence[str]) -> tuple[int, float]:
    """The most steps, and the most seconds of one core, that all of them had."""
    steps = {variant: last_step(results, variant) for variant in variants}
    seconds = (steps[variant] / speed(results, variant) for variant in variants)
    return min(steps.values()), min(seconds)


def eyes(results: Results, variants: Sequence[str], labels: Choice = None) -> Table:
    """Returns after as many steps as all of them had, and after as many minutes."""
    steps, seconds = shared(results, variants)
    rows = [
        (
            results.label(variant, labels),
            tables.number(speed(results, variant), 0),
            tables.number(at_steps(results, variant, steps)),
            tables.number(
                at_steps(results, variant, seconds * speed(results, variant))
            ),
            str(len(results.records(variant))),
        )
        for variant in variants
    ]
    cut = f"after {tables.text(steps)} steps", f"after {seconds / 60:.0f} minutes"
    return Table(("", "steps a second", *cut, "seeds"), rows)


def beside(results: Results, ours: Mapping[str, str]) -> Table:
    """Variants of a library, each where it ended, and what ours had after as many
    steps: on the few starts of its evaluations along the way."""
    rows = []
    for theirs, own in ours.items():
        steps = last_step(results, theirs)
        rows.append(
            (
                addresses.experiment_of(theirs) or theirs,
                results.label(theirs),
                tables.text(steps),
                tables.number(at_steps(results, theirs, steps)),
                results.label(own),
                tables.number(at_steps(results, own, steps)),
            )
        )
    headings = ("row", "theirs", "steps", "return", "ours", "after as many steps")
    return Table(headings, rows)
