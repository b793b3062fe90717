"""The race car's rules: what the walls, the finish and the options do."""

import itertools
import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.envs import racecar


def make(**options: Any) -> Any:
    return gym.make("rlnotes/RaceCar-v0", **options).unwrapped


def drive(env: Any, steering: float, throttle: float, steps: int) -> list[Any]:
    return [env.step((steering, throttle)) for _ in range(steps)]


def until_the_end(env: Any, steering: float, throttle: float) -> Any:
    for _ in range(500):
        result = env.step((steering, throttle))
        if result[2]:
            return result
    raise AssertionError("the episode never ended")


def test_the_start_is_where_the_notes_put_it() -> None:
    observation, _ = make().reset(seed=0)
    assert observation[:2] == pytest.approx(racecar.START)
    assert observation[4] == pytest.approx(math.pi / 2)
    assert observation[[2, 3, 5, 6, 7, 8]] == pytest.approx(0)


def test_throttle_drives_forward_and_steering_is_positive_to_the_right() -> None:
    env = make()
    env.reset(seed=0)
    straight = drive(env, 0.0, 0.5, 20)[-1][0]
    assert straight[1] > racecar.START[1] + 0.3
    assert straight[0] == pytest.approx(racecar.START[0], abs=0.02)
    env.reset(seed=0)
    assert drive(env, 0.5, 0.5, 20)[-1][0][0] > racecar.START[0] + 0.05


def test_a_wall_ends_the_episode_and_stands_still() -> None:
    env = make()
    env.reset(seed=0)
    where = env.physics.getBasePositionAndOrientation
    before = [where(wall) for wall in env._walls]
    _, reward, terminated, truncated, info = until_the_end(env, 0.0, 1.0)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert not info["is_success"]
    drive(env, 0.0, 1.0, 20)
    assert [where(wall) for wall in env._walls] == before


@pytest.mark.parametrize(
    ("distance", "radius", "arrives"),
    [(0.9, 1.0, True), (1.3, 1.0, False), (1.3, 2.0, True)],
)
def test_the_finish_pays_within_its_radius(
    distance: float, radius: float, arrives: bool
) -> None:
    env = make(finish_radius=radius)
    env.reset(seed=0)
    place = (racecar.FINISH[0] - distance, racecar.FINISH[1] - 0.4, 0.1)
    env.physics.resetBasePositionAndOrientation(env._car, place, (0, 0, 0, 1))
    distance_now = math.dist(place[:2], racecar.FINISH)
    _, reward, terminated, _, info = env.step((0.0, 0.0))
    assert (distance_now < radius) is arrives
    assert (reward, terminated) == ((3.0, True) if arrives else (0.0, False))
    assert info["is_success"] is arrives


def test_start_noise_moves_the_start_within_its_bounds() -> None:
    env = make(start_noise=1.0)
    starts = np.array([env.reset(seed=seed)[0] for seed in range(60)])
    shift = starts[:, [0, 1, 4]] - (*racecar.START, math.pi / 2)
    assert (np.abs(shift) <= np.array(racecar.START_SPREAD) + 1e-4).all()
    assert (shift.std(axis=0) > np.array(racecar.START_SPREAD) / 3).all()


@pytest.mark.parametrize("corner", list(itertools.product((-1, 1), repeat=3)))
def test_no_perturbed_start_touches_a_wall(corner: tuple[int, int, int]) -> None:
    env = make()
    env.reset(seed=0)
    start = (*racecar.START, racecar.START_HEADING)
    x, y, heading = np.array(corner) * racecar.START_SPREAD + start
    facing = env._facing(heading)
    env.physics.resetBasePositionAndOrientation(env._car, (x, y, 0.1), facing)
    assert not any(result[2] for result in drive(env, 0.0, 0.0, 5))


def test_two_physics_steps_make_another_car() -> None:
    once, twice = make(), make(physics_steps=2)
    once.reset(seed=0)
    twice.reset(seed=0)
    ends = drive(once, 0, 0.4, 20)[-1][0], drive(twice, 0, 0.4, 10)[-1][0]
    assert ends[1][1] == pytest.approx(ends[0][1], abs=1e-6)


def test_the_throttle_reverses_only_if_asked_to() -> None:
    clipped, backwards = make(), make(reverse=True)
    ends = []
    for env in (clipped, backwards):
        before = env.reset(seed=0)[0][1]
        ends.append(drive(env, 0.0, -0.3, 10)[-1][0][1] - before)
    assert ends[0] == pytest.approx(0, abs=1e-3)
    assert ends[1] < -0.05
    assert env.action_space.contains(np.array([0, -1], np.float32))


def test_action_noise_is_seeded_and_changes_the_drive() -> None:
    quiet, noisy = make(), make(action_noise=0.3)
    drives = []
    for env in (quiet, noisy, noisy):
        env.reset(seed=4)
        drives.append(drive(env, 0.1, 0.5, 20)[-1][0])
    assert np.array_equal(drives[1], drives[2])
    assert not np.array_equal(drives[0], drives[1])


def test_the_goal_can_be_part_of_the_observation() -> None:
    env = make(goal_in_observation=True)
    assert env.reset(seed=0)[0][9:] == pytest.approx(racecar.FINISH)
    assert env.observation_space.shape == (11,)


def test_the_time_limit_truncates() -> None:
    env = gym.make("rlnotes/RaceCar-v0", max_episode_steps=7)
    env.reset(seed=0)
    flags = [env.step(np.zeros(2, np.float32))[2:4] for _ in range(7)]
    assert flags == [(False, False)] * 6 + [(False, True)]
