"""All players do the same work, what is no step is not counted, and nothing is left
running."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rlnotes import ray_local
from rlnotes.errors import UserError
from rlnotes.experiments import backends, scripted_runners
from rlnotes.experiments.backends import (
    BACKENDS,
    PLAIN,
    SIMULATOR,
    Backend,
    Task,
    VectorPlayer,
    Work,
    cart_and_pole,
    new_task,
)
from rlnotes.experiments.base import Metrics
from rlnotes.experiments.throughput import ON_RAY, THROUGHPUT, compared

SAME_GENERATORS = ["sync", "async", "sb3_dummy", "sb3_subproc"]
NEXT_STEP = ["native", "envpool", "envpool_2_threads"]


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    assert set(psutil.Process().children(recursive=True)) <= before


def played(name: str, task: Task, turns: int = 3) -> list[tuple[int, int]]:
    """Steps and ends of each turn."""
    with closing(backends.find(name).make(task)) as player:
        works = [player.play() for _ in range(turns)]
    return [(work.steps, work.episodes) for work in works]


# --- the same work


@pytest.mark.parametrize("num_envs", [1, 4])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "rlnotes/RaceCar-v0"])
def test_with_the_same_generators_the_same_episodes_end_in_the_same_turn(
    env_id: str, num_envs: int
) -> None:
    task = new_task(env_id, num_envs, steps=202, seed=3)
    assert task.steps == 202 // num_envs * num_envs
    plain = played(PLAIN, task)
    assert sum(ended for _, ended in plain) > 5
    assert [steps for steps, _ in plain] == 3 * [task.steps]
    for name in SAME_GENERATORS:
        assert played(name, task) == plain, name


@pytest.mark.parametrize("name", [*NEXT_STEP, "native_same_step", "envpool_same_step"])
@pytest.mark.parametrize("num_envs", [1, 4])
def test_others_make_as_many_steps(name: str, num_envs: int) -> None:
    """Those that reset in the next step may be a part of a vector step ahead."""
    task = new_task("CartPole-v1", num_envs, steps=200, seed=3)
    slack = num_envs if name in NEXT_STEP else 1
    for steps, ended in played(name, task):
        assert task.steps <= steps < task.steps + slack
        assert ended > 1


def test_pong_is_the_same_elsewhere() -> None:
    """As many steps, with pictures and actions as ours."""
    task = new_task(backends.PONG, 2, steps=20, seed=3)
    for name in (PLAIN, *NEXT_STEP):
        assert played(name, task) == [(20, 0)] * 3, name
    import ale_py

    gym.register_envs(ale_py)
    more = backends.NATIVE_OPTIONS[backends.PONG]
    native = gym.make_vec("ALE/Pong-v5", 2, "vector_entry_point", **more)
    plain = task.make()
    assert native.single_observation_space == plain.observation_space
    assert native.single_action_space == plain.action_space
    native.close()


@pytest.mark.parametrize("variant", THROUGHPUT.variants)
def test_the_simulator_makes_as_many_steps(variant: str) -> None:
    env_id = THROUGHPUT.settings_for(variant, "smoke").env_id
    task = new_task(env_id, 2, steps=100, seed=3)
    assert [steps for steps, _ in played(SIMULATOR, task)] == [100, 100, 100]


def test_a_step_that_only_resets_is_not_counted() -> None:
    """Two copies and three actions each: six steps are to be made."""
    ends = iter([1, 0, 2, 0, 0, 1, 0, 0, 0])
    actions = np.array([[0, 1], [2, 3], [4, 5]])
    seen: list[int] = []

    def step(action: Any) -> int:
        seen.append(int(action[0]))
        return next(ends)

    task = Task("nowhere", 2, 0, actions)
    player = VectorPlayer(task, step, lambda: None, next_step=True)
    first = player.play()
    assert (first.steps, first.episodes) == (7, 3)  # 2 + 1 + 2 + 0 + 2
    assert seen == [0, 2, 4, 0, 2]
    again = player.play()
    assert (again.steps, again.episodes) == (7, 1)  # 2 + 1 + 2 + 2
    assert seen[5:] == [0, 2, 4, 0]


def test_a_player_that_resets_at_once_plays_each_action_once() -> None:
    ends = iter([1, 2, 0])
    task = Task("nowhere", 2, 0, np.zeros((3, 2)))
    work = VectorPlayer(task, lambda _: next(ends), lambda: None).play()
    assert (work.steps, work.episodes) == (6, 3)


def test_actions_are_drawn_beforehand_and_by_the_seed() -> None:
    one, again, other = (new_task("CartPole-v1", 4, 40, seed) for seed in (1, 1, 2))
    assert one.actions.shape == (10, 4)
    assert np.array_equal(one.actions, again.actions)
    assert not np.array_equal(one.actions, other.actions)
    car = new_task("rlnotes/RaceCar-v0", 2, 40, 1).actions
    assert car.shape == (20, 2, 2)
    assert (car[..., 1] >= 0).all()


@pytest.mark.slow(seconds=60)
@pytest.mark.xdist_group("ray")
def test_rllib_makes_as_many_steps_of_the_same_actions() -> None:
    task = new_task("CartPole-v1", 4, steps=200, seed=3)
    with ray_local.session():
        for name, runners in ON_RAY.items():
            for steps, ended in played(name, task):
                assert task.steps <= steps < task.steps + runners * task.num_envs
                assert ended > 1
        with pytest.raises(UserError, match="4 environments cannot be shared by 3"):
            scripted_runners.ScriptedRunners(task, 3)


def test_an_rllib_runner_plays_the_actions_as_they_are() -> None:
    """In this process, without Ray: the throttle would be another if it were scaled."""
    task = new_task("rlnotes/RaceCar-v0", 2, steps=20, seed=3)
    config = scripted_runners.config(task, task.actions)
    runner = scripted_runners.SingleAgentEnvRunner(config=config)
    episodes = runner.sample(num_timesteps=20)
    runner.stop()
    for copy, episode in enumerate(episodes):
        assert np.array_equal(episode.get_actions(), task.actions[:, copy])


# --- what is measured


def fake(seconds: list[float]) -> Backend:
    """A player of ten steps whose turns take so long."""

    class Player:
        def __init__(self, task: Task) -> None:
            self.turns = iter(seconds)

        def play(self) -> Work:
            return Work(10, 0, next(self.turns))

        def close(self) -> None: ...

    return Backend("fake", "a test", Player)


def test_speeds_are_medians_and_ratios_those_of_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first turn is not counted; in the second, all were slow."""
    monkeypatch.setitem(BACKENDS, PLAIN, fake([99.0, 20.0, 1.0, 2.0]))
    monkeypatch.setitem(BACKENDS, "sync", fake([0.1, 5.0, 0.5, 0.25]))
    found = compared(new_task("CartPole-v1", 1, 10, 0), [PLAIN, "sync"], turns=3)
    assert found == {
        "plain_steps_per_second": 5.0,
        "plain_times_plain": 1.0,
        "sync_steps_per_second": 20.0,
        "sync_times_plain": 4.0,
    }


def test_a_round_measures_every_backend_with_every_number() -> None:
    smoke = THROUGHPUT.settings_for("cartpole", "smoke")
    trial = THROUGHPUT.trial(smoke, seed=0)
    found: dict[int, Metrics] = dict(trial.stream)
    assert list(found) == [1, 4]
    here = {name for name in BACKENDS if name not in ON_RAY}
    for metrics in found.values():
        measured = {name for name in metrics if name.endswith("_times_plain")}
        assert measured == {f"{name}_times_plain" for name in here}
        assert all(value > 0 for name, value in metrics.items() if name in measured)


def test_no_more_environments_than_a_world_can_have() -> None:
    car = THROUGHPUT.settings_for("racecar", "full", {"backends": (PLAIN,)})
    fewer = replace(car, budget=replace(car.budget, steps=64, evaluations=1))
    assert [number for number, _ in THROUGHPUT.trial(fewer, 0).stream] == [1, 4, 16]


def test_only_the_time_in_the_simulator_counts() -> None:
    task = new_task("rlnotes/RaceCar-v0", 2, 100, 0)
    with closing(backends.find(SIMULATOR).make(task)) as player:
        started = time.perf_counter()
        work = player.play()
        assert 0 < work.seconds < time.perf_counter() - started


finite = st.floats(-2, 2, allow_subnormal=False)


@settings(max_examples=50, deadline=None)
@given(
    arrays(float, (4, 3), elements=finite), arrays(int, 3, elements=st.integers(0, 1))
)
def test_the_equations_of_motion_are_those_of_gymnasium(
    state: np.ndarray, action: np.ndarray
) -> None:
    env: Any = gym.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    moved = cart_and_pole(state, action)
    for copy in range(3):
        env.state, env.steps_beyond_terminated = state[:, copy], None
        env.step(int(action[copy]))
        assert moved[:, copy] == pytest.approx(np.array(env.state), abs=1e-12)


# --- bad input, and what it leaves behind


def test_an_unknown_backend_is_refused_before_anything_is_measured() -> None:
    wrong = {"backends": ("plain", "evnpool")}
    with pytest.raises(
        UserError, match="unknown backend 'evnpool'. Valid: plain, sync"
    ):
        THROUGHPUT.trial(THROUGHPUT.settings_for("cartpole", "smoke", wrong), 0)


def test_what_was_made_is_closed_if_the_next_cannot_be() -> None:
    task = new_task("rlnotes/RaceCar-v0", 2, 20, 0)
    with pytest.raises(UserError, match="has no native vector"):
        compared(task, [PLAIN, "async", "sb3_subproc", "native"], 1)


def test_a_world_without_a_simulator_of_its_own_says_which_have_one() -> None:
    task = new_task("Acrobot-v1", 1, 20, 0)
    with pytest.raises(UserError, match="Acrobot-v1.*Valid: CartPole-v1, Bipedal"):
        backends.simulator(task)


def test_every_backend_says_what_it_is_for() -> None:
    labels = {backend.label for backend in BACKENDS.values()}
    assert len(labels) == len(BACKENDS)
    assert all(backend.purpose for backend in BACKENDS.values())
    for variant in THROUGHPUT.variants:
        used = THROUGHPUT.settings_for(variant, "full").backends
        assert used[0] == PLAIN
        assert used[-1] == SIMULATOR
        assert set(used) <= set(BACKENDS)
