"""What a world does with an action before it acts on it."""

from typing import Any

import numpy as np
from gymnasium import spaces


def checked_box_action(action: Any, space: spaces.Box) -> np.ndarray:
    """The action clipped to its bounds; a wrong shape, NaN or infinity raises."""
    given = np.asarray(action, dtype=np.float64)
    if given.shape != space.shape:
        raise ValueError(
            f"the action has shape {given.shape} and must have {space.shape}"
        )
    if not np.isfinite(given).all():
        raise ValueError(f"the action {given.tolist()} is not finite")
    return given.clip(space.low, space.high)


def checked_discrete_action(action: Any, space: spaces.Discrete) -> int:
    """The action as an integer; anything outside the space is an error."""
    count = int(space.n)
    if not isinstance(action, int | np.integer) or int(action) not in range(count):
        raise ValueError(
            f"the action {action!r} is not one of the whole numbers"
            f" from 0 to {count - 1}"
        )
    return int(action)
