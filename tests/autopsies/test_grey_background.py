"""A background that drowns what moves on it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium import spaces

from rlnotes.algos.networks import SMALL_EYE, Eye
from rlnotes.algos.policy import Policy, load_policy, save_policies
from rlnotes.autopsies import grey_background
from rlnotes.envs.atari import PONG_GREY, Game, pong_field
from rlnotes.experiments.pong import BRIGHT_GREY, DIM_BLACK, ON_BLACK
from rlnotes.report import games

PICTURES = spaces.Box(0, 255, (4, 64, 64), np.uint8)


def test_differing_gates_by_hand() -> None:
    """One is always open, one never, and one for half of the pictures: two pictures
    differ by it every other time."""
    gates = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 1], [1, 0, 0]], bool)
    assert grey_background.differing_gates(gates) == pytest.approx(0.5 / 3)


@pytest.mark.parametrize(
    ("game", "eye", "fires"),
    [
        (Game("pong", **pong_field(64)), SMALL_EYE, True),
        (Game("pong", **pong_field(64)), ON_BLACK, False),
        (Game("pong", **pong_field(64)), DIM_BLACK, False),
        (Game("pong", **pong_field(64)), BRIGHT_GREY, True),
        (Game("breakout"), SMALL_EYE, False),
        # The other way round: what Pong has, put into Breakout.
        (Game("breakout"), replace(SMALL_EYE, background=-PONG_GREY), True),
    ],
    ids=[
        "pong",
        "on-black",
        "dim-black",
        "bright-grey",
        "breakout",
        "breakout-on-grey",
    ],
)
def test_it_fires_on_grey_and_not_on_black(game: Game, eye: Eye, fires: bool) -> None:
    pictures = games.random_pictures(game, decisions=120)
    for seed in range(3):
        gates = games.open_gates(pictures, eye, seed)
        differing = grey_background.differing_gates(gates)
        assert grey_background.fires(differing) == fires


def test_the_twin_is_the_small_eye() -> None:
    assert replace(ON_BLACK, **grey_background.FAULT) == SMALL_EYE


def test_the_background_of_a_picture_is_nought() -> None:
    policy = Policy.for_spaces(PICTURES, spaces.Discrete(6), (), eye=ON_BLACK)
    grey = np.full((2, 4, 64, 64), PONG_GREY, np.uint8)
    assert policy.encode_array(grey).abs().max() == 0
    white = policy.encode_array(np.full((2, 4, 64, 64), 255, np.uint8))
    assert torch.allclose(white, torch.full_like(white, (255 - PONG_GREY) / 64))


@pytest.mark.parametrize("eye", [SMALL_EYE, ON_BLACK], ids=["grey", "black"])
def test_a_saved_eye_sees_the_same(eye: Eye, tmp_path: Path) -> None:
    policy = Policy.for_spaces(PICTURES, spaces.Discrete(6), (), eye=eye)
    path = tmp_path / "policy.safetensors"
    save_policies(path, {"0": policy}, "a test")
    again = load_policy(path, "0", "a test", "this test")
    assert again.eye == eye
    pictures = np.random.default_rng(0).integers(0, 256, (3, 4, 64, 64), np.uint8)
    assert torch.equal(policy.encode_array(pictures), again.encode_array(pictures))
    assert np.array_equal(policy.act(pictures), again.act(pictures))
