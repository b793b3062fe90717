"""Pixels from 0 to 255, as they are (`breakout/dqn`).

Symptom: it learns, slowly and unsteadily; the first values of Q are far larger than any
reward.
Cause: the notes hand pixels to a network whose first weights are made for inputs of
about 1. Outputs and gradients of an untrained network are a hundred times too large,
and the first thousands of updates go into making them small.
Diagnostic: the largest number that the network gets to see. Scaled it is 1.
"""

from typing import Any

import numpy as np

from rlnotes.algos.policy import Policy

TOLERANCE = 10.0

FAULT: dict[str, Any] = {"divisor": 1.0}  # of networks.Eye


def largest_input(policy: Policy, obs: np.ndarray) -> float:
    return float(policy.encode_array(obs).abs().max())


def fires(largest_input: float) -> bool:
    """Whether a network sees numbers that it was not made for."""
    return largest_input > TOLERANCE
