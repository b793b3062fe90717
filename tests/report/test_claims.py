"""Claims hold or raise, and mark values that vary, which the sanitiser masks."""

import math

import pytest

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
