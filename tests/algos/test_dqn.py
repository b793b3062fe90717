"""DQN against hand-computed targets, and on a corridor whose values are known; alone
and in vectors."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from gymnasium.vector import SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rlnotes.algos import dqn
from rlnotes.algos.networks import Eye
from rlnotes.algos.policy import Policy
from rlnotes.data.frames import FrameTransitions
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.envs.vector import make_vec_env
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


def test_without_double_q_the_target_chooses_too_and_the_loss_can_be_another() -> None:
    """Of two states that are worth 9 or 2 to the one network, 2 or 7 to the other."""
    policy = Policy((1,), (), (), (4,), "argmax", num_actions=2)
    rows: Any = [[0.0, 0.0], [9.0, 2.0]], [[0.0, 0.0], [2.0, 7.0]]
    found = []
    for double_q in (True, False):
        config = dqn.Config(gamma=0.5, double_q=double_q, loss=F.mse_loss)
        agent = dqn.Agent(policy, config)
        agent.policy.net, agent.target = (Table(row) for row in rows)  # type: ignore[assignment]
        found.append(dqn.update(agent, batch())["td_loss"].item())
    assert found == [((1 + 0.5 * 2) ** 2 + 1) / 2, ((1 + 0.5 * 7) ** 2 + 1) / 2]


def test_exploration_falls_on_a_line() -> None:
    config = dqn.Config(exploration_fraction=0.1, final_epsilon=0.1)
    chances = [dqn.linear_epsilon(step, 1_000, config) for step in (0, 50, 100, 999)]
    assert chances == pytest.approx([1, 0.55, 0.1, 0.1])


def never(step: int, done: bool, config: dqn.Config) -> bool:
    return False


def trained(
    env: Corridor | None = None,
    eye: Eye | None = None,
    copies: int | None = None,
    **more: Any,
) -> dqn.Agent:
    """In one world, or in a vector of `copies`."""
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
    worlds = make_vec_env(Corridor, copies) if copies else env
    for _ in dqn.train(agent, worlds, steps=1_500, seed=0):
        pass
    return agent


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("copies", [None, 3])
def test_learns_the_values_of_a_corridor_through_its_time_limit(
    copies: int | None,
) -> None:
    """Q(cell, right) = 0.5 ** (steps left − 1): wrong near the start if truncation
    counted as an end."""
    values = trained(copies=copies).policy.net(torch.eye(4)[:3]).detach().numpy()
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


def test_stacks_of_pictures_share_what_they_show() -> None:
    eye, space = Eye(filters=((4, 4, 2),), units=16), Pictures.observation_space
    policies = (
        Policy.for_spaces(space, Corridor.action_space, (), eye=eye),
        Policy.for_spaces(Corridor.observation_space, Corridor.action_space, ()),
    )
    memories = [dqn.Agent(policy, dqn.Config()).memory for policy in policies]
    assert [type(memory) for memory in memories] == [FrameTransitions, Transitions]


def test_gradients_are_clipped_if_asked() -> None:
    norms = []
    for most in (None, 1e-3):
        agent = clock_agent(max_grad_norm=most)
        seen = torch.rand(8, 2)
        played = Batch(seen, torch.zeros(8, 1), torch.ones(8), seen, torch.zeros(8))
        dqn.update(agent, played)
        grads = [x.grad for x in agent.policy.net.parameters() if x.grad is not None]
        norms.append(float(sum(x.square().sum() for x in grads)) ** 0.5)
    assert norms[0] > 0.1
    assert norms[1] == pytest.approx(1e-3, rel=0.01)


# --- vectors


class Clock(gym.Env[np.ndarray, int]):
    """Shows a number drawn at the start and how late it is. Action 1 ends the task from
    the third step on, the fifth step ends the time. The reward is the time."""

    observation_space = gym.spaces.Box(0, 1e6, (2,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.number, self.time = float(self.np_random.integers(1_000_000)), 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        over = bool(action == 1 and self.time >= 3)
        return self._seen(), float(self.time), over, self.time == 5, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.number, self.time], np.float32)


def clock_agent(**more: Any) -> dqn.Agent:
    spaces = Clock.observation_space, Clock.action_space
    config = dqn.Config(hidden=(4,), learning_starts=10_000, buffer_size=400)
    torch.manual_seed(0)
    policy = Policy.for_spaces(*spaces, (4,), "argmax")
    return dqn.Agent(policy, replace(config, **more))


@settings(max_examples=20, deadline=None)
@given(copies=st.integers(1, 5), seed=st.integers(0, 1_000), chance=st.floats(0, 1))
def test_every_stored_transition_happened(
    copies: int, seed: int, chance: float
) -> None:
    """The clock of each goes one on, in one episode; only an end of the task says so,
    and the next row of the same copy begins a new episode after any end."""
    agent = clock_agent(epsilon=lambda step, steps, config: chance)
    steps = [
        step for step, _ in dqn.train(agent, make_vec_env(Clock, copies), 60, seed)
    ]
    assert steps == list(range(1, -(-60 // copies) * copies + 1))
    assert len(agent.memory) == len(steps)
    stored = (field.numpy() for field in agent.memory.all())
    obs, action, reward, next_obs, terminated = stored
    assert np.array_equal(next_obs, obs + np.array([0, 1]))
    assert np.array_equal(reward, next_obs[:, 1])
    late = next_obs[:, 1]
    over = (action[:, 0] == 1) & (late >= 3)
    assert np.array_equal(terminated, over)
    new = obs[copies:, 1] == 0
    assert np.array_equal(new, (over | (late == 5))[:-copies])
    same = obs[copies:] == next_obs[:-copies]
    assert np.array_equal(same.all(1), ~new)


@pytest.mark.slow(seconds=3)
def test_one_world_is_a_vector_of_one() -> None:
    """Where starts are not drawn, to the last bit."""
    alone, vector = trained(), trained(copies=1)
    for one, other in zip(
        alone.policy.parameters(), vector.policy.parameters(), strict=True
    ):
        assert torch.equal(one, other)
    assert torch.equal(alone.memory.all().obs, vector.memory.all().obs)


@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("train_freq", [1, 3, 4, 8])
def test_updates_are_counted_by_the_steps_of_all_copies(
    copies: int, train_freq: int
) -> None:
    counted = {"learning_starts": 20, "train_freq": train_freq}
    agent = clock_agent(**counted, target_update_interval=6)
    learned = [
        step
        for step, diagnostics in dqn.train(agent, make_vec_env(Clock, copies), 80, 0)
        if "td_loss" in diagnostics
    ]
    assert learned == [step for step in range(21, 81) if step % train_freq == 0]
    assert agent.target_updates == 80 // 6


def test_each_copy_throws_its_own_coin() -> None:
    rng = np.random.default_rng(0)
    thrown = np.array([dqn.one_coin_each(rng, 4, 0.5) for _ in range(4_000)])
    together = np.mean(thrown.all(1) | ~thrown.any(1))
    assert together == pytest.approx(2 / 16, abs=0.02)
    assert thrown.mean(0) == pytest.approx(np.full(4, 0.5), abs=0.03)


def test_copies_that_explore_do_something_else_than_those_that_do_not() -> None:
    """The second of three explores: only it takes more than the one greedy action."""
    agent = clock_agent(
        explorers=lambda rng, num_envs, chance: np.arange(num_envs) == 1
    )
    for _ in dqn.train(agent, make_vec_env(Clock, 3), 300, 0):
        pass
    memory = agent.memory.all()
    greedy = agent.policy.act(memory.obs.numpy())
    as_greedy = (memory.action[:, 0].numpy() == greedy).reshape(-1, 3)
    assert as_greedy[:, [0, 2]].all()
    assert 0.3 < as_greedy[:, 1].mean() < 0.7


def test_environments_that_reset_in_the_next_step_are_refused() -> None:
    late = SyncVectorEnv([Clock, Clock])
    with pytest.raises(UserError, match="DQN needs.*make_vec_env"):
        next(dqn.train(clock_agent(), late, 10, 0))


# --- what cannot be


def test_a_policy_with_continuous_actions_is_refused() -> None:
    box = gym.spaces.Box(-1, 1, (2,), np.float32)
    with pytest.raises(UserError, match="DQN.*discrete actions"):
        dqn.Agent(Policy.for_spaces(box, box, (8,)), dqn.Config())


@pytest.mark.parametrize("gamma", [-0.1, 1.01, float("nan")])
def test_a_senseless_gamma_is_refused(gamma: float) -> None:
    with pytest.raises(UserError, match="gamma is a number from 0 to 1"):
        dqn.Config(gamma=gamma)
