"""All agents that have a policy, once for each world, and the ledger in numbers."""

from collections.abc import Callable

import matplotlib.pyplot as plt
import pytest

from rlnotes.envs.atari import Game
from rlnotes.experiments.base import World
from rlnotes.experiments.pixels import judged
from rlnotes.report import describe, front, ledger

Write = Callable[..., None]


@pytest.fixture
def recorded(write: Write) -> None:
    """A row with a policy; one that has none, and whose bar is out of reach."""
    for seed in (0, 1):
        write("toy/task", "good", seed, 96.0 + seed, 17.0)
        write("toy/task", "bad", seed, 0.0, 17.0)
        write("toy/copy", "copy", seed, 50.0, 17.0)
    write("toy/expert", "expert", 0, 100.0, 17.0)


def test_an_agent_for_each_world_that_has_a_policy(recorded: None) -> None:
    assert list(front.players()) == ["Cart Pole"]


def test_a_game_has_its_own_name_and_others_that_of_their_world() -> None:
    assert front.name_of(judged(Game("basic_math"))) == "Basic Math"
    assert front.name_of(World("rlnotes/PixelCartPole-v0")) == "Pixel Cart Pole"


def test_they_are_drawn_and_told(recorded: None) -> None:
    figure = front.agents(step=3)
    assert len([ax for ax in figure.axes if ax.images]) == 1
    words = "Cart Pole: as the camera sees it."
    assert words in describe.figure(figure)
    plt.close(figure)


def test_counts(recorded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "SLUGS", {"Toys": "toys", "Others": "others"})
    assert front.counts() == {
        "rows": 3,
        "of-the-notes": 3,
        "recorded": 2,
        "reached": 1,
        "failed": 1,
        "mended": 0,
        "toys-rows": 2,
        "toys-recorded": 2,
        "toys-reached": 1,
        "others-rows": 1,
        "others-recorded": 0,
        "others-reached": 0,
    }
