"""The mean without its tanh: what it plays, and that its actions give it away."""

import numpy as np
import pytest
import torch

from rlnotes.algos.policy import Policy
from rlnotes.autopsies import raw_mean

LOW, HIGH = np.array([-1.0, 0.0]), np.array([1.0, 1.0])


def policy() -> Policy:
    torch.manual_seed(0)
    return Policy((3,), LOW, HIGH, (16,), "gaussian", obs_mean=np.ones(3))


def test_the_fault_leaves_out_the_tanh_and_nothing_else() -> None:
    obs = np.random.default_rng(0).normal(size=(50, 3))
    healthy, faulty = policy().act(obs), raw_mean.raw_mean_policy(policy())(obs)
    center, scale = (HIGH + LOW) / 2, (HIGH - LOW) / 2
    squashed = np.tanh((faulty - center) / scale) * scale + center
    assert healthy == pytest.approx(squashed, abs=1e-6)


def test_it_fires_on_the_fault_and_not_on_the_policy() -> None:
    obs = 20 * np.random.default_rng(0).normal(size=(50, 3))
    assert raw_mean.fires(raw_mean.raw_mean_policy(policy())(obs), LOW, HIGH)
    assert not raw_mean.fires(policy().act(obs), LOW, HIGH)
