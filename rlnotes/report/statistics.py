"""Statistics over training seeds, never over the episodes of one policy as if they were
seeds.

A seed without a value (NaN), such as the time to a goal that was never reached, could
have had any: then nothing over seeds has a value either. So no bar is met by leaving
such a seed out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

FEWEST = 5  # seeds that have an interval; of four, even worst to best is one of 87%


@dataclass(frozen=True)
class Summary:
    """The middle of the seeds, an interval for it, and the extremes."""

    iqm: float
    low: float
    high: float
    worst: float
    best: float
    seeds: int


def summary(values: Sequence[float]) -> Summary:
    worst, best = float(np.min(values)), float(np.max(values))
    return Summary(iqm(values), *interval(values), worst, best, len(values))


def iqm(values: Sequence[float]) -> float:
    """Mean of the middle half: as robust as the median, less jumpy with few seeds.
    Fewer than four have no quarter to leave out: their middle is the median."""
    if np.isnan(values).any():
        return math.nan
    few = len(values) < 4
    return float(np.median(values) if few else stats.trim_mean(values, 0.25))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95% interval for the middle, NaN at both ends where there are too few seeds.

    Of five seeds it goes from worst to best, and all five lie on one side of the median
    once in 16 times. Of more it leaves some out at both ends, interpolated so that it
    misses the median once in 20 times (Hettmansperger and Sheather, 1986), whatever the
    distribution. Up to some twenty seeds that is true of the IQM, too, except where
    seeds either work or fail (the tests measure it). It stays within what the seeds
    have shown, and of equal ones it is a point.
    """
    if len(values) < FEWEST or np.isnan(values).any():
        return math.nan, math.nan
    if len(values) == FEWEST:
        return float(np.min(values)), float(np.max(values))
    low, high = stats.mstats.median_cihs(values)
    return float(low), float(high)
