"""Driving by keyboard, with synthetic key presses on SDL's dummy display."""

import os
from typing import Any

import gymnasium as gym
import numpy as np
import pygame
import pytest

from rlnotes.__main__ import main
from rlnotes.data import datasets, driving
from rlnotes.errors import UserError


@pytest.fixture(autouse=True)
def display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


class Still(gym.Wrapper):
    """The car with a picture that costs nothing, and a time limit of a few steps."""

    def render(self) -> Any:
        return np.zeros((24, 32, 3), np.uint8)


def make_env(steps: int = 6) -> gym.Env:
    return Still(gym.make("rlnotes/RaceCar-v0", max_episode_steps=steps))


def press(*keys: int) -> None:
    for key in keys:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key))


def test_each_press_is_a_notch_that_is_held_and_bounded() -> None:
    wheel = driving.Wheel(make_env(), fps=0)
    seen = []
    for keys in (
        (pygame.K_UP, pygame.K_UP),
        (),
        (pygame.K_LEFT,),
        (pygame.K_RIGHT,) * 9,
        (pygame.K_DOWN,) * 5,
        (pygame.K_a,),
    ):
        press(*keys)
        seen.append(wheel(np.zeros((1, 9)))[0].tolist())
    wheel.close()
    steering, throttle = zip(*seen, strict=True)
    assert steering == pytest.approx((0, 0, -0.2, 1, 1, 1), abs=1e-6)
    assert throttle == pytest.approx((0.2, 0.2, 0.2, 0.2, 0, 0), abs=1e-6)


def test_every_episode_starts_with_the_keys_released() -> None:
    env = make_env()
    env.reset(seed=0)
    pygame.init()
    press(pygame.K_UP)
    first, second = driving.drive(env, [1, 2], fps=0)
    assert first.actions[:, 1] == pytest.approx(0.1)
    assert second.actions[:, 1] == pytest.approx(0.0)
    assert (first.seed, second.seed) == (1, 2)
    assert first.truncated


def test_escape_keeps_what_was_driven_to_the_end() -> None:
    env = make_env(steps=2)
    calls = 0
    render = env.render

    def render_and_escape() -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:  # in the middle of the second episode
            press(pygame.K_ESCAPE)
        return render()

    env.render = render_and_escape  # type: ignore[method-assign]
    assert len(driving.drive(env, [1, 2, 3], fps=0)) == 1


def test_without_a_display_it_refuses_politely(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="no display"):
        driving.Wheel(make_env(), fps=0)
    assert main(["drive", "--episodes", "1", "--dataset", "rlnotes/test/none-v0"]) == 2
    assert "no display" in capsys.readouterr().err


def test_the_command_keeps_the_episodes_as_a_dataset(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    real_drive = driving.drive
    monkeypatch.setattr(
        driving, "drive", lambda env, starts: real_drive(make_env(), starts, fps=0)
    )
    command = ["drive", "--episodes", "2", "--dataset", "rlnotes/test/me-v0"]
    assert main([*command, "--json"]) == 0
    assert '"episodes": 2' in capsys.readouterr().out
    assert len(datasets.load("rlnotes/test/me-v0")) == 2
    assert main(command) == 2, "an existing dataset is kept"
    assert os.path.exists(tmp_path / "rlnotes/test/me-v0")
