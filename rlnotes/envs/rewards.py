"""Worlds that pay otherwise than they should: later, or for more."""

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from rlnotes.envs.atari import AtariVectorEnv

BALL_X = 49  # where Pong keeps it in its memory; 0 while there is no ball
OUR_SIDE = 150  # the paddle is at 188


class DelayedReward(VectorWrapper):
    """Every reward is paid `delay` steps later, what is owed at an end with the last
    step. So an episode's return stays what it was."""

    def __init__(self, envs: VectorEnv, delay: int) -> None:
        super().__init__(envs)
        self._owed = np.zeros((delay, self.num_envs))

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self._owed[:] = 0
        return self.env.reset(**options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, terminated, truncated, infos = self.env.step(actions)
        owed = np.concatenate([self._owed, [reward]])
        paid, self._owed = owed[0], owed[1:]
        over = terminated | truncated
        paid[over] += self._owed[:, over].sum(0)
        self._owed[:, over] = 0
        return obs, paid.astype(np.float32), terminated, truncated, infos


class TouchReward(VectorWrapper):
    """Pong that also pays `bonus` when our paddle returns the ball: when, on our side,
    it turns from coming to going. Seen in the memory of the game."""

    env: AtariVectorEnv

    def __init__(self, envs: VectorEnv, bonus: float) -> None:
        super().__init__(envs)
        self._bonus = bonus
        self._ball = np.zeros((2, self.num_envs), int)  # in the last two steps

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self._ball[:] = 0
        return self.env.reset(**options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, terminated, truncated, infos = self.env.step(actions)
        ball = self.env.ram[:, BALL_X].astype(int)
        before, then = self._ball
        seen = (before > 0) & (then > 0) & (ball > 0)
        turned = (then > before) & (ball < then) & (then > OUR_SIDE) & seen
        touched = turned & (ball > OUR_SIDE) & (reward == 0)
        self._ball = np.stack([then, ball])
        self._ball[:, terminated | truncated] = 0
        paid = reward + self._bonus * touched
        return obs, paid.astype(np.float32), terminated, truncated, infos
