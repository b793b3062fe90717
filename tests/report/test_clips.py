"""A clip is a film that a browser can play, with every policy in it, and things that
move."""

import base64
import os
import re
from functools import partial
from typing import Any

import gymnasium as gym
import imageio.v3 as imageio
import numpy as np
import pytest
from bs4 import BeautifulSoup

from rlnotes.data.rollouts import BatchPolicy
from rlnotes.report import clips


def push(obs: np.ndarray) -> np.ndarray:
    return np.full((len(obs), 1), 2.0, np.float32)


def rest(obs: np.ndarray) -> np.ndarray:
    return np.zeros((len(obs), 1), np.float32)


def left(obs: np.ndarray) -> np.ndarray:
    return np.zeros(len(obs), int)


def film_of(
    env_id: str, policies: dict[str, BatchPolicy], **options: Any
) -> np.ndarray:
    make = partial(gym.make, env_id)
    players = {label: (make, policy) for label, policy in policies.items()}
    html = clips.side_by_side(players, **options)._repr_html_()
    assert "video/mp4" in html
    encoded = re.search(r"base64,([^\"]+)", html)
    assert encoded
    return imageio.imread(base64.b64decode(encoded[1]), extension=".mp4")


def test_policies_stand_side_by_side_and_move() -> None:
    film = film_of("Pendulum-v1", {"push": push, "rest": rest}, seed=1, steps=12)
    assert film.shape == (12, clips.TILE + clips.CAPTION, 2 * clips.TILE, 3)
    assert np.abs(film[0].astype(int) - film[-1]).max() > 100
    one, other = np.split(film[-1].astype(int), 2, axis=1)
    assert np.abs(one - other).max() > 100


def test_a_film_has_a_size_and_words_for_those_who_cannot_see_it() -> None:
    make = partial(gym.make, "CartPole-v1")
    players = {"<left>": (make, left)}
    html = clips.side_by_side(players, seed=1, steps=2)._repr_html_()
    tag = BeautifulSoup(html, "html.parser").video
    assert tag is not None
    assert tag["aria-label"] == "Film of 2 steps: <left>."
    assert (tag["width"], tag["height"]) == ("352", f"{clips.TILE + clips.CAPTION}")


def test_wide_pictures_stay_wide_and_steps_can_be_left_out() -> None:
    film = film_of("CartPole-v1", {"left": left}, seed=1, steps=12, every=3)
    width = 352  # 600 by 400, and a multiple of 16
    assert film.shape == (4, clips.TILE + clips.CAPTION, width, 3)


def test_leaving_out_steps_changes_no_frame_and_an_ended_episode_stands_still() -> None:
    player = partial(gym.make, "CartPole-v1"), left  # falls after some ten steps
    whole = clips._film("left", *player, seed=1, steps=24, every=1)
    thinned = clips._film("left", *player, seed=1, steps=24, every=5)
    assert np.array_equal(thinned, whole[::5])
    assert np.array_equal(whole[-1], whole[-10])
    assert not np.array_equal(whole[0], whole[5])


def test_worlds_stand_side_by_side_under_their_names() -> None:
    columns = clips.pictures(["CartPole-v1", "rlnotes/Puck-v0"])
    assert [ax.get_title() for ax in columns] == ["CartPole-v1", "Puck-v0"]
    assert all(len(ax.images) == 1 for ax in columns)


def test_filming_looks_for_no_screen_and_no_sound_card(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "windows")
    monkeypatch.delenv("SDL_AUDIODRIVER", raising=False)
    film_of("CartPole-v1", {"left": left}, seed=1, steps=3)
    assert capfd.readouterr().err == ""
    assert os.environ["SDL_VIDEODRIVER"] == "windows", "as it was before"
    assert "SDL_AUDIODRIVER" not in os.environ
