"""The notes' table of fourteen hyper-parameters, row by row with its runs
(`aggrevated/table`)."""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from rlnotes.experiments import aggrevated_table
from rlnotes.report import tables
from rlnotes.report.results import Results
from rlnotes.report.tables import Table

TAKEN = "table"  # the variant with all of its values

Verdict = Literal["better", "worse", "no difference seen"]


class Row(NamedTuple):
    """Of the notes' table: what they recommend, what ours takes, what else was run."""

    name: str
    recommended: str
    taken: str
    variants: tuple[str, ...]


ALL = (
    Row("N, iterations", "50 to 200", "100", ("fifty",)),
    Row("α₀, the expert's first share", "1", "1", ("unmixed",)),
    Row("α_n, its decay", "exponential, or 1/(n+1)", "exp.", ("linear", "harmonic")),
    Row("decay rate", "0.99 to 0.995", "0.99", ("slow-decay",)),
    Row("K, trajectories at once", "8 to 32", "20", ("eight",)),
    Row("H, steps of an episode", "the world's", "1,600", ("short-episodes",)),
    Row("γ", "0.99", "0.99", ("short-sighted",)),
    Row("learning rate", "3e-4, Adam", "3e-4", ("fast", "annealed")),
    Row("batch size", "64 to 256", "128", ("large-batches", "narrow-large-batches")),
    Row("clipped gradient norm", "0.5 to 1", "0.5", ("unclipped",)),
    Row("bounds of log σ", "−10, 1", "−10, 1", ("narrow-std",)),
    Row("entropy coefficient", "0 to 0.01", "0", ("entropy-1e-2", "entropy-1e-1")),
    Row(
        "normalised Q*",
        "min-max, or less a baseline",
        "A*, standardised",
        ("min-max", "narrow-min-max"),
    ),
    Row("replay buffer", "none", "none", ("aggregated",)),
)


def only(variants: Collection[str]) -> tuple[Row, ...]:
    """The rows that have one of these, with no others."""
    found = (
        row._replace(variants=tuple(one for one in row.variants if one in variants))
        for row in ALL
    )
    return tuple(row for row in found if row.variants)


ROWS = only(aggrevated_table.ROWS)  # from the table's own values
MENDED_ROWS = only(aggrevated_table.MENDED_ROWS)  # from those with which it walks


def verdict(tried: Sequence[float], taken: Sequence[float]) -> Verdict:
    """By the ranks of all seeds (Mann and Whitney's test, both sides): of twenty values
    that change nothing, one will be called better or worse."""
    ranked = mannwhitneyu(tried, taken, method="exact")
    if ranked.pvalue >= 0.05:
        return "no difference seen"
    return "better" if np.median(tried) > np.median(taken) else "worse"


# What a row comes to, and how the table says it.
ENDS = {
    "refuted": "refuted: another value is better",
    "matters": "used: it matters",
    "alike": "used: no difference seen",
}


def of_row(found: Sequence[Verdict]) -> str:
    """Is its value the one to take?"""
    if "better" in found:
        return "refuted"
    return "matters" if "worse" in found else "alike"


def verdicts(
    results: Results, rows: Sequence[Row] = ROWS, taken: str = TAKEN
) -> dict[str, list[Verdict]]:
    """Of all values that were tried, by row."""
    ours = results.values(taken)
    return {
        row.name: [verdict(results.values(one), ours) for one in row.variants]
        for row in rows
    }


def counts(
    results: Results, rows: Sequence[Row] = ROWS, taken: str = TAKEN
) -> dict[str, int]:
    """How many rows come to each of `ENDS`."""
    ends = [of_row(found) for found in verdicts(results, rows, taken).values()]
    return {end: ends.count(end) for end in ENDS}


def table(
    results: Results, walks: float, rows: Sequence[Row] = ROWS, taken: str = TAKEN
) -> Table:
    """First what the values of `taken` come to together, then one line for each other
    value; with how many seeds come to at least `walks`."""
    found = verdicts(results, rows, taken)
    lines: list[tuple[str, ...]] = []
    lines.append(("all of them", "", "", *_numbers(results, taken, walks), "", ""))
    for row in rows:
        first = (row.name, f"{row.recommended}; ours {row.taken}")
        last = ENDS[of_row(found[row.name])]
        for one, came in zip(row.variants, found[row.name], strict=True):
            label = results.experiment.variants[one].label
            lines.append((*first, label, *_numbers(results, one, walks), came, last))
            first, last = ("", ""), ""
    headings = ("hyper-parameter", "in the notes' table", "tried instead", "walk")
    return Table((*headings, "worst", "best", "which is", "so the row is"), lines)


def _numbers(results: Results, variant: str, walks: float) -> list[str]:
    values = results.values(variant)
    enough = sum(value >= walks for value in values)
    ends = [tables.number(end, 0) for end in (min(values), max(values))]
    return [f"{enough} of {len(values)}", *ends]
