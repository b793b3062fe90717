"""A world before any training: sound ones are quiet, and each fault of a world is
found."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TransformObservation

import rlnotes.envs
from rlnotes.doctor import world
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


class Lost(Line):
    def step(self, action: int) -> Any:
        obs, _, *rest = super().step(action)
        return obs, float("nan"), *rest


class Picture(Line):
    """Of which a corner is always black."""

    observation_space = gym.spaces.Box(0, 1, (1, 4, 4), np.float32)

    def _seen(self) -> np.ndarray:
        picture = np.zeros((1, 4, 4), np.float32)
        picture[0, 2, 2] = (self.place + 9) / 18
        return picture


class Parts(Line):
    observation_space: Any = gym.spaces.Dict(
        place=gym.spaces.Box(-20, 20, (1,), np.float32), side=gym.spaces.Discrete(5)
    )

    def _seen(self) -> Any:
        return {
            "place": np.array([self.place], np.float32),
            "side": int(self.place > 0),
        }


class Number(Line):
    observation_space: Any = gym.spaces.Discrete(40)

    def _seen(self) -> Any:
        return int(self.place + 20)


def divided() -> gym.Env:
    return FrameSkip(Line(), 2, divide_reward=True)


WORLDS: dict[str, tuple[Any, int | None, str | None]] = {
    "Line": (Line, 50, None),
    "OneStart": (OneStart, 50, "seeds"),
    "Endless": (Endless, None, "endless"),
    "Beyond": (Beyond, 50, "bounds"),
    "Constant": (Constant, 50, "constant-feature"),
    "Divided": (divided, 50, "wrapped-pay"),
    "Lost": (Lost, 50, "rewards"),
    "Picture": (Picture, 50, None),
    "Parts": (Parts, 50, None),
    "Number": (Number, 50, None),
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
    assert examine_env("CartPole-v1", believed_return=125).first == "misread-return"
    assert examine_env("CartPole-v1", believed_return=500).findings == ()
    mixed = examine_env("MountainCarContinuous-v0", believed_return=90)
    assert "all steps pay the same" in mixed.unexamined["misread-return"]


@pytest.mark.parametrize("env_id", ["NoSuchWorld-v0", "no_such_package:World-v0"])
def test_an_unknown_world_is_a_sentence_that_says_what_to_do(env_id: str) -> None:
    with pytest.raises(UserError, match=r"cannot be made.*my_package:MyWorld-v0"):
        examine_env(env_id)


def test_a_world_that_observes_no_box_is_flattened() -> None:
    report = examine_env("Blackjack-v1")
    assert "Tuple(Discrete(32)" in report.facts["observations"]
    assert "interface" not in report.fired
    assert "no box" in report.unexamined["raw-inputs"]


def test_a_world_that_cannot_be_flattened_is_told_so() -> None:
    graph = gym.spaces.Graph(gym.spaces.Box(0, 1, (2,)), None)

    def new(**_: Any) -> gym.Env:
        return TransformObservation(Line(), lambda obs: obs, graph)

    gym.register("SickGraph-v0", new)
    with pytest.raises(UserError, match="observes a Graph that cannot be flattened"):
        examine_env("SickGraph-v0")


def test_pay_that_is_no_number_is_found_and_nothing_else_is_made_of_it() -> None:
    fired = examine_env("SickLost-v0").fired
    assert not {"repeatable", "wrapped-pay"} & set(fired)


def test_of_large_pictures_only_some_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(world, "MOST_NUMBERS", 400)
    played = world.play(Picture, "Picture", 5, 0, flattened=False)
    assert 0 < played.observations.size <= 480 < 16 * played.steps
