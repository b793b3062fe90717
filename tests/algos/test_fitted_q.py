"""Fitted Q evaluation against Bellman's equations, of players that are not the best."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rlnotes.algos import fitted_q
from rlnotes.algos.fitted_q import Agent, Config
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.errors import UserError

GAMMA = 0.8
RING = 4  # states in a ring; a push goes that many further, and from 3 nobody returns
SEEN = gym.spaces.Box(0, 1, (RING,), np.float32)


def push(state: int, by: int) -> tuple[int, float, bool]:
    """The next state, the reward, and whether it was the last step."""
    return (state + by) % RING, float(state * by), state == RING - 1


def always_one(obs: np.ndarray) -> np.ndarray:
    return np.ones(len(obs), np.int64)


def solved() -> np.ndarray:
    """Q (state, push) of the player who always pushes by one, backwards from the
    end."""
    q = np.zeros((RING, RING))
    for _ in range(200):
        for state in range(RING):
            for by in range(RING):
                after, paid, over = push(state, by)
                q[state, by] = paid + GAMMA * (not over) * q[after, 1]
    return q


def episodes(count: int, pushes: list[int]) -> list[Episode]:
    """Random pushes from random states, each one an episode that is over or cut off."""
    rng, found = np.random.default_rng(0), []
    for _ in range(count):
        state, by = int(rng.integers(RING)), int(rng.choice(pushes))
        after, paid, over = push(state, by)
        seen = np.eye(RING, dtype=np.float32)[[state, after]]
        found.append(Episode(0, seen, np.array([by]), np.array([paid]), over, not over))
    return found


def trained(use_action: bool, pushes: list[int]) -> Agent:
    torch.manual_seed(0)
    policy = Policy.for_spaces(SEEN, gym.spaces.Discrete(RING), ())
    settings: dict[str, Any] = {"tau": 0.05, "learning_rate": 3e-3, "hidden": (32,)}
    agent = Agent(
        policy, always_one, Config(gamma=GAMMA, use_action=use_action, **settings)
    )
    data = Transitions.from_episodes(episodes(500, pushes))
    for _ in fitted_q.train(agent, data, 1_500):
        pass
    return agent


def test_q_of_a_player_is_that_of_bellmans_equations() -> None:
    """Also of pushes that the player never makes; and an episode that is cut off goes
    on, one that is over does not."""
    expert = fitted_q.fitted_expert(trained(True, list(range(RING))))
    wanted, obs = solved(), torch.eye(RING)
    with torch.no_grad():
        for by in range(RING):
            action = torch.full((RING,), by)
            found = expert.q(obs, action).numpy()
            assert found == pytest.approx(wanted[:, by], abs=0.15)
            ahead = expert.advantage(obs, action).numpy()
            assert ahead == pytest.approx(wanted[:, by] - wanted[:, 1], abs=0.25)


def test_v_of_a_player_from_its_own_pushes() -> None:
    agent = trained(False, [1])
    with torch.no_grad():
        found = fitted_q.value(agent, torch.eye(RING)).numpy()
    assert found == pytest.approx(solved()[:, 1], abs=0.15)


# --- where no action is worth more than the player's own

PLANE = gym.spaces.Box(-1, 1, (2,), np.float32)
COST = torch.tensor([[2.0, 0.5], [0.0, 1.0]])  # of being off


def steers(obs: np.ndarray) -> np.ndarray:
    return 0.5 * obs


def off_course(obs: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    """What the one step of an episode costs: nothing, where it is the player's own."""
    return ((action - 0.5 * obs) @ COST.T).square().sum(-1)


def peaked_agent() -> Agent:
    torch.manual_seed(0)
    policy = Policy.for_spaces(PLANE, PLANE, (), "tanh")
    return Agent(policy, steers, Config(peaked=True, hidden=(32,), learning_rate=3e-3))


def test_a_peaked_q_finds_what_it_costs_to_be_off() -> None:
    agent, rng = peaked_agent(), np.random.default_rng(0)
    seen, played = rng.uniform(-1, 1, (2, 2_000, 2)).astype(np.float32)
    obs, action = torch.as_tensor(seen), torch.as_tensor(played)
    paid = 3 - off_course(obs, action).numpy()
    data = Transitions(2_000, (2,), 2)
    data.extend(seen, played, paid, seen, np.ones(2_000))
    for _ in fitted_q.train(agent, data, 2_000):
        pass
    expert = fitted_q.fitted_expert(agent)
    with torch.no_grad():
        found = expert.advantage(obs, action)
        error = (found + off_course(obs, action)).abs().mean()
        assert expert.value(obs).mean() == pytest.approx(3, abs=0.1)
    assert error < 0.15


@given(arrays(np.float32, (5, 2), elements=st.floats(-1, 1, width=32)))
def test_a_peaked_q_likes_no_action_better_than_the_players(action: np.ndarray) -> None:
    """Even if it has learnt nothing, and far from whatever was seen."""
    expert, obs = fitted_q.fitted_expert(peaked_agent()), 100 * torch.randn(5, 2)
    with torch.no_grad():
        assert (expert.advantage(obs, torch.as_tensor(action)) <= 0).all()


def test_peaked_is_of_continuous_actions() -> None:
    pushes = Policy.for_spaces(SEEN, gym.spaces.Discrete(RING), ())
    with pytest.raises(UserError, match="continuous"):
        Agent(pushes, always_one, Config(peaked=True))
