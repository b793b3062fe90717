"""Statistics that are kept while rows come in are those of all rows at once."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rlnotes.algos.networks import RunningMeanStd

lengths = st.lists(st.integers(1, 50), min_size=1, max_size=6)


@settings(deadline=None)
@given(lengths, st.floats(-100, 100), st.floats(0.1, 100), st.integers(0, 1000))
def test_running_statistics_are_numpys(
    lengths: list[int], mean: float, std: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(mean, std, (length, 3)) for length in lengths]
    stats = RunningMeanStd((3,))
    for part in parts:
        stats.update(torch.as_tensor(part))
    seen = np.concatenate(parts)
    # What it begins with, at mean 0 and variance 1, weighs 1e-4 rows.
    prior = 1e-4 / len(seen)
    size = abs(mean) + std + 1
    assert stats.mean.numpy() == pytest.approx(seen.mean(0), abs=5 * prior * size)
    assert stats.var.numpy() == pytest.approx(seen.var(0), abs=20 * prior * size**2)
    assert stats.count.item() == pytest.approx(len(seen), abs=1e-3)


def test_they_are_part_of_a_state() -> None:
    stats, other = RunningMeanStd((2,)), RunningMeanStd((2,))
    stats.update(torch.randn(9, 2).double())
    other.load_state_dict(stats.state_dict())
    assert torch.equal(other.std, stats.std)
    assert torch.equal(other.count, stats.count)
