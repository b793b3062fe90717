"""Gradients of value losses by hand, before the first step."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch

from rlnotes.report import value_losses

mpl.use("agg")

ERRORS = torch.tensor([-1.0, -0.05, 0.05, 0.4])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("squared error", [-2, -0.1, 0.1, 0.8]),
        ("clipped around the old value", [-2, -0.1, 0.1, 0.8]),
        # An error within the clip counts twice: V − R and what is added of it.
        ("clipped around the return", [0, -0.2, 0.2, 0]),
    ],
)
def test_only_the_notes_clip_takes_the_gradient_away(
    name: str, expected: list[float]
) -> None:
    found = value_losses.gradient(value_losses.LOSSES[name], ERRORS)
    assert found.tolist() == pytest.approx(expected)


def test_a_value_that_has_moved_too_far_is_stopped_and_may_come_back() -> None:
    """Towards a return of 1 and away from one of −1, by twice the clip."""
    error = torch.tensor([1.0, -1.0])
    loss = value_losses.LOSSES["clipped around the old value"]
    found = value_losses.gradient(loss, error, clip_coef=0.1, moved=0.2)
    assert found.tolist() == pytest.approx([0, -2.4])


def test_table_and_picture_show_all_of_them() -> None:
    table = value_losses.table((0.05, 1.0))
    assert [row[0] for row in table.rows] == list(value_losses.LOSSES)
    assert table.rows[-1][1:] == ("0.20", "0.00")
    ax = value_losses.picture()
    assert len(ax.lines) == len(value_losses.LOSSES)
    plt.close("all")
