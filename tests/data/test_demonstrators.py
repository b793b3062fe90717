"""The drivers: the script arrives, the person at the keyboard is notched, late and
depends on the past."""

import os
from typing import Any

import gymnasium as gym
import numpy as np
import pygame
import pytest

from rlnotes.__main__ import main
from rlnotes.data import datasets, driving
from rlnotes.data.demonstrators import (
    STEERING_NOTCH,
    THROTTLE_NOTCH,
    ArrowKeys,
    PurePursuit,
    Unsteady,
    keyboard_person,
    racing_line,
)
from rlnotes.data.rollouts import Episode, rollout
from rlnotes.envs import racecar
from rlnotes.errors import UserError
from rlnotes.seeding import reset_seeds


def drive(
    player: object, starts: list[int], action_noise: float = 0.0
) -> list[Episode]:
    def make_env() -> gym.Env:
        return gym.make(
            "rlnotes/RaceCar-v0", start_noise=1.0, action_noise=action_noise
        )

    return rollout(make_env, player, starts, at_once=10)  # type: ignore[arg-type]


@pytest.mark.slow(seconds=7)
def test_the_script_arrives_from_99_of_100_perturbed_starts() -> None:
    episodes = drive(PurePursuit(), reset_seeds("evaluate", 5, 100))
    assert sum(episode.total_reward == 3 for episode in episodes) >= 99


def test_the_script_arrives_although_the_car_is_shaken() -> None:
    episodes = drive(PurePursuit(), reset_seeds("evaluate", 5, 20), action_noise=0.15)
    assert sum(episode.total_reward == 3 for episode in episodes) >= 19


def test_the_line_keeps_off_the_walls() -> None:
    for begin, end in racecar.WALLS:
        first, along = np.array(begin, float), np.subtract(end, begin).astype(float)
        share = np.clip((racing_line() - first) @ along / (along @ along), 0, 1)
        distance = np.hypot(*(racing_line() - first - share[:, None] * along).T)
        assert distance.min() > racecar.WALL_THICKNESS / 2 + 0.25


def test_steering_points_at_the_line() -> None:
    straight_on_line = np.zeros((3, 9), np.float32)
    straight_on_line[:, :2] = (5.0, 3.0)
    # Heading +x: on it, left of it, right of it.
    straight_on_line[:, 1] += (0.0, 0.5, -0.5)
    on, left, right = PurePursuit()(straight_on_line)[:, 0]
    assert on == pytest.approx(0, abs=1e-3)
    assert left > 0.1  # right is positive
    assert right < -0.1


def test_the_keyboard_moves_in_notches_at_most_every_second_step() -> None:
    (episode,) = drive(keyboard_person(), reset_seeds("evaluate", 5, 1))
    steering, throttle = episode.actions.T / [[STEERING_NOTCH], [THROTTLE_NOTCH]]
    assert np.allclose(steering, np.round(steering), atol=1e-4)
    assert np.allclose(throttle, np.round(throttle), atol=1e-4)
    presses = (np.abs(np.diff(episode.actions, axis=0)) > 1e-6).sum(axis=1)
    assert presses.max() == 1
    assert (presses[:-1] + presses[1:]).max() == 1


def test_the_person_at_the_keyboard_arrives_most_of_the_time() -> None:
    starts = reset_seeds("evaluate", 5, 10)
    episodes = [drive(keyboard_person(), [start])[0] for start in starts]
    assert sum(episode.total_reward == 3 for episode in episodes) >= 8


def test_the_same_observation_can_lead_to_different_keys() -> None:
    """Not a function of the observation: what imitation assumes does not hold for this
    demonstrator."""
    start = np.array([[0.5, 0.5, 0, 0, np.pi / 2, 0, 0, 0, 0]], np.float32)
    person = ArrowKeys(PurePursuit(), delay=0, pause=1)
    assert not np.array_equal(person(start), person(start))


def test_unsteady_hands_shake_around_what_the_driver_wants_and_stay_in_bounds() -> None:
    obs = np.tile(gym.make("rlnotes/RaceCar-v0").reset(seed=0)[0], (4_000, 1))
    actions = Unsteady(PurePursuit(), seed=0, noise=0.1)(obs)
    assert actions.mean(0) == pytest.approx(PurePursuit()(obs[:1])[0], abs=0.01)
    assert actions.std(0) == pytest.approx([0.1, 0.1], abs=0.02)
    wild = Unsteady(PurePursuit(), seed=0, noise=9.0)(obs)
    assert (wild.min(0) == [-1, 0]).all()
    assert (wild.max(0) == [1, 1]).all()
    assert np.array_equal(actions, Unsteady(PurePursuit(), seed=0, noise=0.1)(obs))


# --- Driving by keyboard, with synthetic key presses on SDL's dummy display


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
