"""Claims hold or raise, and show live values in the form that the sanitiser masks."""

import pytest

from rlnotes.evidence import tables
from rlnotes.evidence.claims import Claim, ClaimFailed, check


def test_a_failed_claim_raises_with_its_sentence() -> None:
    with pytest.raises(ClaimFailed, match="water is dry"):
        check([Claim("all is well", 2.0, ">=", 1.0, 10), Claim("water is dry", 0.0, ">=", 1.0, 10)])


@pytest.mark.parametrize(
    ("value", "sense", "holds"), [(1.0, ">=", True), (0.9, ">=", False), (1.0, "<=", True), (1.1, "<=", False)]
)
def test_a_bar_has_a_direction(value: float, sense: str, holds: bool) -> None:
    assert Claim("", value, sense, 1.0, 1).holds is holds  # type: ignore[arg-type]


def test_only_live_values_are_marked_for_masking() -> None:
    assert Claim("", -153.24, ">=", -165.0, 10).cells()[1] == "−153.2"
    assert Claim("", -153.24, ">=", -165.0, 1, live=True).cells()[1] == "⟨−153.2⟩"


def test_a_budget_too_small_to_learn_shows_the_claim_without_raising() -> None:
    assert "FAILS" in repr(check([Claim("it learns", 0.0, ">=", 1.0, 1)], enforce=False))


@pytest.mark.parametrize(("value", "shown"), [(-1234.56, "−1,234.6"), (-0.01, "0.0"), (0.0, "0.0"), (7, "7.0")])
def test_numbers_have_a_true_minus_and_no_negative_zero(value: float, shown: str) -> None:
    assert tables.number(value) == shown


def test_the_table_shows_every_part_of_a_claim() -> None:
    shown = check([Claim("a < b", 2.0, ">=", 1.0, 7)])._repr_html_()
    for part in ("a &lt; b", "2.0", "≥ 1.0", "7", "holds"):
        assert f"<td>{part}</td>" in shown
