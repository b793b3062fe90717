"""One coin for all environments (`breakout/dqn`, `parallel/dqn`).

Symptom: none to be seen; with many environments it learns no better than with few.
Cause: the notes throw one coin for the whole vector, so that all environments explore
in a step or none does. They see random moves in the same steps, and play greedily in
the others: less of the difference that many environments are for.
Diagnostic: how often all do the same. With own coins and a chance ε it is εⁿ + (1−ε)ⁿ.
"""

from typing import Any

import numpy as np


def one_coin_for_all(
    rng: np.random.Generator, num_envs: int, chance: float
) -> np.ndarray:
    """The fault: all environments act at random, or none does."""
    return np.full(num_envs, rng.uniform() < chance)


FAULT: dict[str, Any] = {"explorers": one_coin_for_all}  # of dqn.Config


def fires(explored: np.ndarray) -> bool:
    """Whether environments, the columns, explored in the same steps only. There must be
    steps of both kinds."""
    return bool((explored == explored[:, :1]).all())
