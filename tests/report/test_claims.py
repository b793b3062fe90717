"""Claims hold or raise, and mark values that vary, which the sanitiser masks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlnotes.report import statistics
from rlnotes.report.claims import Claim, ClaimFailed, Sense, check


def test_a_failed_claim_raises_with_its_sentence() -> None:
    good = Claim("all is well", 2.0, ">=", 1.0, 10)
    with pytest.raises(ClaimFailed, match="water is dry"):
        check(good, Claim("water is dry", 0.0, ">=", 1.0, 10))


@pytest.mark.parametrize(
    ("value", "sense", "holds"),
    [
        (1.0, ">=", True),
        (0.9, ">=", False),
        (1.0, "<=", True),
        (1.1, "<=", False),
        (math.nan, ">=", False),
        (math.nan, "<=", False),
    ],
)
def test_a_bar_has_a_direction(value: float, sense: Sense, holds: bool) -> None:
    assert Claim("", value, sense, 1.0, 1).holds is holds


def test_only_varying_values_are_marked_for_masking() -> None:
    claim = Claim("", -153.24, ">=", -165.0, 10)
    assert claim.cells()[1] == "−153.2"
    claim = Claim("", -153.24, ">=", -165.0, 1, varies=True)
    assert claim.cells()[1] == "⟨−153.2⟩"


def test_a_budget_too_small_to_learn_shows_the_claim_without_raising() -> None:
    assert "FAILS" in repr(check(Claim("it learns", 0.0, ">=", 1.0, 1), enforce=False))


def test_a_bar_declared_missed_is_shown_and_fails_once_it_is_met() -> None:
    shown = check(Claim("REINFORCE arrives", 5.0, ">=", 90.0, 5, missed=True))
    assert "missed" in repr(shown)
    with pytest.raises(ClaimFailed, match="MET"):
        check(Claim("REINFORCE arrives", 95.0, ">=", 90.0, 5, missed=True))


def test_the_table_shows_every_part_of_a_claim() -> None:
    shown = check(Claim("a < b", 2.0, ">=", 1.0, 7))._repr_html_()
    for part in ("a &lt; b", "2.0", "≥ 1.0", "7", "holds"):
        assert f"<td>{part}</td>" in shown


# --- Statistics against values computed by hand

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
