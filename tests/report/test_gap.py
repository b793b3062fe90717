"""The tree, against what can be known of it."""

import numpy as np
import pytest

from rlnotes.report import gap


def test_alone_half_of_the_leaves_are_tried() -> None:
    alone, _ = gap.mean_episodes([3, 6], trials=2_000)
    assert alone == pytest.approx([4.5, 32.5], rel=0.05)


def test_told_half_of_the_forks_are_guessed_wrongly() -> None:
    """And each of these costs an episode, once."""
    _, told = gap.mean_episodes([1, 4, 12], trials=2_000)
    assert told == pytest.approx([1.5, 3.0, 7.0], rel=0.03)


def test_who_is_told_never_needs_more_episodes_than_forks_and_one() -> None:
    rng = np.random.default_rng(0)
    assert max(gap.episodes_told(5, rng) for _ in range(500)) <= 6
