"""Critics that are right, wrong about the state, or wrong about the actions."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from rlnotes.data.rollouts import Episode
from rlnotes.experiments.base import World
from rlnotes.experiments.critic_checks import Check, choices, compared, tried

PENDULUM = World("Pendulum-v1", {"max_episode_steps": 1_000})
SMALL = Check(actions=3, horizon=20, before=30)


def rest(obs: np.ndarray) -> np.ndarray:
    return np.zeros((len(obs), 1), np.float32)


def returns() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(30, 6))


def test_the_truth_passes() -> None:
    true = returns()
    told = compared(true, true)
    names = ("q_correlation", "advantage_correlation", "action_rank_correlation")
    assert [told[name] for name in names] == pytest.approx([1, 1, 1])
    assert (told["q_bias"], told["q_error"]) == (0, 0)
    assert told["best_action_gain"] == pytest.approx((true.max(1) - true[:, 0]).mean())


def test_who_knows_the_state_alone_knows_nothing_of_its_actions() -> None:
    true = returns() + 10 * np.random.default_rng(1).normal(size=(30, 1))
    told = compared(np.repeat(true.mean(1, keepdims=True), 6, axis=1), true)
    assert told["q_correlation"] > 0.95
    assert told["advantage_correlation"] == pytest.approx(0, abs=1e-6)
    assert told["action_rank_correlation"] == pytest.approx(0, abs=1e-6)
    assert told["best_action_gain"] == 0


def test_who_is_wrong_about_the_state_still_knows_its_actions() -> None:
    true = returns()
    wrong = 5 + true + 10 * np.random.default_rng(1).normal(size=(30, 1))
    told = compared(wrong, true)
    assert told["q_correlation"] < 0.5
    assert told["advantage_correlation"] == pytest.approx(1)
    assert told["action_rank_correlation"] == pytest.approx(1)
    assert told["q_bias"] == pytest.approx((wrong - true).mean())


def test_the_actions_are_the_players_own_close_ones_and_random_ones() -> None:
    space = gym.spaces.Box(-2, 6, (2,), np.float32)
    own = np.array([[-2.0, 5.0], [0.0, 0.0]])
    tries = choices(own, space, 401, np.random.default_rng(0))
    assert tries.shape == (2, 401, 2)
    assert tries.dtype == np.float32
    assert np.array_equal(tries[:, 0], own)
    far = np.abs(tries[:, 1:] - own[:, None])
    assert far[:, ::2].max() <= 2
    assert far[:, 1::2].max() > 4
    assert (tries >= -2).all()
    assert (tries <= 6).all()


def test_what_is_tried_is_what_is_asked_about() -> None:
    """A critic that plays the world itself is right."""
    played = PENDULUM.play(rest, [0, 1, 2])
    trials = tried(PENDULUM, rest, played, 5, SMALL, seed=0)
    assert trials.obs.shape == (5, 3, 3)
    assert trials.action.shape == (5, 3, 1)

    def first_reward(obs: Tensor, action: Tensor) -> Tensor:
        angle = torch.atan2(obs[:, 1], obs[:, 0])
        cost = angle**2 + 0.1 * obs[:, 2] ** 2 + 0.001 * action[:, 0] ** 2
        return -cost

    said = trials.said_by(first_reward)
    came = trials.returns(lambda episode: float(episode.rewards[0]))
    assert said == pytest.approx(came, abs=1e-3)
    assert all(len(one.rewards) == 20 for row in trials.episodes for one in row)


def test_somebody_else_may_go_on() -> None:
    played = PENDULUM.play(rest, [0])

    def push(obs: np.ndarray) -> np.ndarray:
        return rest(obs) + 2

    trials = tried(PENDULUM, rest, played, 5, SMALL, seed=0, goes_on=push)
    assert not trials.action[:, 0].any()
    rows: list[Episode] = [one for row in trials.episodes for one in row]
    assert all((one.actions[1:] == 2).all() for one in rows)
