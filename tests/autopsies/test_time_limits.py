"""The fault is one flag, it reaches the critic's target, and the lengths tell."""

import numpy as np

from rlnotes.autopsies import time_limits
from rlnotes.autopsies.time_limits import truncation_as_termination
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions


def episode(length: int, terminated: bool) -> Episode:
    steps = np.zeros((length, 1)), np.zeros(length)
    return Episode(0, np.zeros((length + 1, 1)), *steps, terminated, not terminated)


def test_only_the_last_flag_changes() -> None:
    healthy = episode(3, terminated=False)
    faulty = truncation_as_termination(healthy)
    assert Transitions.from_episodes([healthy]).all().terminated.tolist() == [0, 0, 0]
    assert Transitions.from_episodes([faulty]).all().terminated.tolist() == [0, 0, 1]
    assert faulty.observations is healthy.observations


def test_it_fires_where_the_clock_is_taken_for_an_end() -> None:
    out_of_time = [episode(3, terminated=False)] * 4
    faulty = [truncation_as_termination(one) for one in out_of_time]
    assert time_limits.fires(faulty, time_limit=3)
    assert not time_limits.fires(out_of_time, time_limit=3)
    assert not time_limits.fires([*out_of_time, episode(2, terminated=True)], 3)
