"""What a score of the pixel CartPole means."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from rlnotes.report import pixel_cart

mpl.use("agg")


def test_a_divided_perfect_episode_is_worth_a_quarter() -> None:
    found = {row[:2]: row[2:] for row in pixel_cart.ceilings().rows}
    assert found["4", "the mean of its frames"] == ("125", "yes")
    assert found["4", "the sum of its frames"] == ("500", "no")
    assert len(found) == 5


def test_the_notes_seven_episodes_in_frames() -> None:
    assert pixel_cart.frames_of_the_notes() == pytest.approx(4 * 526 / 7)


def test_fewer_rules_balance_if_a_push_is_held_for_longer() -> None:
    table = pixel_cart.shares_that_hold((1, 4), rules=100)
    assert [row[-1] for row in table.rows] == ["no", "yes"]


def test_the_line_is_drawn_and_more_changes_in_four_frames() -> None:
    shown = [np.asarray(ax.images[0].get_array()) for ax in pixel_cart.pictures()]
    plain, lined, two, four = shown
    assert (lined != plain).any(0).sum() <= 2  # columns
    assert (255 - four).sum() > (255 - two).sum()
    plt.close("all")
