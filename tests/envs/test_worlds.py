"""The worlds: valid Gymnasium environments, repeatable to the bit, separate from each other, robust."""

import resource
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import rlnotes.envs

WORLDS = ["rlnotes/RaceCar-v0", "rlnotes/BulletCartPole-v0", "rlnotes/BalancingPlate-v0"]
each_world = pytest.mark.parametrize("world", WORLDS)

assert rlnotes.envs  # importing it registers the worlds


def play(env: gym.Env, seed: int, steps: int = 60) -> np.ndarray:
    """Observations, reward and flags of `steps` seeded random actions; stops at the end of the episode."""
    rows = [np.append(env.reset(seed=seed)[0], (0, 0, 0))]
    env.action_space.seed(seed)
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        rows.append(np.append(observation, (float(reward), terminated, truncated)))
        if terminated or truncated:
            break
    return np.array(rows)


@each_world
@pytest.mark.parametrize("render_mode", [None, "rgb_array"])
def test_the_checker_finds_nothing(world: str, render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The checker would also open a window; pictures are looked at further down.
        check_env(gym.make(world, render_mode=render_mode).unwrapped, skip_render_check=True)


@each_world
def test_same_seed_same_bits_after_any_history(world: str) -> None:
    used, fresh = gym.make(world), gym.make(world)
    expected = play(fresh, seed=5)
    for history in range(8):
        play(used, seed=100 + history, steps=10 * history)
        assert np.array_equal(play(used, seed=5), expected)


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
        _, _, over, cut, _ = other.step(other.action_space.sample())
        if over or cut:
            other.reset()
        observation, reward, terminated, truncated, _ = one.step(one.action_space.sample())
        rows.append(np.append(observation, (float(reward), terminated, truncated)))
    assert np.array_equal(np.array(rows), alone)


@each_world
def test_a_thousand_random_episodes_neither_leak_nor_leave_their_spaces(world: str) -> None:
    env: Any = gym.make(world)
    env.action_space.seed(0)
    env.reset(seed=0)
    bodies = env.unwrapped.physics.getNumBodies()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1_000):
        over = False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            assert np.isfinite(observation).all()
            assert env.observation_space.contains(observation)
            assert np.isfinite(reward)
            over = terminated or truncated
        env.reset()
    assert env.unwrapped.physics.getNumBodies() == bodies
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 30_000, f"{grown} kB more after 1,000 episodes"


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("how", ["sync", "async"])
def test_vectorised_worlds_agree_with_single_ones(world: str, how: str) -> None:
    vector = gym.make_vec(world, num_envs=2, vectorization_mode=how)
    first, _ = vector.reset(seed=[11, 12])  # type: ignore[arg-type]
    single = gym.make(world)
    for row, seed in enumerate((11, 12)):
        assert np.array_equal(first[row], single.reset(seed=seed)[0])
    vector.action_space.seed(0)
    actions = vector.action_space.sample()
    second = vector.step(actions)[0]
    single.reset(seed=12)
    assert np.array_equal(second[1], single.step(actions[1])[0])
    vector.close()


car = gym.make("rlnotes/RaceCar-v0")
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@settings(max_examples=60, deadline=None)
@given(st.tuples(numbers, numbers))
def test_the_car_clips_what_is_out_of_range(action: tuple[float, float]) -> None:
    car.reset(seed=0)
    wild = car.unwrapped.step(np.array(action))[0]
    car.reset(seed=0)
    tame = car.unwrapped.step(np.clip(action, (-1, 0), (1, 1)))[0]
    assert np.array_equal(wild, tame)


@pytest.mark.parametrize("action", [(np.nan, 0.5), (0.0, np.inf), (0.0,), (0.0, 0.0, 0.0), 0.5, ((0.0, 0.0),)])
def test_the_car_refuses_what_is_no_action(action: Any) -> None:
    car.reset(seed=0)
    with pytest.raises(ValueError, match="the action"):
        car.unwrapped.step(action)


@pytest.mark.parametrize("world", WORLDS[1:])
@pytest.mark.parametrize("action", [-1, 4, 0.5, np.nan, (0,), None, "left"])
def test_discrete_worlds_refuse_what_is_no_action(world: str, action: Any) -> None:
    env = gym.make(world)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the action"):
        env.unwrapped.step(action)


@each_world
def test_unknown_render_mode_and_missing_display_are_clear(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    factory = gym.make(world).unwrapped.__class__
    with pytest.raises(ValueError, match="'rgb_array', 'human' or None"):
        factory(render_mode="ascii")  # type: ignore[call-arg]
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(gym.error.DependencyNotInstalled, match="no display.*rgb_array"):
        factory(render_mode="human")  # type: ignore[call-arg]


def share(picture: np.ndarray, close_to: tuple[int, int, int], within: int = 40) -> float:
    return float((np.abs(picture.astype(int) - close_to).max(axis=2) < within).mean())


@pytest.mark.parametrize(
    ("world", "colours"),
    [
        (
            "rlnotes/RaceCar-v0",
            {"blue car": (0, 0, 190), "grey walls": (110, 110, 120), "white floor": (238, 238, 238)},
        ),
        ("rlnotes/BulletCartPole-v0", {"blue cart": (0, 0, 150), "grey pole": (150, 150, 150)}),
        ("rlnotes/BalancingPlate-v0", {"orange ball": (180, 90, 50), "grey plate": (160, 160, 160)}),
    ],
)
def test_pictures_show_what_they_should(world: str, colours: dict[str, tuple[int, int, int]]) -> None:
    env = gym.make(world, render_mode="rgb_array")
    env.reset(seed=0)
    picture: Any = env.render()
    assert picture.shape == (240, 320, 3)
    assert picture.dtype == np.uint8
    for what, colour in colours.items():
        assert share(picture, colour) > 0.001, f"no {what} in the picture"
