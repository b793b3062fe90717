"""The U maze: its scores tell getting there from staying."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from rlnotes.data.rollouts import Episode
from rlnotes.experiments import umaze


def episode(rewards: Sequence[float]) -> Episode:
    steps = len(rewards)
    return Episode(
        0,
        np.zeros((steps + 1, 6), np.float32),
        np.zeros((steps, 2), np.float32),
        np.array(rewards),
        False,
        True,
    )


@pytest.mark.parametrize(
    ("rewards", "steps", "stays"),
    [
        ([0, 0, 1, 1, 0, 0], 2, 1 / 3),
        ([1, 1, 1], 0, 1.0),
        ([0, 0, 0], 3, np.nan),
        ([0, 0, 1], 2, np.nan),
    ],
)
def test_steps_to_the_goal_and_the_share_of_time_there_after_that(
    rewards: Sequence[float], steps: int, stays: float
) -> None:
    assert umaze.steps_to_goal(episode(rewards)) == steps
    assert umaze.stays(episode(rewards)) == pytest.approx(stays, nan_ok=True)


def test_the_published_references_score_0_and_100() -> None:
    scores = [
        umaze.Maze(reference=(0.0, 4.0)).scores([episode(rewards)])
        for rewards in ([0, 0, 0, 1], [1, 1, 1, 1])
    ]
    assert [score["normalised"] for score in scores] == [25, 100]
    assert umaze.Maze().reference == (13.49, 218.70)


def test_where_nobody_arrives_nobody_stays() -> None:
    assert np.isnan(umaze.Maze().scores([episode([0, 0, 0])])["stays_percent"])


def test_the_goal_pays_within_its_radius() -> None:
    places, goals = (
        torch.tensor([[0.0, 0.0], [0.0, 0.0]]),
        torch.tensor([[0.26, 0.36], [0.28, 0.36]]),
    )
    assert umaze.at_goal(places, goals).tolist() == [1.0, 0.0]
