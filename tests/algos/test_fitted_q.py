"""Fitted Q evaluation against Bellman's equations, of players that are not the best."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import fitted_q
from rlnotes.algos.fitted_q import Agent, Config
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions

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
    agent = Agent(policy, Config(gamma=GAMMA, use_action=use_action, **settings))
    data = Transitions.from_episodes(episodes(500, pushes))
    for _ in fitted_q.train(agent, data, always_one, 1_500):
        pass
    return agent


def test_q_of_a_player_is_that_of_bellmans_equations() -> None:
    """Also of pushes that the player never makes; and an episode that is cut off goes
    on, one that is over does not."""
    expert = fitted_q.fitted_expert(trained(True, list(range(RING))), always_one)
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
