"""A world before any training: sound ones are quiet, and each fault of a world is
found."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import rlnotes.envs
from rlnotes.doctor.world import examine_env
from rlnotes.envs.frame_skip import FrameSkip
from rlnotes.errors import UserError

assert rlnotes.envs


class Line(gym.Env[np.ndarray, int]):
    """Walk along a line from a drawn start; two steps beyond its end it is over."""

    observation_space = gym.spaces.Box(-20, 20, (2,), np.float32)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = float(self.np_random.uniform(-1, 1))
        self.speed = 0.0
        return self._seen(), {}

    def step(self, action: int) -> Any:
        self.speed = 2.0 * int(action) - 1
        self.place = float(np.clip(self.place + self.speed, -9, 9))
        return self._seen(), 1.0, abs(self.place) > 4, False, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.place, self.speed], np.float32)


class OneStart(Line):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0.0
        return self._seen(), {}


class Endless(Line):
    def step(self, action: int) -> Any:
        obs, reward, _, _, info = super().step(action)
        return obs, reward, False, False, info


class Beyond(Line):
    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)


class Constant(Line):
    def _seen(self) -> np.ndarray:
        return np.array([self.place, 3.0], np.float32)


def divided() -> gym.Env:
    return FrameSkip(Line(), 2, divide_reward=True)


WORLDS: dict[str, tuple[Any, int | None, str | None]] = {
    "Line": (Line, 50, None),
    "OneStart": (OneStart, 50, "seeds"),
    "Endless": (Endless, None, "endless"),
    "Beyond": (Beyond, 50, "bounds"),
    "Constant": (Constant, 50, "constant-feature"),
    "Divided": (divided, 50, "wrapped-pay"),
}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(gym.registry)
    monkeypatch.setattr(gym.envs.registration, "registry", known)
    for name, (entry, limit, _) in WORLDS.items():
        gym.register(f"Sick{name}-v0", entry, max_episode_steps=limit)


@pytest.mark.parametrize("name", WORLDS)
def test_a_fault_of_a_world_is_found_and_a_sound_one_is_quiet(name: str) -> None:
    fault = WORLDS[name][2]
    report = examine_env(f"Sick{name}-v0")
    assert (fault in report.fired) if fault else report.fired == [], str(report)


def test_gymnasiums_own_worlds_are_quiet_and_ours_that_is_careless_is_not() -> None:
    report = examine_env("CartPole-v1")
    assert report.findings == ()
    assert "time limit 500" in report.facts["episodes"]
    assert "a perfect episode pays 500" in report.facts["rewards"]
    assert examine_env("rlnotes/CarelessPuck-v0").fired == ["interface", "repeatable"]


def test_a_return_that_cannot_be_reached_is_no_yardstick() -> None:
    assert examine_env("CartPole-v1", believed_return=2_000).first == "misread-return"
    assert examine_env("CartPole-v1", believed_return=500).findings == ()


@pytest.mark.parametrize("env_id", ["NoSuchWorld-v0", "no_such_package:World-v0"])
def test_an_unknown_world_is_a_sentence_that_says_what_to_do(env_id: str) -> None:
    with pytest.raises(UserError, match=r"cannot be made.*my_package:MyWorld-v0"):
        examine_env(env_id)


def test_a_world_that_observes_no_box_is_told_what_to_do() -> None:
    with pytest.raises(UserError, match="FlattenObservation"):
        examine_env("Blackjack-v1")
