"""Eight worlds that were one (`parallel/envpool`, `parallel/copies`).

Symptom: many environments bring nothing, and all of them end in the same step.
Cause: EnvPool 0.8.4 was built for NumPy 1 and does not say so. On NumPy 2 it repeats
the first row for all others; the notes gave it up. The same is seen where all copies
of a world are given one seed and one action.
Diagnostic: how many different observations a vector shows after steps with different
actions. One is too few. `envs.vector.require_different_copies` refuses such a vector
before any training.
"""

import numpy as np


def different_observations(vector_obs: np.ndarray) -> int:
    """Of the rows that a vector of environments shows at once."""
    rows = vector_obs.reshape(len(vector_obs), -1)
    return len(np.unique(rows, axis=0))


def fires(different_observations: float, num_envs: int) -> bool:
    """Whether several environments show one world."""
    return different_observations == 1 < num_envs
