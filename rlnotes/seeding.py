"""The one owner of the rule that a policy is never evaluated on a start it was trained on.

Every seed handed to `env.reset` comes from `reset_seeds`. Seeds for training and collecting lie below
2**30, seeds for evaluation at or above it, so the two can never meet, whatever the run's own seed.
"""

from typing import Literal

import numpy as np

_HALF = 2**30


def reset_seeds(purpose: Literal["train", "evaluate"], seed: int, count: int) -> list[int]:
    """`count` seeds for `env.reset`, the same ones for the same `purpose` and `seed`."""
    if seed < 0:
        raise ValueError(f"a seed is a non-negative integer, not {seed}")
    offset = {"train": 0, "evaluate": _HALF}[purpose]
    draws = np.random.default_rng([seed, offset]).integers(_HALF, size=count)
    return [int(draw) + offset for draw in draws]
