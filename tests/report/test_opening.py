"""Recorded policies at one moment, of the seed that is asked for."""

from collections.abc import Callable

import matplotlib.pyplot as plt
import pytest

from rlnotes.report import describe, opening
from rlnotes.report.opening import Stills
from rlnotes.report.results import Results

Write = Callable[..., None]
LABELS = {"toy/task/good": "mended"}


@pytest.fixture
def recorded(write: Write) -> None:
    for seed, success in enumerate((95.0, 96.0, 94.0)):
        write("toy/task", "good", seed, success, 17.0)


def test_each_has_its_picture(recorded: None) -> None:
    figure = opening.drawn(Stills(LABELS, step=3, start_seed=0))
    assert describe.figure(figure) == "mended: as the camera sees it."
    plt.close(figure)


@pytest.mark.parametrize(("worst", "seed"), [(False, None), (True, 2)])
def test_of_the_median_seed_or_the_worst(
    recorded: None, monkeypatch: pytest.MonkeyPatch, worst: bool, seed: int | None
) -> None:
    asked = []
    policy = Results.policy

    def ask(self: Results, variant: str, seed: int | None = None) -> object:
        asked.append(seed)
        return policy(self, variant, seed)

    monkeypatch.setattr(Results, "policy", ask)
    plt.close(opening.drawn(Stills(LABELS, 1, 0, worst)))
    assert asked == [seed]
