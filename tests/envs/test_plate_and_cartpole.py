"""The plate and the cart can be balanced by simple rules that use what is observed."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np


def length(env: gym.Env, rule: Callable[[np.ndarray], Any], seed: int) -> int:
    observation, _ = env.reset(seed=seed)
    for step in range(1, 10_000):
        observation, _, terminated, truncated, _ = env.step(rule(observation))
        if terminated or truncated:
            return step
    raise AssertionError("no end")


def test_a_linear_rule_holds_the_pole() -> None:
    env = gym.make("rlnotes/BulletCartPole-v0")
    for seed in range(5):
        assert length(env, lambda o: int(o[2] + 0.3 * o[3] > 0), seed) == 500


def test_pushing_one_way_drops_the_pole_at_once() -> None:
    env = gym.make("rlnotes/BulletCartPole-v0")
    assert max(length(env, lambda _: 1, seed) for seed in range(5)) < 10


def plate_rule(observation: np.ndarray) -> int:
    """Tilt against where the ball is and goes; to stop the tilt in time, one must know
    how the hinges turn."""
    x, y, _, vx, vy, _, pitch, roll, pitching, rolling = observation
    want_roll, want_pitch = -(0.8 * x + 0.6 * vx), 0.8 * y + 0.6 * vy
    pitch_up = want_pitch - pitch - 0.6 * pitching > 0
    roll_up = want_roll - roll - 0.6 * rolling > 0
    return 2 * pitch_up + roll_up


def test_a_rule_that_sees_the_hinges_turn_holds_the_ball() -> None:
    env = gym.make("rlnotes/BalancingPlate-v0")
    assert [length(env, plate_rule, seed) for seed in range(3)] == [1_000] * 3


def test_random_play_drops_the_ball() -> None:
    env = gym.make("rlnotes/BalancingPlate-v0")
    env.action_space.seed(0)
    sample = env.action_space.sample
    lengths = [length(env, lambda _: sample(), seed) for seed in range(10)]
    assert 150 < np.mean(lengths) < 350


def test_the_notes_observation_hides_the_hinges_velocities() -> None:
    env = gym.make("rlnotes/BalancingPlate-v0", joint_velocities=False)
    assert env.observation_space.shape == (8,)
    assert env.reset(seed=0)[0].shape == (8,)
