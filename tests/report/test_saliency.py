"""Saliency of an eye that is known to look at one pixel."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
from gymnasium import spaces
from scipy.ndimage import gaussian_filter

from rlnotes.algos.networks import LOW_EYE, Eye
from rlnotes.algos.policy import Policy
from rlnotes.report import saliency
from rlnotes.report.saliency import BLUR, SPOT, seen_and_looked_at

mpl.use("agg")

SIZE, ROW, COLUMN = 84, 20, 56


@torch.no_grad()
def looks_at_one_pixel() -> Policy:
    """Of the newest picture: its first output is that pixel, from 0 to 1."""
    policy = Policy.for_spaces(
        spaces.Box(0, 255, (2, SIZE, SIZE), np.uint8),
        spaces.Discrete(2),
        (),
        eye=Eye(((1, 1, 1),), units=1),
    )
    layers: list[Any] = [policy.net[place] for place in (0, 3, 5)]
    for layer in layers:
        layer.weight.zero_()
        layer.bias.zero_()
    conv, flat, last = layers
    conv.weight[0, 1] = 1
    flat.weight[0, ROW * SIZE + COLUMN] = 1
    last.weight[0] = 1
    return policy


def test_a_picture_of_any_size_has_a_value_for_each_pixel() -> None:
    policy = Policy.for_spaces(
        spaces.Box(0, 255, (1, 42, 42), np.uint8), spaces.Discrete(2), (), eye=LOW_EYE
    )
    picture = np.random.default_rng(0).integers(256, size=(1, 42, 42), dtype=np.uint8)
    assert saliency.saliency(policy, picture).shape == (42, 42)


@pytest.fixture
def stack() -> np.ndarray:
    """A bright ball where it looks, and another one where it does not."""
    pictures = np.full((2, SIZE, SIZE), 50, np.uint8)
    pictures[:, ROW - 1 : ROW + 2, COLUMN - 1 : COLUMN + 2] = 250
    pictures[:, 60:63, 10:13] = 250
    return pictures


def test_the_network_is_what_the_test_says(stack: np.ndarray) -> None:
    policy = looks_at_one_pixel()
    outputs = policy.net(policy.encode_array(stack[None]))
    assert outputs.tolist() == [[pytest.approx(250 / 255), 0.0]]


def test_it_is_largest_where_it_looks_and_as_large_as_by_hand(
    stack: np.ndarray,
) -> None:
    found = saliency.saliency(looks_at_one_pixel(), stack)
    assert found.shape == (SIZE, SIZE)
    row, column = np.unravel_index(found.argmax(), found.shape)
    assert abs(int(row) - ROW) <= 4
    assert abs(int(column) - COLUMN) <= 4
    blurred = gaussian_filter(stack[1].astype(float), BLUR)[ROW, COLUMN]
    change = (250 - blurred) / 255
    measured = saliency.saliency(looks_at_one_pixel(), stack, every=1)
    assert measured[ROW, COLUMN] == pytest.approx(0.5 * change**2, rel=1e-3)
    spot = np.exp(-0.5 * (10 / SPOT) ** 2)  # ten pixels away
    away = measured[ROW, COLUMN - 10]
    assert away == pytest.approx(0.5 * (change * spot) ** 2, rel=1e-2)
    assert measured[61, 11] < 1e-6  # there is a ball, but nobody looks


def test_what_is_the_same_everywhere_is_nowhere_looked_at() -> None:
    same = np.full((2, SIZE, SIZE), 90, np.uint8)
    assert saliency.saliency(looks_at_one_pixel(), same).max() < 1e-10


def test_the_figure_has_every_picture_and_what_is_looked_at(
    stack: np.ndarray,
) -> None:
    columns = seen_and_looked_at(looks_at_one_pixel(), stack)
    titles = [ax.get_title() for ax in columns]
    assert titles == ["now − 1", "now", "looked at"]
    assert [len(ax.images) for ax in columns] == [1, 1, 2]
    newest: Any = columns[1].images[0].get_array()
    assert np.array_equal(newest, stack[1])
