"""Rewards that come later, and one for touching the ball: by hand, and in the game."""

from contextlib import closing
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.envs.atari import Game, make_atari_vec_env
from rlnotes.envs.rewards import BALL_X, DelayedReward, TouchReward
from rlnotes.envs.vector import make_vec_env

OUR_PADDLE, BALL_Y, UP, DOWN = 51, 54, 2, 3


class Wages(gym.Env[np.ndarray, int]):
    """Pays 1, 2, 3, ... and ends with the fifth step."""

    observation_space = gym.spaces.Box(0, 9, (1,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        over = self.time == 5
        return np.zeros(1, np.float32), float(self.time), over, False, {}


@pytest.mark.parametrize(
    ("delay", "paid"),
    [(0, [1, 2, 3, 4, 5]), (2, [0, 0, 1, 2, 12]), (9, [0, 0, 0, 0, 15])],
)
def test_what_is_owed_is_paid_at_the_end(delay: int, paid: list[float]) -> None:
    envs = DelayedReward(make_vec_env(Wages, 2), delay)
    envs.reset(seed=0)
    found = [envs.step(np.zeros(2, int))[1].tolist() for _ in range(10)]
    assert found == [[one, one] for one in paid + paid]


def follow(ram: np.ndarray) -> np.ndarray:
    """The paddle goes where the ball is."""
    ball, paddle = ram[:, BALL_Y].astype(int), ram[:, OUR_PADDLE].astype(int)
    return np.where(ball > paddle + 4, DOWN, UP)


@pytest.mark.slow(seconds=3)
def test_a_touch_is_paid_once_and_a_miss_never() -> None:
    """Between two touches the ball must have been at the other side; a point is lost
    only without a touch."""
    with closing(TouchReward(make_atari_vec_env(Game(), 2), 0.5)) as envs:
        envs.reset(seed=0)
        action, away = np.zeros(2, int), [True, True]
        touches = points = 0
        for step in range(900):
            _, reward, _, _, _ = envs.step(action)
            ram = envs.env.ram
            action = follow(ram)
            if step % 300 > 200:
                action = np.zeros(2, int)  # then it misses
            for copy in range(2):
                points += abs(reward[copy]) == 1
                if reward[copy] == 0.5:
                    assert away[copy], "paid twice"
                    touches, away[copy] = touches + 1, False
                away[copy] |= bool(ram[copy, BALL_X] < 120)
            assert set(np.abs(reward)) <= {0.0, 0.5, 1.0}
        assert touches > 5
        assert points > 2
