"""DQN against hand-computed targets, and on a corridor whose values are known."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from rlnotes.algos import dqn
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch


class Table(nn.Module):
    """Q from a table indexed by the observation."""

    def __init__(self, rows: list[list[float]]) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.tensor(rows))

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return self.rows[obs[:, 0].long()]


class Corridor(gym.Env[np.ndarray, int]):
    """Cells 0 to 3, start in 0, action 1 goes right, action 0 stays; arriving in 3 pays 1 and ends."""

    observation_space = gym.spaces.Box(0, 1, (4,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)

    def _seen(self) -> np.ndarray:
        return np.eye(4, dtype=np.float32)[self.cell]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.cell, self.time = 0, 0
        return self._seen(), {}

    def step(self, action: int) -> Any:
        self.cell, self.time = self.cell + action, self.time + 1
        arrived = self.cell == 3
        return self._seen(), float(arrived), arrived, self.time >= 12, {}


def batch() -> Batch:
    column = torch.zeros(2, 1)
    return Batch(column, column, torch.ones(2), torch.ones(2, 1), torch.tensor([0.0, 1.0]))


def test_target_is_chosen_by_one_network_and_valued_by_the_other() -> None:
    q, target = Table([[0.0, 0.0], [5.0, 9.0]]), Table([[0.0, 0.0], [7.0, 2.0]])
    values = dqn.target_value(q, target, batch(), discount=0.5)
    assert values.tolist() == [1 + 0.5 * 2, 1]  # q prefers action 1, the target says 2; an end has no future


def test_loss_by_hand() -> None:
    loss, _ = dqn.td_loss(Table([[0.5, 0.0], [0.0, 0.0]]), batch(), torch.tensor([0.0, 3.0]))
    assert loss.item() == pytest.approx((0.5 * 0.5**2 + (2.5 - 0.5)) / 2)


def test_exploration_falls_on_a_line() -> None:
    config = dqn.Config(epsilon_steps=100, epsilon_last=0.1)
    assert [dqn.epsilon(step, config) for step in (0, 50, 100, 999)] == pytest.approx([1, 0.55, 0.1, 0.1])


def trained(renew: Any = dqn.renew_on_schedule) -> dqn.Agent:
    torch.manual_seed(0)
    env = Corridor()
    policy = Policy.for_spaces(env.observation_space, env.action_space, hidden=(32,))
    config = dqn.Config(
        discount=0.5,
        random_steps=100,
        epsilon_steps=500,
        epsilon_last=0.3,
        target_every=25,
        learning_rate=3e-3,
        hidden=(32,),
    )
    agent = dqn.Agent(policy, config)
    for _ in dqn.train(agent, env, steps=1_500, seed=0, renew_target=renew):
        pass
    return agent


def test_learns_the_values_of_a_corridor_through_its_time_limit() -> None:
    """Q(cell, right) = 0.5 ** (steps left − 1): wrong near the start if truncation counted as an end."""
    values = trained().policy.net(torch.eye(4)[:3]).detach().numpy()
    assert values[:, 1] == pytest.approx([0.25, 0.5, 1.0], abs=0.05)
    assert values[:, 0] == pytest.approx([0.125, 0.25, 0.5], abs=0.05)


def test_a_target_that_is_never_renewed_learns_only_the_last_step() -> None:
    values = trained(lambda *_: False).policy.net(torch.eye(4)[:3]).detach().numpy()
    assert values[2, 1] == pytest.approx(1.0, abs=0.05)
    assert np.abs(values[:2, 1] - (0.25, 0.5)).max() > 0.1
