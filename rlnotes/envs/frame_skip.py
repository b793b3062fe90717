"""One decision for several frames."""

from typing import Any

import gymnasium as gym


class FrameSkip(gym.Wrapper[Any, Any, Any, Any]):
    """Holds an action for `frame_skip` frames, or until the episode ends.

    Rewards are summed. With `divide_reward` they are divided by the number of frames,
    which is what the notes did: then a perfect episode is worth its decisions, and a
    quarter of its frames.
    """

    def __init__(
        self, env: gym.Env[Any, Any], frame_skip: int, divide_reward: bool = False
    ) -> None:
        super().__init__(env)
        self._frame_skip, self._divide_reward = frame_skip, divide_reward

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        total, frames = 0.0, 0
        terminated = truncated = False
        while frames < self._frame_skip and not (terminated or truncated):
            obs, reward, terminated, truncated, info = self.env.step(action)
            total, frames = total + float(reward), frames + 1
        if self._divide_reward:
            total /= frames
        return obs, total, terminated, truncated, info
