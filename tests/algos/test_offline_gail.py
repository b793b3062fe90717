"""GAIL without a world: its loss by hand, and a tiny problem on which it ends where
imitation ends."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import gail, offline_gail, ppo
from rlnotes.data.transitions import Transitions
from rlnotes.errors import UserError

CONFIG = gail.Config(
    terminal="zero",
    gradient_penalty=0.0,
    disc_epochs=5,
    disc_batch_size=64,
    disc_learning_rate=1e-2,
    disc_hidden=(16,),
    generator=ppo.Config(learning_rate=3e-3, hidden=(16,)),
)


def right_of(middle: float) -> Transitions:
    data = Transitions(400, 1, 1)
    for place in middle + np.linspace(-1, 1, 400, dtype=np.float32):
        obs = np.array([place])
        data.add(obs, np.array([float(place > middle)]), 0.0, obs, False)
    return data


def agent(actions: gym.spaces.Space, middle: float = 0.0) -> gail.Agent:
    torch.manual_seed(0)
    places, mean = gym.spaces.Box(-100, 100, (1,)), np.full(1, middle)
    policy = ppo.new_policy(places, actions, CONFIG.generator, obs_mean=mean)
    return gail.Agent(policy, CONFIG)


def test_the_loss_by_hand() -> None:
    """Rewards 1 and 3 have the mean 2 and the deviation √2, so the advantages are
    ∓1/√2."""
    log_prob, reward = torch.tensor([-1.0, -2.0]), torch.tensor([1.0, 3.0])
    loss = offline_gail.policy_loss(log_prob, reward)
    assert loss.item() == pytest.approx((-1 + 2) / (2 * 2**0.5), rel=1e-5)


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("middle", [0.0, 64.0])
def test_it_learns_what_was_done_where(middle: float) -> None:
    """The data is as it was recorded; the policy knows where its middle is."""
    learner, data = agent(gym.spaces.Discrete(2), middle), right_of(middle)
    before = offline_gail.agreement(learner.policy, data)
    assert [step for step, _ in offline_gail.train(learner, data, 300)][-1] == 300
    assert before < 0.8
    assert offline_gail.agreement(learner.policy, data) > 0.95


def test_continuous_actions_are_refused() -> None:
    learner = agent(gym.spaces.Box(-1, 1, (1,)))
    with pytest.raises(UserError, match="offline GAIL.*discrete actions"):
        next(offline_gail.train(learner, right_of(0.0), 1))
