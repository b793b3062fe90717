"""The next episode's first observation, stored as the last one's end (`parallel/dqn`).

Symptom: nothing to be seen. The loss is as small as ever, and on CartPole the returns
are too, because there the state in which time runs out is worth what a start is.
Cause: vectors of environments begin the next episode by themselves. What they return
after an end is its first observation; where the step really led is somewhere in
`infos`. The notes know this and look there, but only after a true end, where nobody
asks for s' any more: `terminated` cuts it off. After a truncation, where s' is asked
for, they store what was returned, so that Q learns: when time runs out, one is carried
back to the start.
Diagnostic: chains in the replay. The s' of one row is the s of the same environment's
next row, until an episode ends; then the chain must break. One that is longer than the
time limit has been tied together where an episode ended.
"""

from typing import Any

import numpy as np

from rlnotes.data.transitions import Batch


def start_after_truncation(
    next_obs: np.ndarray,
    shown: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
) -> np.ndarray:
    """The fault: the next start, where time ran out."""
    cut_off = truncated & ~terminated
    stored = next_obs.copy()
    stored[cut_off] = shown[cut_off]
    return stored


def start_after_any_end(
    next_obs: np.ndarray,
    shown: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
) -> np.ndarray:
    """The same after a true end, too. DQN learns no other Q from it."""
    return shown


# Of dqn.Config:
FAULT: dict[str, Any] = {"successor": start_after_truncation}
AFTER_ANY_END: dict[str, Any] = {"successor": start_after_any_end}


def longest_chain(replay: Batch, num_envs: int) -> int:
    """The most transitions of one environment that follow each other without a break,
    in a replay to which `num_envs` environments add in turn."""
    return max(longest_run(linked) for linked in links(replay, num_envs))


def links(replay: Batch, num_envs: int) -> list[np.ndarray]:
    """Of each environment: whether its transitions led to where the next one begins."""
    same = replay.next_obs[:-num_envs] == replay.obs[num_envs:]
    linked = same.reshape(len(same), -1).all(1).numpy()
    return [linked[first::num_envs] for first in range(num_envs)]


def longest_run(linked: np.ndarray) -> int:
    """Of transitions, given whether each led to where the next one begins."""
    breaks = np.flatnonzero(~linked)
    return int(np.diff(breaks, prepend=-1, append=len(linked)).max())


def fires(longest_chain: int, time_limit: int) -> bool:
    """Whether episodes are stored as if they went on beyond their time limit."""
    return longest_chain > time_limit
