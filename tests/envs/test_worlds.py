"""The worlds: valid environments, repeatable to the bit, separate, robust."""

import json
import resource
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlnotes.envs import checks
from rlnotes.envs.checks import play
from rlnotes.envs.vector import Backend

CONTINUOUS = ["rlnotes/RaceCar-v0", "rlnotes/Puck-v0"]
DISCRETE = ["rlnotes/BulletCartPole-v0", "rlnotes/BalancingPlate-v0"]
WORLDS = CONTINUOUS + DISCRETE
each_world = pytest.mark.parametrize("world", WORLDS)


@each_world
def test_the_checker_finds_nothing(world: str) -> None:
    checks.interface(world)


@each_world
def test_same_seed_same_bits_after_any_history(world: str) -> None:
    checks.repeatable(world, seed=5)


@each_world
def test_other_seed_other_start_or_actions(world: str) -> None:
    env = gym.make(world)
    assert not np.array_equal(play(env, seed=1)[:2], play(env, seed=2)[:2])


@each_world
def test_two_worlds_in_one_process_do_not_touch(world: str) -> None:
    alone = play(gym.make(world), seed=3)
    one, other = gym.make(world), gym.make(world)
    other.reset(seed=9)
    rows = [np.append(one.reset(seed=3)[0], (0, 0, 0))]
    one.action_space.seed(3)
    while len(rows) < len(alone):
        _, _, terminated, truncated, _ = other.step(other.action_space.sample())
        if terminated or truncated:
            other.reset()
        action = one.action_space.sample()
        observation, reward, terminated, truncated, _ = one.step(action)
        rows.append(np.append(observation, (float(reward), terminated, truncated)))
    assert np.array_equal(np.array(rows), alone)


@each_world
@pytest.mark.slow(seconds=12)
def test_a_thousand_random_episodes_neither_leak_nor_leave_their_spaces(
    world: str,
) -> None:
    env: Any = gym.make(world)
    env.action_space.seed(0)
    env.reset(seed=0)
    bodies = env.unwrapped.physics.getNumBodies()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1_000):
        done = False
        while not done:
            action = env.action_space.sample()
            observation, reward, terminated, truncated, _ = env.step(action)
            assert np.isfinite(observation).all()
            assert env.observation_space.contains(observation)
            assert np.isfinite(reward)
            done = terminated or truncated
        env.reset()
    assert env.unwrapped.physics.getNumBodies() == bodies
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 30_000, f"{grown} kB more after 1,000 episodes"


@each_world
@pytest.mark.parametrize("backend", ["sync", "async"])
def test_vectorised_worlds_agree_with_single_ones(world: str, backend: Backend) -> None:
    checks.vectorised(world, 11, backend)


@each_world
def test_the_picture_is_one_and_changes(world: str) -> None:
    checks.picture(world, seed=0)


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ("interface", "seed"),
        ("repeatable", "other bits"),
        ("picture", "the picture is the same"),
        ("vector, sync", "another start"),
        ("vector, async", "another start"),
    ],
)
def test_each_check_refuses_a_careless_world(check: str, problem: str) -> None:
    careless = "rlnotes/CarelessPuck-v0"
    with pytest.raises((AssertionError, UserWarning), match=problem):
        checks.CHECKS[check](careless, 0)
    assert not checks.holds(checks.CHECKS[check], careless, 0)
    assert checks.holds(checks.CHECKS[check], "rlnotes/Puck-v0", 0)


car, puck = (gym.make(world) for world in CONTINUOUS)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@settings(max_examples=60, deadline=None)
@given(st.tuples(numbers, numbers))
def test_continuous_worlds_clip_what_is_out_of_range(
    action: tuple[float, float],
) -> None:
    for env, lowest in ((car, (-1, 0)), (puck, (-1, -1))):
        env.reset(seed=0)
        wild = env.unwrapped.step(np.array(action))[0]
        env.reset(seed=0)
        tame = env.unwrapped.step(np.clip(action, lowest, (1, 1)))[0]
        assert np.array_equal(wild, tame)


@pytest.mark.parametrize("env", [car, puck])
@pytest.mark.parametrize(
    "action",
    [(np.nan, 0.5), (0.0, np.inf), (0.0,), (0.0, 0.0, 0.0), 0.5, ((0.0, 0.0),)],
)
def test_continuous_worlds_refuse_what_is_no_action(env: gym.Env, action: Any) -> None:
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the action"):
        env.unwrapped.step(action)


@pytest.mark.parametrize("world", DISCRETE)
@pytest.mark.parametrize("action", [-1, 4, 0.5, np.nan, (0,), None, "left"])
def test_discrete_worlds_refuse_what_is_no_action(world: str, action: Any) -> None:
    env = gym.make(world)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the action"):
        env.unwrapped.step(action)


@each_world
def test_unknown_render_mode_and_missing_display_are_clear(
    world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory = gym.make(world).unwrapped.__class__
    with pytest.raises(ValueError, match="'rgb_array', 'human' or None"):
        factory(render_mode="ascii")  # type: ignore[call-arg]
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(gym.error.DependencyNotInstalled, match="no display.*rgb_array"):
        factory(render_mode="human")  # type: ignore[call-arg]


def share(
    picture: np.ndarray, close_to: tuple[int, int, int], within: int = 40
) -> float:
    return float((np.abs(picture.astype(int) - close_to).max(axis=2) < within).mean())


@pytest.mark.parametrize(
    ("world", "colours"),
    [
        (
            "rlnotes/RaceCar-v0",
            {
                "blue car": (0, 0, 190),
                "grey walls": (110, 110, 120),
                "white floor": (238, 238, 238),
            },
        ),
        (
            "rlnotes/Puck-v0",
            {
                "red puck": (160, 50, 20),
                "green target": (20, 110, 60),
                "pale ice": (222, 227, 230),
            },
        ),
        (
            "rlnotes/BulletCartPole-v0",
            {"blue cart": (0, 0, 150), "grey pole": (150, 150, 150)},
        ),
        (
            "rlnotes/BalancingPlate-v0",
            {"orange ball": (180, 90, 50), "grey plate": (160, 160, 160)},
        ),
    ],
)
def test_pictures_show_what_they_should(
    world: str, colours: dict[str, tuple[int, int, int]]
) -> None:
    env = gym.make(world, render_mode="rgb_array")
    env.reset(seed=0)
    picture: Any = env.render()
    assert picture.shape == (240, 320, 3)
    assert picture.dtype == np.uint8
    for what, colour in colours.items():
        assert share(picture, colour) > 0.001, f"no {what} in the picture"


# --- `import rlnotes` knows the worlds, and imports none of the libraries behind

HEAVY = ("pybullet", "mujoco", "torch", "minari", "ale_py", "envpool")


def test_importing_the_package_registers_the_worlds_and_is_light() -> None:
    code = (
        "import json, sys, rlnotes, gymnasium\n"
        "print(json.dumps([list(gymnasium.registry), list(sys.modules)]))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    worlds, modules = json.loads(found.stdout)
    names = ["RaceCar", "BulletCartPole", "BalancingPlate", "Puck", "CarelessPuck"]
    names += ["Orchard", "UMaze", "Atari", "PixelCartPole"]
    ours = {world for world in worlds if world.startswith("rlnotes/")}
    assert ours == {f"rlnotes/{name}-v0" for name in (*names, "UMaze")}
    assert not set(HEAVY) & set(modules)
