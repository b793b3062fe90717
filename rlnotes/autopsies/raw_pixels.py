"""Pixels from 0 to 255, as they are (`breakout/dqn`).

Symptom: it learns, slowly and unsteadily; the first values of Q are far larger than any
reward.
Cause: the notes hand pixels to a network whose first weights are made for inputs of
about 1. Outputs and gradients of an untrained network are a hundred times too large,
and the first thousands of updates go into making them small.
Diagnostic: the largest number that the network usually gets to see. Scaled it is 1. It
holds for other observations as well.
"""

from typing import Any

import numpy as np

# Velocities of the classic worlds, as they are, stay below 6.
TOLERANCE = 10.0

FAULT: dict[str, Any] = {"divisor": 1.0}  # of networks.Eye


def largest_input(seen: np.ndarray) -> float:
    """Of rows as a network sees them: the root mean square of the largest feature. A
    number that is large once in a while does not count."""
    return float(np.sqrt(np.square(seen.astype(float)).mean(0)).max())


def fires(largest_input: float) -> bool:
    """Whether a network sees numbers that it was not made for."""
    return largest_input > TOLERANCE
