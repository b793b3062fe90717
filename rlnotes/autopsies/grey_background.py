"""A background that drowns what moves on it (`pong/ppo`).

Symptom: a game on black is learnt, and one on grey by the same program is not, or not
for hundreds of thousands of steps.
Cause: most of a picture is one grey, 0.34 once it is divided by 255. A filter answers
to it at all of its pixels, and to a ball at a few. So nearly every ReLU of the first
layer is open for all pictures, or shut for all of them, and what is handed on is nearly
the same whatever there is to see.
Diagnostic: the share of these ReLUs by which two pictures differ. It needs an untrained
network and some random play. It says that learning will be slow, not that it will fail:
a pole on white is balanced all the same.
"""

from typing import Any

import numpy as np

FAULT: dict[str, Any] = {"background": 0.0, "divisor": 255.0}  # of networks.Eye

# Of untrained eyes, whose biases are 0, so that the divisor does not matter: up to 0.02
# in Pong, 0.06 in Breakout, 0.09 in Pong's field on black.
LEAST = 0.04


def differing_gates(open_gates: np.ndarray) -> float:
    """Of gates in columns, true where they are open, and pictures in rows: by how many
    two pictures differ, on average."""
    often = open_gates.mean(0)
    return float((2 * often * (1 - often)).mean())


def fires(differing_gates: float) -> bool:
    """Whether the first filters answer to nearly all pictures in the same way."""
    return differing_gates < LEAST
