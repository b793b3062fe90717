"""Games that never end, for the learner (`pong/ppo`).

Symptom: none in the loss.
Cause: the notes reset the world at the end of a game and then set `done` back to False,
before it is stored. So V of the next game's start counts as the future of a lost game,
and the advantages of one game are made of the next one's rewards.
Diagnostic: the length of the longest episode so far. Here it grows for ever; it fires
once it is longer than a game can last.
"""

from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper


class LostDone(VectorWrapper):
    """The fault, as a world: what comes after an end is said to follow from it."""

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, *_ = self.env.step(actions)
        never = np.zeros(self.num_envs, bool)
        return obs, reward, never, never, {}


def fires(longest_episode: float, time_limit: int) -> bool:
    """Whether an episode went on for longer than there is time."""
    return longest_episode > time_limit
