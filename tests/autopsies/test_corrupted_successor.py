"""The next start stored as a successor: what Q makes of it, by hand; chains in the
replay of the twin and of the healthy run."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st

from rlnotes.algos import dqn
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import corrupted_successor
from rlnotes.data.transitions import Batch
from rlnotes.envs.vector import make_vec_env


class Ascent(gym.Env[np.ndarray, int]):
    """From the ground one step up, where every step pays 1; nothing is to be decided.
    Each episode has a number, which is seen and means nothing."""

    observation_space = gym.spaces.Box(0, np.inf, (2,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)
    falls_after: int | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.up, self.time, self.number = 0, 0, float(self.np_random.uniform())
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        reward, self.up, self.time = float(self.up), 1, self.time + 1
        return self._seen(), reward, self.time == self.falls_after, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.up, self.number], np.float32)


class Falling(Ascent):
    falls_after = 3


def trained(
    fault: dict[str, Any],
    world: type[Ascent] = Ascent,
    limit: int = 2,
    steps: int = 1_200,
    **more: Any,
) -> dqn.Agent:
    torch.manual_seed(0)
    envs = make_vec_env(lambda: TimeLimit(world(), limit), 3)
    given: dict[str, Any] = {
        "gamma": 0.5,
        "hidden": (32,),
        "learning_rate": 3e-3,
        "learning_starts": 30,
        "target_update_interval": 25,
        "buffer_size": 1_000,
    }
    config = dqn.Config(**given | more, **fault)
    policy = Policy.for_spaces(Ascent.observation_space, Ascent.action_space, (32,))
    agent = dqn.Agent(policy, config)
    for _ in dqn.train(agent, envs, steps, 0):
        pass
    return agent


def values(agent: dqn.Agent) -> list[float]:
    states = torch.tensor([[0.0, 0.5], [1.0, 0.5]])
    return agent.policy.net(states).mean(1).tolist()


@pytest.mark.slow(seconds=6)
def test_what_is_learnt_from_it_by_hand() -> None:
    """Up: Q = 1 + γ Q = 2, and half of it on the ground. Carried back to the ground
    after two steps: Q(up) = 1 + γ Q(ground), Q(ground) = γ Q(up), so 4/3 and 2/3."""
    assert values(trained({})) == pytest.approx([1, 2], abs=0.1)
    corrupted = trained(corrupted_successor.FAULT)
    assert values(corrupted) == pytest.approx([2 / 3, 4 / 3], abs=0.1)


@pytest.mark.parametrize("limit", [2, 5])
def test_after_a_true_end_the_successor_does_not_matter(limit: int) -> None:
    """Nobody asks for it: the bits are the same, with ends by time or by falling."""
    world: dict[str, Any] = {"world": Falling, "limit": limit, "steps": 200}
    one = trained(corrupted_successor.FAULT, **world)
    other = trained(corrupted_successor.AFTER_ANY_END, **world)
    assert values(one) == values(other)
    fell = one.memory.all().terminated == 1
    assert fell.any() == (limit == 5)
    stored = one.memory.all().next_obs[fell], other.memory.all().next_obs[fell]
    assert torch.equal(*stored) == (limit == 2)


@pytest.mark.parametrize("id", ["parallel/dqn", "parallel/orchard"])
def test_the_twins_differ_by_exactly_one_setting(id: str, differing: Any) -> None:
    assert list(corrupted_successor.FAULT) == ["successor"]
    assert differing((id, "dqn"), (id, "corrupted")) == {"agent.successor"}


def test_the_fault_by_hand() -> None:
    true, shown = np.array([[1.0], [2.0], [3.0], [4.0]]), np.arange(4.0)[:, None] * 10
    shown[0] = 1.0  # no end: what is shown is where it led
    terminated = np.array([False, True, False, True])
    truncated = np.array([False, False, True, True])
    ends = true, shown, terminated, truncated
    after_truncation = corrupted_successor.start_after_truncation(*ends)
    assert after_truncation[:, 0].tolist() == [1, 2, 20, 4]
    after_any_end = corrupted_successor.start_after_any_end(*ends)
    assert after_any_end[:, 0].tolist() == [1, 10, 20, 30]
    assert dqn.true_successor(*ends) is true
    assert true[:, 0].tolist() == [1, 2, 3, 4]  # and is not written into


# --- the diagnostic


def replay(obs: list[float], next_obs: list[float]) -> Batch:
    nothing = torch.zeros(len(obs))
    columns = (torch.tensor(column)[:, None] for column in (obs, next_obs))
    first, second = columns
    return Batch(first, nothing[:, None], nothing, second, nothing)


def test_chains_by_hand() -> None:
    # Two environments in turn. The first goes 1, 2, 3 and begins anew at 7; the second
    # goes 5, 6 and then only seems to go on.
    rows = replay([1, 5, 2, 6, 7, 6], [2, 6, 3, 6, 8, 9])
    assert corrupted_successor.longest_chain(rows, 2) == 3
    assert corrupted_successor.longest_chain(replay([1, 2, 3], [2, 3, 4]), 1) == 3
    assert corrupted_successor.longest_chain(replay([1, 1, 1], [2, 2, 2]), 1) == 1
    assert corrupted_successor.longest_chain(replay([1, 1, 3], [2, 3, 4]), 1) == 2


@settings(max_examples=15, deadline=None)
@given(
    copies=st.integers(1, 4),
    limit=st.integers(1, 20),
    capacity=st.integers(150, 320),
    falls_after=st.sampled_from([None, 30]),
    fault=st.sampled_from(
        [corrupted_successor.FAULT, corrupted_successor.AFTER_ANY_END]
    ),
)
def test_it_fires_on_the_fault_and_not_on_the_healthy_run(
    copies: int, limit: int, capacity: int, falls_after: int | None, fault: Any
) -> None:
    """Whatever the ring has lost, and also where some episodes end by themselves."""

    class World(Ascent):
        def step(self, action: Any) -> Any:
            obs, *rest = super().step(action)
            return obs + np.float32(self.time), *rest

    World.falls_after = falls_after
    fired = []
    nothing: dict[str, Any] = {}
    for override in (nothing, fault):
        config = dqn.Config(
            hidden=(4,), buffer_size=capacity, learning_starts=10_000, **override
        )
        spaces = World.observation_space, World.action_space
        agent = dqn.Agent(Policy.for_spaces(*spaces, (4,)), config)
        envs = make_vec_env(lambda: TimeLimit(World(), limit), copies)
        for _ in dqn.train(agent, envs, 300, 0):
            pass
        longest = corrupted_successor.longest_chain(agent.memory.all(), copies)
        fired.append(corrupted_successor.fires(longest, limit))
    assert fired == [False, True]
