"""Statistics that are kept while rows come in are those of all rows at once; eyes for
pictures of two sizes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from rlnotes.algos.networks import (
    LOW_EYE,
    NATURE_EYE,
    SMALL_EYE,
    Eye,
    RunningMeanStd,
    network,
)

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


@pytest.mark.parametrize(
    ("eye", "size", "flat", "weights"),
    [
        (SMALL_EYE, 84, 2_592, 677_686),
        (NATURE_EYE, 84, 3_136, 1_687_206),  # of Mnih et al. (2015), with six actions
        (LOW_EYE, 42, 800, 113_846),
    ],
)
def test_the_eyes_have_the_sizes_that_they_are_known_by(
    eye: Eye, size: int, flat: int, weights: int
) -> None:
    net = network((4, size, size), (), 6, eye)
    assert net(torch.zeros(2, 4, size, size)).shape == (2, 6)
    widths = [part.in_features for part in net if isinstance(part, nn.Linear)]
    assert widths == [flat, eye.units]
    assert sum(part.numel() for part in net.parameters()) == weights


def test_an_eye_begins_orthogonal_and_hands_on_more_than_with_torchs_weights() -> None:
    torch.manual_seed(0)
    lively = network((4, 84, 84), (), 1, SMALL_EYE)
    dull = network((4, 84, 84), (), 1, replace(SMALL_EYE, orthogonal=False))
    first = lively[0]
    assert isinstance(first, nn.Conv2d)
    rows = first.weight.detach().flatten(1)
    torch.testing.assert_close(rows @ rows.T, 2 * torch.eye(len(rows)))
    pictures = torch.rand(8, 4, 84, 84)
    seen, hardly = (net[:-1](pictures).std(0).mean().item() for net in (lively, dull))
    assert seen > 5 * hardly
