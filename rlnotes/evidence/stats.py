"""Statistics over training seeds. Never over the episodes of one policy as if they were seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Summary:
    """The interquartile mean over seeds with a 95% bootstrap interval, and the extremes."""

    iqm: float
    low: float
    high: float
    worst: float
    best: float
    seeds: int


def iqm(values: Sequence[float]) -> float:
    """Mean of the middle half: as robust as the median, but less jumpy with few seeds."""
    return float(stats.trim_mean(values, 0.25))


def summary(values: Sequence[float]) -> Summary:
    low, high = interval(values)
    return Summary(iqm(values), low, high, min(values), max(values), len(values))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95% percentile-bootstrap interval of the IQM; one seed has no interval and gives itself twice."""
    if len(values) < 2 or min(values) == max(values):
        return float(values[0]), float(values[0])
    result = stats.bootstrap(
        (np.asarray(values),),
        lambda sample, axis: stats.trim_mean(sample, 0.25, axis=axis),
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
