"""What it costs to treat a time limit as the end of the task, as the notes do
throughout (`td3bc/pendulum`, `bipedal/ppo`).

Symptom: none in the loss; states near the limit are valued as if the world ended there.
Cause: an episode that merely ran out of time is stored as terminated, so the critic
learns that the future after step 200 is worth nothing, in a state that looks like any
other.
Diagnostic: the lengths of the episodes that are stored as terminated. A task ends now
and then; if all of them are as long as the time limit, it was the clock.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper

from rlnotes.data.rollouts import Episode


def truncation_as_termination(episode: Episode) -> Episode:
    """The fault: the only difference is one flag on the last step."""
    return replace(episode, terminated=episode.terminated or episode.truncated)


class TruncationTerminates(VectorWrapper):
    """The same fault in a vector of worlds, for those who learn while they play."""

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, terminated, truncated, infos = self.env.step(actions)
        return obs, reward, terminated | truncated, truncated, infos


def terminated_lengths(episodes: Sequence[Episode]) -> list[int]:
    """Of the episodes that are said to have ended."""
    return [len(episode.rewards) for episode in episodes if episode.terminated]


def stored_lengths(terminated: np.ndarray, linked: np.ndarray) -> list[int]:
    """The same from transitions of one environment, given whether each led to where
    the next begins. The first episode may have begun before them, and does not count.
    """
    over = terminated.astype(bool)
    last = np.flatnonzero(over | np.append(~linked, False))
    return np.diff(last)[over[last[1:]]].tolist()


def fires(terminated_lengths: Collection[int], time_limit: int) -> bool:
    """Whether only the clock ended the episodes that are said to have ended."""
    return set(terminated_lengths) == {time_limit}
