"""A perfect score that was taken for a poor one (`pixels/cartpole`).

Symptom: the best episodes stop at 125, and 500 is known to be possible.
Cause: the notes' wrapper holds an action for four frames and divides the rewards by
their number. A perfect episode, 500 frames without a fall, is then worth 125: what was
read as "far below the state version" was among other things the best there is.
Diagnostic: put a world into the same wrappers in which nothing can go wrong, and add up
what they pay. If that is not what a perfect episode is believed to be worth, no score
may be compared. It needs no training.
"""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

TOLERANCE = 0.01  # of what is believed


class Tireless(gym.Env[np.ndarray, int]):
    """Pays `reward` for every frame, whatever is done, until the time is over."""

    observation_space = gym.spaces.Box(-1, 1, (4,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)

    def __init__(self, frames: int, reward: float = 1.0) -> None:
        self.frames, self.reward = frames, reward

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.played = 0
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.played += 1
        over = self.played >= self.frames
        return np.zeros(4, np.float32), self.reward, False, over, {}


def ceiling(
    wrap: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]],
    frames: int,
    reward: float = 1.0,
) -> float:
    """The return of an episode in which nothing went wrong, behind these wrappers."""
    env = wrap(Tireless(frames, reward))
    env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        _, paid, terminated, truncated, _ = env.step(0)
        total, over = total + float(paid), terminated or truncated
    return total


def fires(ceiling: float, believed: float) -> bool:
    """Whether a perfect episode is worth something else than one believes."""
    return abs(ceiling - believed) > TOLERANCE * abs(believed)
