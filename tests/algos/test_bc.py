"""Behaviour cloning recovers a policy that a network can represent."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import bc
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions


def policy_to(bound: float) -> Policy:
    return Policy((1,), [-bound], [bound], hidden=())


def test_loss_is_the_mean_squared_distance_to_the_data() -> None:
    policy = policy_to(1.0)
    for parameter in policy.parameters():
        parameter.data.zero_()
    column = torch.tensor([[0.5], [-1.0]])
    batch = Batch(column, column, torch.zeros(2), column, torch.zeros(2))
    loss, diagnostics = bc.loss(policy, batch)
    assert loss.item() == pytest.approx((0.25 + 1) / 2)
    assert diagnostics["bc_loss"] == loss


def test_the_error_is_measured_in_the_environments_units() -> None:
    """Torques of ±2: an error of 0.5 in [−1, 1] is 1 in the environment, and counts
    four times."""
    half, zero = torch.tensor([[0.5]]), torch.tensor([[0.0]])
    assert bc.bc_error(policy_to(2.0), half, zero).item() == pytest.approx(1.0)


@pytest.mark.slow(seconds=2)
def test_clones_a_linear_demonstrator_in_the_environments_own_units() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    data = Transitions(1_000, 1, 1)
    for state in rng.uniform(10, 20, 1_000):  # far from zero: needs the standardisation
        obs = np.array([state])
        data.add(obs, obs - 15, 0.0, obs, False)
    seen = data.all().obs.numpy()
    scale = {"obs_mean": seen.mean(0), "obs_std": seen.std(0)}
    policy = Policy((1,), [-8.0], [8.0], (32,), **scale)
    agent = bc.Agent(policy, bc.Config(learning_rate=1e-2))
    assert [step for step, _ in bc.train(agent, data, steps=400)] == [*range(1, 401)]
    states = np.linspace(10, 20, 11, dtype=np.float32)[:, None]
    assert np.abs(policy.act(states) - (states - 15)).max() < 0.3


def test_clones_discrete_actions() -> None:
    torch.manual_seed(0)
    data = Transitions(400, 1, 1)
    for place in np.linspace(-1, 1, 400, dtype=np.float32):
        obs = np.array([place])
        data.add(obs, np.array([float(place > 0)]), 0.0, obs, False)
    policy = Policy.for_spaces(
        gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2), (16,)
    )
    agent = bc.Agent(policy, bc.Config(learning_rate=1e-2, hidden=(16,)))
    for _ in bc.train(agent, data, 300):
        pass
    rows = data.all()
    assert (policy.act(rows.obs.numpy()) == rows.action[:, 0].numpy()).mean() > 0.98
