"""REINFORCE against hand-computed returns and gradients, and on a problem of one
decision."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import reinforce
from rlnotes.algos.policy import Policy
from rlnotes.errors import UserError


class Doors(gym.Env[np.ndarray, int]):
    """Two steps: a sign (±1) says which of two doors pays, and it pays 1 a step
    later."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.taken: list[int] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.sign = float(self.np_random.choice((-1, 1)))
        self.right: bool | None = None
        return np.array([self.sign], np.float32), {}

    def step(self, action: int) -> Any:
        self.taken.append(action)
        if self.right is None:
            self.right = (action == 1) == (self.sign > 0)
            return np.zeros(1, np.float32), 0.0, False, False, {}
        return np.zeros(1, np.float32), float(self.right), True, False, {}


def test_returns_by_hand() -> None:
    assert reinforce.returns_to_go([1, 0, 4], gamma=0.5) == [1 + 0 + 1, 0 + 2, 4]


def test_loss_by_hand() -> None:
    logits = torch.tensor([[0.0, 0.0], [0.0, np.log(3.0)]])
    returns = torch.tensor([2.0, 4.0])
    loss, diagnostics = reinforce.policy_loss(logits, torch.tensor([0, 1]), returns)
    scale = 2**-0.5  # returns 2 and 4 standardised with the sample deviation √2
    expected = -(np.log(0.5) * -scale + np.log(0.75) * scale) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    entropy = (np.log(2) + 0.5623351) / 2
    assert diagnostics["entropy"].item() == pytest.approx(entropy, rel=1e-4)


def test_learns_which_door_pays_a_step_later() -> None:
    torch.manual_seed(0)
    env = Doors()
    policy = Policy.for_spaces(env.observation_space, env.action_space, hidden=(8,))
    agent = reinforce.Agent(policy, reinforce.Config(learning_rate=3e-2))
    for _ in reinforce.train(agent, env, steps=1_200, seed=0):
        pass
    assert policy.act(np.array([[-1.0], [1.0]])).tolist() == [0, 1]


def test_actions_are_drawn_with_the_policys_own_probabilities() -> None:
    torch.manual_seed(0)
    env = Doors()
    policy = Policy.for_spaces(env.observation_space, env.action_space, hidden=())
    layer: Any = policy.net[0]
    layer.weight.data.zero_()
    layer.bias.data = torch.tensor([0.0, float(np.log(3))])  # three to one for action 1
    agent = reinforce.Agent(policy, reinforce.Config(learning_rate=0.0))
    for _ in reinforce.train(agent, env, steps=2_000, seed=0):
        pass
    assert np.mean(env.taken) == pytest.approx(0.75, abs=0.04)


def test_an_update_takes_whole_episodes_and_forgets_them() -> None:
    env = Doors()
    policy = Policy.for_spaces(env.observation_space, env.action_space, hidden=(8,))
    agent = reinforce.Agent(policy, reinforce.Config(episodes_per_update=3))
    waiting = [
        (agent.episodes, len(agent.returns), "policy_loss" in diagnostics)
        for _, diagnostics in reinforce.train(agent, env, steps=7, seed=0)
    ]
    assert waiting[:4] == [(0, 0, False), (1, 2, False), (1, 2, False), (2, 4, False)]
    assert waiting[5:] == [(3, 0, True), (3, 0, False)]


def test_a_policy_with_continuous_actions_is_refused() -> None:
    box = gym.spaces.Box(-1, 1, (2,), np.float32)
    with pytest.raises(UserError, match="REINFORCE.*discrete actions"):
        reinforce.Agent(Policy.for_spaces(box, box, (8,)), reinforce.Config())
