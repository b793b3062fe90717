"""GAIL without a world: its loss by hand, and a tiny problem on which it ends where imitation ends."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import bc, gail, offline_gail, ppo
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Transitions


def right_where_positive() -> Transitions:
    data = Transitions(400, 1, 1)
    for place in np.linspace(-1, 1, 400, dtype=np.float32):
        obs = np.array([place])
        data.add(obs, np.array([float(place > 0)]), 0.0, obs, False)
    return data


def policy() -> Policy:
    torch.manual_seed(0)
    return Policy.for_spaces(gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2), (16,))


def test_the_loss_by_hand() -> None:
    """Rewards 1 and 3 have the mean 2 and the deviation √2, so the advantages are ∓1/√2."""
    loss = offline_gail.policy_loss(torch.tensor([-1.0, -2.0]), torch.tensor([1.0, 3.0]))
    assert loss.item() == pytest.approx((-1 + 2) / (2 * 2**0.5), rel=1e-5)


def test_it_learns_what_was_done_where() -> None:
    config = gail.Config(
        after_end="nothing",
        gradient_penalty=0.0,
        epochs=5,
        batch_size=64,
        learning_rate=1e-2,
        hidden=(16,),
        learner=ppo.Config(learning_rate=3e-3, hidden=(16,)),
    )
    agent, data = gail.Agent(policy(), config), right_where_positive()
    before = offline_gail.agreement(agent, data)
    assert [step for step, _ in offline_gail.train(agent, data, 300)][-1] == 300
    assert before < 0.8
    assert offline_gail.agreement(agent, data) > 0.95


def test_behaviour_cloning_of_discrete_actions() -> None:
    data = right_where_positive()
    cloned = bc.Agent(policy(), bc.Config(learning_rate=1e-2, hidden=(16,)))
    for _ in bc.train(cloned, data, 300):
        pass
    acts = cloned.policy.act(data.all().obs.numpy())
    assert (acts == data.all().action[:, 0].numpy()).mean() > 0.98
