"""Statistics against values computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlnotes.report import statistics

values = st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=12)


def test_iqm_is_the_mean_of_the_middle_half() -> None:
    assert statistics.iqm([0, 1, 2, 3, 4, 5, 6, 1000]) == (2 + 3 + 4 + 5) / 4


def test_one_outlier_does_not_move_the_iqm() -> None:
    assert statistics.iqm([1, 1, 1, 1, -1e9]) == 1


@given(values)
def test_the_interval_holds_between_the_extremes_and_repeats(
    sample: list[float],
) -> None:
    low, high = statistics.interval(sample)
    assert min(sample) - 1e-6 <= low <= high <= max(sample) + 1e-6
    assert (low, high) == statistics.interval(sample)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """With 10 seeds the percentile bootstrap is known to be a little narrow: 85% is the
    floor here."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(100):
        low, high = statistics.interval(rng.normal(5, 1, 10).tolist())
        covered += low <= 5 <= high
    assert covered >= 85


def test_one_seed_has_no_interval() -> None:
    assert statistics.interval([3.0]) == (3.0, 3.0)


def test_a_seed_without_a_value_leaves_no_interval() -> None:
    assert np.isnan(statistics.interval([1.0, 2.0, np.nan])).all()


def test_summary_reports_best_and_worst() -> None:
    summary = statistics.summary([1.0, 2.0, 3.0, 4.0])
    assert (summary.worst, summary.best, summary.seeds) == (1.0, 4.0, 4)
    assert summary.iqm == pytest.approx(2.5)
