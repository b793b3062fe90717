"""Behaviour cloning recovers a policy that a network can represent."""

import numpy as np
import pytest
import torch

from rlnotes.algos import bc
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions


def test_loss_is_the_mean_squared_distance_to_the_data() -> None:
    policy = Policy(np.array([-1.0]), np.array([1.0]), np.zeros(1), np.ones(1), hidden=())
    for parameter in policy.parameters():
        parameter.data.zero_()
    column = torch.tensor([[0.5], [-1.0]])
    loss, _ = bc.imitation_loss(policy, Batch(column, column, torch.zeros(2), column, torch.zeros(2)))
    assert loss.item() == pytest.approx((0.25 + 1) / 2)


def test_the_error_is_measured_in_the_environments_units() -> None:
    """Torques of ±2: an error of 0.5 in [−1, 1] is 1 in the environment, and counts four times."""
    policy = Policy(np.array([-2.0]), np.array([2.0]), np.zeros(1), np.ones(1), hidden=())
    assert bc.imitation_error(policy, torch.tensor([[0.5]]), torch.tensor([[0.0]])).item() == pytest.approx(1.0)


def test_clones_a_linear_demonstrator_in_the_environments_own_units() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    data = Transitions(1_000, 1, 1)
    for state in rng.uniform(10, 20, 1_000):  # far from zero: needs the standardisation
        data.add(np.array([state]), np.array([state - 15]), 0.0, np.array([state]), False)
    observed = data.all().obs.numpy()
    policy = Policy(np.array([-8.0]), np.array([8.0]), observed.mean(0), observed.std(0), hidden=(32,))
    agent = bc.Agent(policy, bc.Config(learning_rate=1e-2))
    for _ in bc.train(agent, data, updates=400):
        pass
    states = np.linspace(10, 20, 11, dtype=np.float32)[:, None]
    assert np.abs(policy.act(states) - (states - 15)).max() < 0.3
