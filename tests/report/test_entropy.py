"""Entropies by integration, against closed forms and against the learner's own."""

import math

import matplotlib as mpl
import numpy as np
import pytest
import torch

from rlnotes.algos import ppo
from rlnotes.report import entropy

mpl.use("agg")


@pytest.mark.parametrize(("std", "mean"), [(0.3, 0.0), (0.8, 0.5), (1.2, -1.0)])
def test_after_the_tanh_it_is_that_of_the_density(std: float, mean: float) -> None:
    action = np.tanh(np.linspace(mean - 8 * std, mean + 8 * std, 20_001))
    action = action[np.abs(action) < 1 - 1e-9]
    dense = entropy.density(action, std, mean)
    assert np.trapezoid(dense, action) == pytest.approx(1, abs=1e-3)
    lost = np.where(dense > 0, dense * np.log(np.maximum(dense, 1e-300)), 0)
    found = -np.trapezoid(lost, action)
    assert entropy.squashed_entropy(std, mean) == pytest.approx(found, abs=5e-3)


@pytest.mark.parametrize("std", [0.1, 0.9, 3.0])
def test_it_is_what_the_learner_logs(std: float) -> None:
    logged = ppo.squashed_entropy(torch.zeros(1, 1), torch.full((1, 1), math.log(std)))
    assert entropy.squashed_entropy(std) == pytest.approx(logged.item(), abs=0.02)


def test_one_grows_without_end_and_the_other_does_not() -> None:
    freest = entropy.freest_std()
    most = entropy.squashed_entropy(freest)
    assert most < entropy.LARGEST
    assert most > max(entropy.squashed_entropy(x * freest) for x in (0.8, 1.25))
    assert entropy.squashed_entropy(7.39) < 0 < entropy.gaussian_entropy(7.39)
    small = entropy.squashed_entropy(0.01)
    assert small == pytest.approx(entropy.gaussian_entropy(0.01), abs=1e-3)
    assert small < 0
