"""Episodes of one length: what ended early stays where it ended (Kostrikov et al., 2019).

Whoever pays per step pays for the number of steps, too. Where an episode can end early, a reward that is never
negative asks the learner to live long, and one that is never positive to die soon, whatever the demonstrations
show. With an absorbing state after the end, that state is paid for or not like any other, and for the
demonstrator as well as for the learner.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs


class Absorbing(gym.Wrapper[np.ndarray, Any, np.ndarray, Any], RecordConstructorArgs):
    """After the end, observations are zeros with a one behind them, rewards are 0, and actions do nothing.

    Every episode is truncated after `horizon` steps and never terminated. The flag behind the observation is 0
    while the world is still going. A time limit of the world itself must not come before the horizon.
    """

    def __init__(self, env: gym.Env[Any, Any], horizon: int) -> None:
        RecordConstructorArgs.__init__(self, horizon=horizon)
        gym.Wrapper.__init__(self, env)
        space = env.observation_space
        assert isinstance(space, spaces.Box)
        assert len(space.shape) == 1
        self.horizon = horizon
        low, high = np.minimum(space.low, 0), np.maximum(space.high, 0)
        self.observation_space = spaces.Box(np.append(low, 0).astype(np.float32), np.append(high, 1).astype(np.float32))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._steps, self._ended = 0, False
        return alive(obs), info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        over = self._steps >= self.horizon
        if self._ended:
            return ended(self.env.observation_space.shape), 0.0, False, over, {}
        obs, reward, terminated, truncated, info = self.env.step(action)
        if truncated and not terminated and not over:
            raise RuntimeError(f"the world's own time limit came after {self._steps} of {self.horizon} steps")
        self._ended = terminated
        return ended(obs.shape) if terminated else alive(obs), float(reward), False, over, info


def alive(obs: np.ndarray) -> np.ndarray:
    return np.append(obs, 0).astype(np.float32)


def ended(shape: Any) -> np.ndarray:
    return np.append(np.zeros(shape), 1).astype(np.float32)
