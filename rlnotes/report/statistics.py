"""Statistics over training seeds, never over the episodes of one policy as if they were
seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Summary:
    """The interquartile mean over seeds, its bootstrap interval, and the extremes."""

    iqm: float
    low: float
    high: float
    worst: float
    best: float
    seeds: int


def iqm(values: Sequence[float]) -> float:
    """Mean of the middle half: as robust as the median, less jumpy with few seeds."""
    return float(stats.trim_mean(values, 0.25))


def summary(values: Sequence[float]) -> Summary:
    low, high = interval(values)
    return Summary(iqm(values), low, high, min(values), max(values), len(values))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95% percentile-bootstrap interval of the IQM; one seed has none, and gives itself
    twice. A seed without a value (NaN) could be anywhere, and so could the ends."""
    if np.isnan(values).any():
        return math.nan, math.nan
    if len(values) < 2 or min(values) == max(values):
        return float(values[0]), float(values[0])
    result = stats.bootstrap(
        (np.asarray(values),),
        lambda sample, axis: stats.trim_mean(sample, 0.25, axis=axis),
        method="percentile",
        rng=np.random.default_rng(0),
    )
    ends = result.confidence_interval
    return float(ends.low), float(ends.high)
