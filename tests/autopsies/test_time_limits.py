"""The fault is one flag, and it reaches the critic's target."""

import numpy as np

from rlnotes.autopsies.time_limits import truncation_as_termination
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions


def test_only_the_last_flag_changes() -> None:
    healthy = Episode(0, np.zeros((4, 1)), np.zeros((3, 1)), np.zeros(3), terminated=False, truncated=True)
    faulty = truncation_as_termination(healthy)
    assert Transitions.from_episodes([healthy]).all().terminated.tolist() == [0, 0, 0]
    assert Transitions.from_episodes([faulty]).all().terminated.tolist() == [0, 0, 1]
    assert faulty.observations is healthy.observations
