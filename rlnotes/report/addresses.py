"""Addresses of recorded numbers, the same in prose, tables and claims.

`<id>/<variant>[/<metric>][/<along>][/<over>]`, for example

    gail/cartpole/ten                        what the ledger reports, IQM over seeds
    gail/cartpole/one/worst                  of the worst seed
    gail/racecar-ppo/ppo/metres              of another metric
    gail/offline/longer/return/late          the lowest of a seed's last evaluations
    gail/cartpole/ten/settings.budget.steps  a setting; the same for all seeds

`along` picks one value from a seed's curve, by default the last, and `over` is a
statistic of these over seeds, by default the IQM; where less is better, the worst seed
is the `max`. Where `along` is given and no metric, the metric is the ledger's, measured
along the way. Where a value is missing (NaN), so is every statistic of it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from rlnotes.errors import UserError, unknown
from rlnotes.experiments import registry
from rlnotes.report import statistics
from rlnotes.runs.store import Record

ALONG: dict[str, Callable[[Sequence[float]], float]] = {
    "final": lambda values: values[-1],
    "first": lambda values: values[0],
    "peak": np.max,
    "late": lambda values: np.min(values[-len(values) // 4 :]),  # of the last quarter
}
OVER: dict[str, Callable[[Sequence[float]], float]] = {
    "iqm": statistics.iqm,
    "low": lambda values: statistics.interval(values)[0],
    "high": lambda values: statistics.interval(values)[1],
    "worst": np.min,
    "best": np.max,
    "median": np.median,
    "min": np.min,
    "max": np.max,
}
SETTINGS = "settings."
STEPS, SEEDS = "steps", "seeds"  # how long a seed trained, and how many there are


@dataclass(frozen=True)
class Measure:
    """What to take from the records of a variant."""

    metric: str
    along: str = "final"
    over: str = "iqm"

    def values(self, records: Sequence[Record]) -> list[Any]:
        """One per seed."""
        return [value(record, self.metric, self.along) for record in records]

    def known(self, records: Sequence[Record]) -> list[Record]:
        """Those of the seeds that have a value."""
        found = zip(records, self.values(records), strict=True)
        return [
            record
            for record, one in found
            if not (isinstance(one, float) and math.isnan(one))
        ]

    def of(self, records: Sequence[Record]) -> Any:
        """NaN if a seed has no value."""
        if self.over == SEEDS:
            return len(records)
        if self.metric.startswith(SETTINGS):
            return value(records[0], self.metric)
        return float(OVER[self.over](self.values(records)))


def value(record: Record, metric: str, along: str = "final") -> Any:
    """Of one seed: a number from a curve, or a setting."""
    if metric.startswith(SETTINGS):
        return _setting(record, metric)
    if metric == STEPS:
        return record.rows[-1][0]
    return ALONG[along]([one for _, one in record.curve(metric)])


def _setting(record: Record, name: str) -> Any:
    path = name.removeprefix(SETTINGS).split(".")
    try:
        return reduce(lambda inner, key: inner[key], path, record.settings)
    except (KeyError, TypeError) as problem:
        raise UserError(f"{record.run}: no setting {'.'.join(path)}") from problem


def measure(words: str, metric: str) -> Measure:
    """`[metric][/along][/over]`; `metric` is what the ledger reports."""
    parts = [part for part in words.split("/") if part]
    over = parts.pop() if parts and parts[-1] in {*OVER, SEEDS} else "iqm"
    along = parts.pop() if parts and parts[-1] in ALONG else "final"
    if not parts:
        parts = [metric if along == "final" else metric.removeprefix("final_")]
    if len(parts) > 1:
        raise UserError(
            f"'{words}' is not [metric][/along][/over], along being one of"
            f" {', '.join(ALONG)} and over one of {', '.join([*OVER, SEEDS])}"
        )
    return Measure(parts[0], along, over)


def experiment_of(address: str) -> str | None:
    """The id with which `address` begins, if it does."""
    return next(
        (id for id in registry.EXPERIMENTS if address.startswith(f"{id}/")), None
    )


def split(address: str, home: str) -> tuple[str, str, str]:
    """Id, variant and the rest; an address without an id is at `home`."""
    id = experiment_of(address)
    within = address.removeprefix(f"{id}/") if id else address
    variant, _, rest = within.partition("/")
    id = id or home
    known = registry.find(id).variants
    if variant not in known:
        raise unknown(f"variant of {id}", variant, known)
    return id, variant, rest


def formatted(words: str) -> tuple[str, str | None]:
    """`address:format` in its two parts."""
    address, _, form = words.partition(":")
    return address, form or None
