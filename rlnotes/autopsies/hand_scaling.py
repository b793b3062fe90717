"""States scaled by a guess instead of by the data (`td3bc/pendulum`, `td3bc/racecar`,
`bipedal/ppo`).

Symptom: the same learner on the same data ends worse, on the pendulum and in the car.
Cause: the notes divide some observations by a bound that they could reach, and leave
the others as they are. What the data really does is narrower and not around 0, so that
the network sees features of very different size, all of them small.
Diagnostic: the spread of each feature as the network sees it. Standardised it is 1; it
fires where a feature that varies at all is far from that.
"""

import numpy as np

# A spread this many times larger or smaller than 1 is not what standardising gives.
TOLERANCE = 2.0


def velocity_by_bound(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The fault, for the pendulum: its velocity is divided by its bound of 8."""
    return np.zeros(3), np.array([1.0, 1.0, 8.0])


def positions_by_15(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The fault, for the race car: positions, its own and the finish's if it is seen,
    are divided by the length of the track."""
    std = np.ones(observations.shape[1])
    std[[0, 1, *range(9, len(std))]] = 15
    return np.zeros(len(std)), std


def walker_by_bounds(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The fault, for the walker: angles are divided by π, speeds and, as if they were
    speeds, the contacts of the feet by 5; the lidar is left as it is."""
    std = np.full(observations.shape[1], 5.0)
    std[[0, 4, 6, 9, 11]] = np.pi
    std[14:] = 1.0
    return np.zeros(len(std)), std


def fires(observations: np.ndarray, std: np.ndarray) -> bool:
    """Whether a feature that varies is far too narrow or too wide after the scaling."""
    spread = (observations.std(0) / std)[np.ptp(observations, axis=0) > 0]
    return bool(((spread < 1 / TOLERANCE) | (spread > TOLERANCE)).any())
