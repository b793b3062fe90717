"""What a value loss asks of V in an update, for errors of any size: its gradient, by
default before the first step, when V is still what it was."""

from collections.abc import Callable

import torch
from matplotlib.axes import Axes
from torch import Tensor

from rlnotes.algos import ppo
from rlnotes.autopsies import value_clip
from rlnotes.report import figures, tables
from rlnotes.report.tables import Table

CLIP = 0.1
Loss = Callable[..., tuple[Tensor, ppo.Diagnostics]]
LOSSES: dict[str, Loss] = {
    "squared error": ppo.squared_value_loss,
    "clipped around the old value": ppo.clipped_value_loss,
    "clipped around the return": value_clip.clipped_around_returns,
}


def gradient(
    loss: Loss, error: Tensor, clip_coef: float = CLIP, moved: float = 0.0
) -> Tensor:
    """For V that was 0 and has `moved`, and returns of `error`: how fast each row's own
    loss falls as V rises."""
    value = torch.full_like(error, moved).requires_grad_()
    mean, _ = loss(value, torch.zeros_like(error), error, clip_coef)
    (found,) = torch.autograd.grad(mean, value)
    return -found * len(error)


def picture(largest: float = 1.0) -> Axes:
    ax = figures.axes(width=7.0, height=3.0)
    error = torch.linspace(-largest, largest, 401)
    styles = (("-", 4.0), ("--", 1.5), ("-", 2.0))
    colours = (figures.SKY, figures.BLACK, figures.ORANGE)
    for (name, loss), colour, (dashes, width) in zip(
        LOSSES.items(), colours, styles, strict=True
    ):
        line = {"color": colour, "linestyle": dashes, "linewidth": width}
        ax.plot(error, gradient(loss, error), label=name, **line)
    ax.set(xlabel="how much V is below the return", ylabel="how hard V is pushed up")
    figures.legend(ax, "outside")
    return ax


def table(errors: tuple[float, ...] = (0.05, 0.2, 1.0)) -> Table:
    """The same in numbers."""
    error = torch.tensor(errors)
    return Table(
        ("gradient for an error of", *(tables.text(one, "g") for one in errors)),
        [
            (name, *(tables.number(one, 2) for one in gradient(loss, error).tolist()))
            for name, loss in LOSSES.items()
        ],
    )
