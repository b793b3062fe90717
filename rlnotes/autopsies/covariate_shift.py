"""Where a drive leaves its demonstrations: the car that turned left into the wall
(`td3bc/racecar`).

Symptom: the car learns from drives that all arrive, and crashes at once.
Cause, as suspected: the demonstrations show one narrow line. The first small error
leads off it, to states for which the data says nothing, where the next error is larger.
Diagnostic: along a drive, the distance of each state to the nearest demonstrated one.
Demonstrations lie close to each other; it fires where a drive goes much farther from
them than that.

It fires on TD3+BC, and the suspicion is still wrong there. Plain imitation of the same
drives stays close and arrives; it is the critic that sends the car away, with values it
invented for actions nobody has shown. Imitation of very few drives does fail by itself,
but there the diagnostic is silent: such drives are far apart themselves.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from rlnotes.data.rollouts import Episode

# Above this many times the usual distance between demonstrations, a state is one that
# nobody has shown.
TOLERANCE = 2.0


class DistanceToData:
    """Distances in units of the demonstrations' own spread, feature by feature."""

    def __init__(self, demonstrations: Sequence[Episode]) -> None:
        states = [episode.observations for episode in demonstrations]
        self.scale = np.concatenate(states).std(0) + 1e-3
        self._tree = cKDTree(np.concatenate(states) / self.scale)
        # What is usual: the distance of each demonstration to all the others.
        distances = [self._to_others(states, i) for i in range(len(states))]
        self.usual = float(np.percentile(np.concatenate(distances), 99))

    def _to_others(self, states: Sequence[np.ndarray], left_out: int) -> np.ndarray:
        others = [rows for i, rows in enumerate(states) if i != left_out]
        tree = cKDTree(np.concatenate(others) / self.scale)
        return tree.query(states[left_out] / self.scale)[0]

    def along(self, episode: Episode) -> np.ndarray:
        """The distance of each state of `episode` to the nearest demonstrated one."""
        return self._tree.query(episode.observations / self.scale)[0]

    def farthest(self, episode: Episode) -> float:
        """How many times the usual distance the drive went from the demonstrations."""
        return float(self.along(episode).max() / self.usual)


def fires(times_usual_distance: float) -> bool:
    """Whether a drive left what was demonstrated."""
    return times_usual_distance > TOLERANCE
