"""Distance to the demonstrations, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from rlnotes.autopsies import covariate_shift
from rlnotes.autopsies.covariate_shift import DistanceToData
from rlnotes.data.rollouts import Episode


def line(height: float, points: int = 101) -> Episode:
    """A drive along x at some height y."""
    places = np.linspace(0, 10, points), np.full(points, height)
    steps = points - 1
    rest = np.zeros((steps, 1)), np.zeros(steps), True, False
    return Episode(0, np.stack(places, axis=1), *rest)


def test_the_usual_distance_is_between_demonstrations_and_not_to_themselves() -> None:
    distance = DistanceToData([line(0), line(1), line(2)])
    _, y = distance.scale
    # one line apart, in units of the spread of y
    assert distance.usual == pytest.approx(1 / y)
    assert distance.farthest(line(1)) == 0


def test_a_drive_is_as_far_as_its_farthest_state() -> None:
    distance = DistanceToData([line(0), line(1), line(2)])
    assert distance.along(line(2.5)) == pytest.approx(0.5 / distance.scale[1])
    rising = np.linspace([0, 0], [0, 4], 101)
    leaving = replace(line(1), observations=line(1).observations + rising)
    # it ends three lines above the highest
    assert distance.farthest(leaving) == pytest.approx(3)
    assert covariate_shift.fires(distance.farthest(leaving))
    assert not covariate_shift.fires(distance.farthest(line(3)))
