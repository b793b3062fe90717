"""DQN against hand-computed targets, and on a corridor whose values are known."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rlnotes.algos import dqn
from rlnotes.algos.networks import Eye
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch
from rlnotes.errors import UserError


class Table(nn.Module):
    """Q from a table indexed by the observation."""

    def __init__(self, rows: list[list[float]]) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.tensor(rows))

    def forward(self, obs: Tensor) -> Tensor:
        return self.rows[obs[:, 0].long()]


class Corridor(gym.Env[np.ndarray, int]):
    """Cells 0 to 3, start in 0, action 1 goes right, action 0 stays; arriving in 3 pays
    1 and ends. Observations can be far from 0 and wide."""

    observation_space: gym.spaces.Box = gym.spaces.Box(-1e3, 1e3, (4,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)

    def __init__(self, mean: float = 0.0, std: float = 1.0) -> None:
        self.mean, self.std = mean, std

    def _seen(self) -> np.ndarray:
        return self.mean + self.std * np.eye(4, dtype=np.float32)[self.cell]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cell, self.time = 0, 0
        return self._seen(), {}

    def step(self, action: int) -> Any:
        self.cell, self.time = self.cell + action, self.time + 1
        arrived = self.cell == 3
        return self._seen(), float(arrived), arrived, self.time >= 12, {}


class Pictures(Corridor):
    """The same, seen as a bright column of a picture."""

    observation_space = gym.spaces.Box(0, 255, (1, 8, 8), np.uint8)

    def _seen(self) -> np.ndarray:
        picture = np.zeros((1, 8, 8), np.uint8)
        picture[:, :, 2 * self.cell : 2 * self.cell + 2] = 255
        return picture


def batch() -> Batch:
    column = torch.zeros(2, 1)
    ends = torch.tensor([0.0, 1.0])
    return Batch(column, column, torch.ones(2), torch.ones(2, 1), ends)


def test_target_is_chosen_by_one_network_and_valued_by_the_other() -> None:
    q, target = Table([[0.0, 0.0], [5.0, 9.0]]), Table([[0.0, 0.0], [7.0, 2.0]])
    values = dqn.target_value(q, target, batch(), gamma=0.5)
    # q prefers action 1, the target says 2; an end has no future
    assert values.tolist() == [1 + 0.5 * 2, 1]


def test_loss_by_hand() -> None:
    q = Table([[0.5, 0.0], [0.0, 0.0]])
    loss, _ = dqn.td_loss(q, batch(), torch.tensor([0.0, 3.0]))
    assert loss.item() == pytest.approx((0.5 * 0.5**2 + (2.5 - 0.5)) / 2)


def test_exploration_falls_on_a_line() -> None:
    config = dqn.Config(exploration_fraction=0.1, final_epsilon=0.1)
    chances = [dqn.epsilon(step, 1_000, config) for step in (0, 50, 100, 999)]
    assert chances == pytest.approx([1, 0.55, 0.1, 0.1])


def never(step: int, done: bool, config: dqn.Config) -> bool:
    return False


def trained(
    env: Corridor | None = None, eye: Eye | None = None, **more: Any
) -> dqn.Agent:
    torch.manual_seed(0)
    env = env or Corridor()
    mean, std = (None if eye else np.full(4, x) for x in (env.mean, env.std))
    spaces = env.observation_space, env.action_space
    policy = Policy.for_spaces(*spaces, (32,), "argmax", mean, std, eye=eye)
    config = dqn.Config(
        gamma=0.5,
        learning_starts=100,
        exploration_fraction=1 / 3,
        final_epsilon=0.3,
        target_update_interval=25,
        learning_rate=3e-3,
        hidden=(32,),
        buffer_size=1_500,
        **more,
    )
    agent = dqn.Agent(policy, config)
    for _ in dqn.train(agent, env, steps=1_500, seed=0):
        pass
    return agent


@pytest.mark.slow(seconds=2)
def test_learns_the_values_of_a_corridor_through_its_time_limit() -> None:
    """Q(cell, right) = 0.5 ** (steps left − 1): wrong near the start if truncation
    counted as an end."""
    values = trained().policy.net(torch.eye(4)[:3]).detach().numpy()
    assert values[:, 1] == pytest.approx([0.25, 0.5, 1.0], abs=0.05)
    assert values[:, 0] == pytest.approx([0.125, 0.25, 0.5], abs=0.05)


def test_a_target_that_is_never_updated_learns_only_the_last_step() -> None:
    agent = trained(target_due=never)
    assert agent.target_updates == 0
    values = agent.policy.net(torch.eye(4)[:3]).detach().numpy()
    assert values[2, 1] == pytest.approx(1.0, abs=0.05)
    assert np.abs(values[:2, 1] - (0.25, 0.5)).max() > 0.1


@pytest.mark.slow(seconds=2)
def test_it_learns_from_what_it_sees_in_play() -> None:
    """A world that is shifted and stretched, with a policy that knows it, is the same
    world: to the last bit."""
    plain, shifted = trained(), trained(Corridor(mean=96.0, std=8.0))
    stored = shifted.memory.all().obs
    assert stored.max() == 104  # raw, as the world gives it
    for one, other in zip(
        plain.target.parameters(), shifted.target.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_the_target_network_sees_encoded_observations() -> None:
    agent = trained(Corridor(mean=96.0, std=8.0))
    seen: list[Tensor] = []
    agent.target.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    dqn.update(agent, agent.memory.sample(64))
    assert seen[0].unique().tolist() == [0, 1]


@pytest.mark.slow(seconds=3)
def test_learns_from_pictures_which_are_stored_as_bytes() -> None:
    agent = trained(Pictures(), Eye(filters=((4, 4, 2),), units=16))
    memory = agent.memory.all()
    assert memory.obs.dtype == memory.next_obs.dtype == torch.uint8
    env = Pictures()
    env.reset()
    seen = [env._seen(), *(env.step(1)[0] for _ in range(2))]
    values = agent.policy.net(agent.policy.encode_array(np.stack(seen)))
    assert values[:, 1].tolist() == pytest.approx([0.25, 0.5, 1.0], abs=0.1)


def test_a_policy_with_continuous_actions_is_refused() -> None:
    box = gym.spaces.Box(-1, 1, (2,), np.float32)
    with pytest.raises(UserError, match="DQN.*discrete actions"):
        dqn.Agent(Policy.for_spaces(box, box, (8,)), dqn.Config())


@pytest.mark.parametrize("gamma", [-0.1, 1.01, float("nan")])
def test_a_senseless_gamma_is_refused(gamma: float) -> None:
    with pytest.raises(UserError, match="gamma is a number from 0 to 1"):
        dqn.Config(gamma=gamma)
