"""A policy is never evaluated on a start it was trained on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlnotes.seeding import reset_seeds

seeds = st.integers(0, 2**40)


@given(seeds, seeds, st.integers(1, 200))
def test_training_and_evaluation_starts_never_meet(train: int, evaluate: int, count: int) -> None:
    assert not set(reset_seeds("train", train, count)) & set(reset_seeds("evaluate", evaluate, count))


@given(seeds)
def test_seeds_are_repeatable_and_valid_for_gymnasium(seed: int) -> None:
    drawn = reset_seeds("train", seed, 20)
    assert drawn == reset_seeds("train", seed, 20)
    assert all(0 <= one < 2**31 for one in drawn)


def test_other_seed_other_starts() -> None:
    assert reset_seeds("evaluate", 0, 5) != reset_seeds("evaluate", 1, 5)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        reset_seeds("train", -1, 1)
