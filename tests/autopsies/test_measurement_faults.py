"""Faults of the data and of its measurement: a flag, a missing tanh, a scale."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos.policy import Policy
from rlnotes.autopsies import covariate_shift, hand_scaling, raw_mean, time_limits
from rlnotes.autopsies.covariate_shift import DistanceToData
from rlnotes.autopsies.time_limits import (
    TruncationTerminates,
    terminated_lengths,
    truncation_as_termination,
)
from rlnotes.data import datasets
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.vector import led_to, make_vec_env


def episode(length: int, terminated: bool) -> Episode:
    steps = np.zeros((length, 1)), np.zeros(length)
    return Episode(0, np.zeros((length + 1, 1)), *steps, terminated, not terminated)


def test_only_the_last_flag_changes() -> None:
    healthy = episode(3, terminated=False)
    faulty = truncation_as_termination(healthy)
    assert Transitions.from_episodes([healthy]).all().terminated.tolist() == [0, 0, 0]
    assert Transitions.from_episodes([faulty]).all().terminated.tolist() == [0, 0, 1]
    assert faulty.observations is healthy.observations


def test_it_fires_where_the_clock_is_taken_for_an_end() -> None:
    out_of_time = [episode(3, terminated=False)] * 4
    faulty = [truncation_as_termination(one) for one in out_of_time]
    assert time_limits.fires(terminated_lengths(faulty), time_limit=3)
    assert not time_limits.fires(terminated_lengths(out_of_time), time_limit=3)
    fallen = [*faulty, episode(2, terminated=True)]
    assert not time_limits.fires(terminated_lengths(fallen), time_limit=3)


def test_in_a_vector_the_clock_ends_the_task_and_nothing_else_changes() -> None:
    healthy = make_vec_env("CartPole-v1", 2, max_episode_steps=3)
    faulty = TruncationTerminates(make_vec_env("CartPole-v1", 2, max_episode_steps=3))
    for envs in (healthy, faulty):
        envs.reset(seed=0)
    for step in range(1, 7):
        right, wrong = (envs.step(np.array([0, 1])) for envs in (healthy, faulty))
        over = step % 3 == 0
        assert (right[2].tolist(), wrong[2].tolist()) == ([False] * 2, [over] * 2)
        assert (right[3] == wrong[3]).all()
        assert (right[0] == wrong[0]).all()
        assert (led_to(right[0], right[4]) == led_to(wrong[0], wrong[4])).all()


# --- The mean without its tanh

LOW, HIGH = np.array([-1.0, 0.0]), np.array([1.0, 1.0])


def policy() -> Policy:
    torch.manual_seed(0)
    return Policy((3,), LOW, HIGH, (16,), "gaussian", obs_mean=np.ones(3))


def test_the_fault_leaves_out_the_tanh_and_nothing_else() -> None:
    obs = np.random.default_rng(0).normal(size=(50, 3))
    healthy, faulty = policy().act(obs), raw_mean.raw_mean_policy(policy())(obs)
    center, scale = (HIGH + LOW) / 2, (HIGH - LOW) / 2
    squashed = np.tanh((faulty - center) / scale) * scale + center
    assert healthy == pytest.approx(squashed, abs=1e-6)


def test_it_fires_on_the_fault_and_not_on_the_policy() -> None:
    obs = 20 * np.random.default_rng(0).normal(size=(50, 3))
    assert raw_mean.fires(raw_mean.raw_mean_policy(policy())(obs), LOW, HIGH)
    assert not raw_mean.fires(policy().act(obs), LOW, HIGH)


# --- States scaled by hand


def test_the_pendulums_velocity_is_divided_by_its_bound() -> None:
    mean, std = hand_scaling.velocity_by_bound(np.zeros((5, 3)))
    assert mean.tolist() == [0, 0, 0]
    assert std.tolist() == [1, 1, 8]


@pytest.mark.parametrize("width", [9, 11])
def test_positions_are_divided_by_the_length_of_the_track(width: int) -> None:
    mean, std = hand_scaling.positions_by_15(np.zeros((5, width)))
    assert mean.tolist() == [0] * width
    assert std.tolist() == [15, 15, *[1] * 7, *[15] * (width - 9)]


def test_the_walkers_observations_are_divided_by_their_bounds() -> None:
    bounds = gym.make("BipedalWalker-v3").observation_space
    assert isinstance(bounds, gym.spaces.Box)
    mean, std = hand_scaling.walker_by_bounds(np.empty((0, 24)))
    assert mean.tolist() == [0] * 24
    assert std == pytest.approx(bounds.high)


def test_it_fires_on_a_spread_that_is_far_from_1() -> None:
    wide = np.random.default_rng(0).normal(size=(500, 3)) * [
        1,
        10,
        0,
    ]  # one is constant
    assert hand_scaling.fires(wide, np.ones(3))
    assert not hand_scaling.fires(wide, wide.std(0) + 1e-3)


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize(
    ("dataset", "fault"),
    [
        ("rlnotes/pendulum/expert-v0", hand_scaling.velocity_by_bound),
        ("rlnotes/racecar/clean-v0", hand_scaling.positions_by_15),
    ],
)
def test_on_the_books_data_it_fires_on_the_fault_only(dataset: str, fault: Any) -> None:
    seen = np.concatenate([e.observations for e in datasets.load(dataset)])
    assert hand_scaling.fires(seen, fault(seen)[1])
    assert not hand_scaling.fires(seen, seen.std(0) + 1e-3)


@pytest.mark.parametrize(
    ("healthy", "faulty"),
    [
        (("td3bc/pendulum", "td3bc-expert"), ("td3bc/pendulum", "hand-scaled-states")),
        (("td3bc/racecar", "bc-clean"), ("td3bc/racecar", "bc-divided-by-15")),
    ],
)
def test_the_twins_differ_by_the_scale_only(
    differing: Any, healthy: tuple[str, str], faulty: tuple[str, str]
) -> None:
    assert differing(healthy, faulty) == {"obs_scale"}


# --- Distance to the demonstrations, by hand


def line(height: float, points: int = 101) -> Episode:
    """A drive along x at some height y."""
    places = np.linspace(0, 10, points), np.full(points, height)
    steps = points - 1
    rest = np.zeros((steps, 1)), np.zeros(steps), True, False
    return Episode(0, np.stack(places, axis=1), *rest)


def test_the_usual_distance_is_between_demonstrations_and_not_to_themselves() -> None:
    distance = DistanceToData([line(0), line(1), line(2)])
    _, y = distance.scale
    # one line apart, in units of the spread of y
    assert distance.usual == pytest.approx(1 / y)
    assert distance.farthest(line(1)) == 0


def test_a_drive_is_as_far_as_its_farthest_state() -> None:
    distance = DistanceToData([line(0), line(1), line(2)])
    assert distance.along(line(2.5)) == pytest.approx(0.5 / distance.scale[1])
    rising = np.linspace([0, 0], [0, 4], 101)
    leaving = replace(line(1), observations=line(1).observations + rising)
    # it ends three lines above the highest
    assert distance.farthest(leaving) == pytest.approx(3)
    assert covariate_shift.fires(distance.farthest(leaving))
    assert not covariate_shift.fires(distance.farthest(line(3)))
