"""A feature that never varied, and was magnified a thousand times (`gail/racecar-ppo`,
the goal in the state of `td3bc/racecar`).

Symptom: what is learnt from scaled observations depends on a number that tells nothing.
Cause: a feature that never varied has a deviation of 0. Divided by that plus 1e-3, its
slope is a thousand times that of the others: the first step that it does take blows it
up, and a penalty on the slope of a discriminator flattens all the others to pay for it.
Diagnostic: features that never vary in the data, and what they are divided by.
"""

import numpy as np

from rlnotes.algos.ppo import LEAST_OBS_STD


def never_varied(observations: np.ndarray) -> np.ndarray:
    """The numbers of such features."""
    return np.flatnonzero(np.ptp(observations, axis=0) == 0)


def fires(observations: np.ndarray, obs_std: np.ndarray) -> bool:
    """Whether a feature that never varied is divided by less than our PPO would."""
    return bool((obs_std[never_varied(observations)] < LEAST_OBS_STD).any())
