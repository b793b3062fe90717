"""One contract for every backend: against a plain loop where the seeds are the same,
against the equations of motion where they are not."""

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from hypothesis import given, settings
from hypothesis import strategies as st

from rlnotes.envs.vector import (
    Backend,
    as_vector,
    led_to,
    make_vec_env,
    require_different_copies,
    require_same_step,
)
from rlnotes.errors import UserError

IN_PROCESS: list[Backend] = ["sync", "native", "envpool"]
BACKENDS: list[Backend] = [*IN_PROCESS, "async"]

seeds = st.integers(0, 2**30 - 1)
quick = settings(max_examples=15, deadline=None)


@dataclass(frozen=True)
class Steps:
    """What a vector did: (steps, environments, ...)."""

    obs: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_obs: np.ndarray  # where each step led
    terminated: np.ndarray
    truncated: np.ndarray
    shown: np.ndarray  # what the vector showed after each step

    @property
    def done(self) -> np.ndarray:
        return self.terminated | self.truncated


def play(envs: VectorEnv, actions: Any, seed: Any, steps: int) -> Steps:
    """`actions` are an array, or a function of the observations; all is copied, so that
    a vector that writes over what it returned is found out."""
    obs, infos = envs.reset(seed=seed)
    rows = []
    for step in range(steps):
        action = actions(obs) if callable(actions) else actions[step]
        before = obs.copy()
        obs, reward, terminated, truncated, infos = envs.step(action)
        ended = (terminated | truncated).any()
        assert ("final_obs" in infos) == ended
        if ended:
            assert np.array_equal(infos["_final_obs"], terminated | truncated)
        there = led_to(obs, infos)
        row = (before, action, reward, there, terminated, truncated, obs.copy())
        rows.append(row)
    return Steps(*(np.array(column) for column in zip(*rows, strict=True)))


# --- a world with both ends, against a plain loop


class Lottery(gym.Env[np.ndarray, int]):
    """Begins with a drawn number and adds the actions to it. A multiple of 5 ends the
    task, seven steps the time; with both at once, both are said."""

    observation_space = gym.spaces.Box(0, 1e3, (2,), np.float64)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.total, self.time = int(self.np_random.integers(1, 500)), 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.total, self.time = self.total + int(action), self.time + 1
        over = self.total % 5 == 0
        return self._seen(), self.total / 2, over, self.time == 7, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.total, self.time], float)


def plain_loop(seeds: list[int], actions: np.ndarray) -> Steps:
    """The same played one world after the other, reset by hand."""
    columns = []
    for copy, seed in enumerate(seeds):
        env, rows = Lottery(), []
        obs, _ = env.reset(seed=seed)
        for action in actions[:, copy]:
            there, reward, terminated, truncated, _ = env.step(action)
            shown = env.reset()[0] if terminated or truncated else there
            rows.append((obs, action, reward, there, terminated, truncated, shown))
            obs = shown
        columns.append(rows)
    return Steps(*(np.array(field).swapaxes(0, 1) for field in _fields(columns)))


def _fields(columns: list[list[Any]]) -> Iterator[list[Any]]:
    for field in range(7):
        yield [[row[field] for row in rows] for rows in columns]


def agree_with_a_plain_loop(backend: Backend, first: int, copies: int) -> Steps:
    starts = [first + 3 * copy for copy in range(copies)]
    actions = np.random.default_rng(first).integers(4, size=(40, copies))
    with closing(make_vec_env(Lottery, copies, backend)) as envs:
        played = play(envs, actions, starts, len(actions))
    expected = plain_loop(starts, actions)
    for name, column in vars(played).items():
        assert np.array_equal(column, vars(expected)[name]), name
    return played


@quick
@given(first=seeds, copies=st.integers(1, 6))
def test_side_by_side_is_like_one_after_the_other(first: int, copies: int) -> None:
    agree_with_a_plain_loop("sync", first, copies)


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_all_three_kinds_of_end_are_like_a_plain_loops(backend: Backend) -> None:
    played = agree_with_a_plain_loop(backend, first=0, copies=6)
    assert (played.terminated & ~played.truncated).any()
    assert (played.truncated & ~played.terminated).any()
    assert (played.terminated & played.truncated).any()


# --- CartPole, against its equations of motion

FALLEN = np.array([2.4, np.inf, 12 * 2 * np.pi / 360, np.inf])
BALANCING = np.array([0.1, 0.3, 1.0, 0.5])  # an action that keeps the pole up


def cartpole_step(state: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Euler's step of 0.02 s (Barto, Sutton and Anderson, 1983)."""
    _, speed, angle, spin = np.moveaxis(state.astype(float), -1, 0)
    force = np.where(action == 1, 10.0, -10.0)
    swing = (force + 0.05 * spin**2 * np.sin(angle)) / 1.1
    turning = (9.8 * np.sin(angle) - np.cos(angle) * swing) / (
        0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)
    )
    pushing = swing - 0.05 * turning * np.cos(angle) / 1.1
    change = np.stack([speed, pushing, spin, turning], axis=-1)
    return state + 0.02 * change


def balance(obs: np.ndarray) -> np.ndarray:
    return (obs @ BALANCING > 0).astype(np.int64)


def half_balance(obs: np.ndarray) -> np.ndarray:
    """Every second copy is pushed to the right until its pole falls."""
    action = balance(obs)
    action[1::2] = 1
    return action


def check_cartpole(played: Steps, limit: int) -> None:
    """Every transition is one, and nothing else was stored."""
    expected = cartpole_step(played.obs, played.action)
    assert np.allclose(played.next_obs, expected, atol=1e-5, rtol=0)
    assert (played.reward == 1).all()
    beyond = (np.abs(played.next_obs) - FALLEN)[..., [0, 2]].max(-1)
    certain = np.abs(beyond) > 1e-5
    assert np.array_equal(played.terminated[certain], beyond[certain] > 0)
    time = np.zeros(played.done.shape[1], int)
    for step, done in enumerate(played.done):
        time += 1
        assert np.array_equal(played.truncated[step], time == limit)
        time[done] = 0
    assert np.array_equal(played.obs[1:], played.shown[:-1])
    assert np.array_equal(played.shown[~played.done], played.next_obs[~played.done])
    starts = played.shown[played.done]
    assert (np.abs(starts) <= 0.05).all()
    assert len(np.unique(starts, axis=0)) == len(starts)


@pytest.mark.parametrize("backend", IN_PROCESS)
@quick
@given(data=st.data())
def test_every_transition_obeys_the_equations_of_motion(
    backend: Backend, data: Any
) -> None:
    copies, limit = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 40))
    seed = data.draw(seeds)
    random = np.random.default_rng(seed).integers(2, size=(60, copies))
    actions = data.draw(st.sampled_from([random, balance, half_balance]))
    envs = make_vec_env("CartPole-v1", copies, backend, max_episode_steps=limit)
    with closing(envs):
        check_cartpole(play(envs, actions, seed, 60), limit)


@pytest.mark.parametrize("backend", BACKENDS)
def test_poles_fall_and_time_runs_out(backend: Backend) -> None:
    with closing(make_vec_env("CartPole-v1", 4, backend, max_episode_steps=30)) as envs:
        played = play(envs, half_balance, 7, 120)
    check_cartpole(played, 30)
    assert played.truncated[:, ::2].sum() == 2 * 120 // 30
    assert not played.truncated[:, 1::2].any()
    assert played.terminated[:, 1::2].sum() > 2 * 120 // 30


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pole_that_falls_in_its_last_step_has_fallen(backend: Backend) -> None:
    """Pushed one way it falls after 8 to 11 steps. EnvPool alone would call that
    truncated, and its value would be taken for that of a pole that goes on."""
    with closing(make_vec_env("CartPole-v1", 6, backend, max_episode_steps=9)) as envs:
        played = play(envs, np.ones((60, 6), int), 3, 60)
    check_cartpole(played, 9)
    assert (played.terminated & played.truncated).any()
    assert (played.terminated & ~played.truncated).any()
    assert (played.truncated & ~played.terminated).any()


@pytest.mark.parametrize("backend", IN_PROCESS)
@pytest.mark.parametrize(("given", "ends"), [(None, [499]), (-1, [])])
def test_none_is_the_registered_limit_and_minus_one_is_none(
    backend: Backend, given: int | None, ends: list[int]
) -> None:
    limit = {"max_episode_steps": given}
    with closing(make_vec_env("CartPole-v1", 2, backend, **limit)) as envs:
        played = play(envs, balance, 0, 510)
    assert np.flatnonzero(played.truncated.all(1)).tolist() == ends
    assert played.done.sum() == 2 * len(ends)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_vector_says_of_itself_is_true(backend: Backend) -> None:
    with closing(make_vec_env("CartPole-v1", 3, backend)) as envs:
        require_same_step(envs, "a learner")
        SyncVectorEnv([lambda: gym.make("CartPole-v1")])  # says otherwise of itself
        assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
        assert envs.num_envs == 3
        assert envs.single_action_space == gym.spaces.Discrete(2)
        obs, _ = envs.reset(seed=0)
        assert obs.dtype == np.float32
        assert envs.observation_space.contains(obs)
        assert envs.action_space.shape == (3,)


# --- seeds


@pytest.mark.parametrize("backend", BACKENDS)
def test_same_seeds_same_bits_other_seeds_other_bits(backend: Backend) -> None:
    actions = np.random.default_rng(0).integers(2, size=(60, 3))

    def bits(envs: VectorEnv, seed: Any) -> bytes:
        return play(envs, actions, seed, 60).next_obs.tobytes()

    with (
        closing(make_vec_env("CartPole-v1", 3, backend)) as used,
        closing(make_vec_env("CartPole-v1", 3, backend)) as fresh,
    ):
        first = bits(used, [4, 5, 9])
        assert bits(used, [4, 5, 8]) != first
        assert bits(used, [4, 5, 9]) == first
        assert bits(fresh, [4, 5, 9]) == first
        assert bits(used, 4) == bits(fresh, 4)


@pytest.mark.parametrize("backend", ["sync", "async", "envpool"])
def test_a_number_is_the_first_seed_of_a_row(backend: Backend) -> None:
    with closing(make_vec_env("CartPole-v1", 3, backend)) as envs:
        row, _ = envs.reset(seed=[4, 5, 6])  # type: ignore[arg-type]
        assert np.array_equal(envs.reset(seed=4)[0], row)


@quick
@given(first=st.integers(0, 2**32 - 7), order=st.permutations(range(4)))
def test_a_copy_of_envpool_depends_on_its_own_seed_only(
    first: int, order: list[int]
) -> None:
    actions = np.random.default_rng(first).integers(2, size=(40, 4))
    with closing(make_vec_env("CartPole-v1", 4, "envpool")) as envs:
        mine = play(envs, actions, first, 40).shown
        theirs = play(envs, actions[:, order], [first + i for i in order], 40).shown
    assert np.array_equal(mine[:, order], theirs)


@pytest.mark.parametrize("backend", ["sync", "native", "envpool"])
def test_a_reset_without_a_seed_goes_on_elsewhere(backend: Backend) -> None:
    with closing(make_vec_env("CartPole-v1", 3, backend)) as envs:
        unseeded, _ = envs.reset()
        first, _ = envs.reset(seed=1)
        starts = [unseeded, first, envs.reset()[0]]
    assert len({start.tobytes() for start in starts}) == 3


class Diary(Lottery):
    """Remembers the seeds it was reset with."""

    def __init__(self) -> None:
        self.seeds: list[int | None] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.seeds.append(seed)
        return super().reset(seed=seed, options=options)


def test_one_world_is_a_vector_whose_episodes_begin_with_given_seeds() -> None:
    world = Diary()
    starts = iter(range(100, 200))
    envs = as_vector(world, starts)
    require_same_step(envs, "a learner")
    actions = np.random.default_rng(0).integers(4, size=(40, 1))
    played = play(envs, actions, [next(starts)], 40)
    ends = int(played.done.sum())
    assert ends > 3
    assert world.seeds == list(range(100, 101 + ends))


def test_a_vector_is_one_already() -> None:
    envs = make_vec_env(Lottery, 2)
    assert as_vector(envs, iter(())) is envs


# --- copies that are none


class FirstRowOnly(VectorWrapper):
    """What EnvPool 0.8.4 does with NumPy 2."""

    def reset(self, **how: Any) -> Any:
        obs, infos = self.env.reset(**how)
        return np.broadcast_to(obs[:1], obs.shape), infos

    def step(self, actions: Any) -> Any:
        obs, *rest = self.env.step(actions)
        return np.broadcast_to(obs[:1], obs.shape), *rest


class FromOne(Lottery):
    def reset(self, **how: Any) -> Any:
        super().reset(**how)
        self.total = 1
        return self._seen(), {}


def test_copies_that_are_all_alike_are_refused() -> None:
    with (
        closing(FirstRowOnly(make_vec_env("CartPole-v1", 8))) as broken,
        pytest.raises(UserError, match="all 8 environments show the same"),
    ):
        require_different_copies(broken)


@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_that_differ_are_not(backend: Backend) -> None:
    with closing(make_vec_env("CartPole-v1", 8, backend)) as envs:
        require_different_copies(envs)


@pytest.mark.parametrize(("world", "copies"), [(FromOne, 3), ("CartPole-v1", 1)])
def test_nor_are_copies_that_start_alike_or_a_single_one(
    world: Any, copies: int
) -> None:
    require_different_copies(make_vec_env(world, copies))


# --- EnvPool's walker is Gymnasium's

WALKER, HARDCORE = "BipedalWalker-v3", "BipedalWalkerHardcore-v3"


class GivenPush:
    """The generator of a walker whose first push is known."""

    def __init__(self, push: float) -> None:
        self._push, self._rng = push, np.random.default_rng(0)

    def uniform(self, low: float, high: float) -> float:
        return self._push if low == -5 else self._rng.uniform(low, high)

    def integers(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high))

    def random(self) -> float:
        return self._rng.random()


def pushed(env: gym.Env, push: float) -> np.ndarray:
    inner: Any = env.unwrapped
    inner._np_random = GivenPush(push)
    return env.reset()[0]


def push_that_gives(env: gym.Env, speed: float) -> float:
    """By bisection: the speed after the first push grows with it."""
    low, high = -5.0, 5.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if pushed(env, middle)[2] < speed else (low, middle)
    return low


@pytest.mark.parametrize("world", [WALKER, HARDCORE])
def test_envpools_walker_has_gymnasiums_spaces_and_limit(world: str) -> None:
    import envpool

    with (
        closing(make_vec_env(world, 2, "envpool")) as envs,
        closing(gym.make(world)) as single,
    ):
        assert envs.single_observation_space == single.observation_space
        assert envs.single_action_space == single.action_space
        assert envs.observation_space.contains(envs.reset(seed=0)[0])
    limit = gym.spec(world).max_episode_steps
    assert envpool.make_spec(world).config.max_episode_steps == limit


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("world", [WALKER, HARDCORE])
def test_envpools_walker_walks_and_falls_like_gymnasiums(world: str) -> None:
    """From the same push with the same actions. The ground is flat where both start;
    what the last ten numbers, the lidar, see beyond it is drawn."""
    rng = np.random.default_rng(1)
    actions = np.repeat(rng.uniform(-1, 1, (30, 4)), 4, axis=0).astype(np.float32)
    copies = 4
    with closing(make_vec_env(world, copies, "envpool")) as envs:
        walks = play(envs, np.repeat(actions[:, None], copies, 1), 0, len(actions))
    searched = gym.make(world)
    for copy in range(copies):
        push = push_that_gives(searched, walks.obs[0, copy, 2])
        single = gym.make(world)  # a used one walks otherwise after the same reset
        obs, terminated, step = pushed(single, push), False, 0
        while not terminated:
            if step < 20:
                seen = walks.obs[step, copy]
                assert np.allclose(seen[:14], obs[:14], atol=0.02, rtol=0)
            obs, reward, terminated, _, _ = single.step(actions[step])
            if step < 20:
                assert walks.reward[step, copy] == pytest.approx(reward, abs=2e-3)
            step += 1
        assert reward == -100
        first_end = int(np.argmax(walks.terminated[:, copy]))
        assert first_end == pytest.approx(step - 1, abs=2)
    assert (walks.reward[walks.terminated] == -100).all()
    assert (walks.reward[~walks.terminated] > -10).all()
    assert not walks.truncated.any()


def test_envpools_walker_runs_out_of_time_like_gymnasiums() -> None:
    with closing(make_vec_env(WALKER, 3, "envpool", max_episode_steps=5)) as envs:
        walks = play(envs, np.zeros((11, 3, 4), np.float32), 0, 11)
    assert np.flatnonzero(walks.truncated.all(1)).tolist() == [4, 9]
    assert walks.truncated.sum() == 6
    assert not walks.terminated.any()
    # Standing still it barely moves, also in the step that is its last.
    assert np.abs(walks.next_obs - walks.obs)[:, :, :4].max() < 0.1


# --- what cannot be made


@pytest.mark.parametrize(
    ("world", "copies", "backend", "options", "said"),
    [
        ("CartPole-v1", 0, "sync", {}, "at least 1 world, not 0"),
        ("CartPole-v1", 2, "threads", {}, "unknown backend 'threads'.*sync, async"),
        (Lottery, 2, "native", {}, "needs the id of a world"),
        (Lottery, 2, "envpool", {}, "needs the id of a world"),
        (Lottery, 2, "sync", {"max_episode_steps": 3}, "takes no options"),
        ("Pendulum-v1", 2, "native", {}, "Pendulum-v1 has no native vector.*'sync'"),
        ("phys2d/CartPole-v1", 2, "native", {}, "has another one.*'sync'"),
        ("rlnotes/Puck-v0", 2, "envpool", {}, "EnvPool has no world.*'sync'"),
        ("CartPole-v1", 2, "envpool", {"gravity": 1.0}, "no such option.*gravity"),
        ("CartPole-v1", 2, "envpool", {"max_episode_steps": 0}, "at least 1.*not 0"),
        ("CartPole-v1", 2, "native", {"max_episode_steps": 0}, "at least 1.*not 0"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_to_do(
    world: Any, copies: int, backend: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        make_vec_env(world, copies, backend, **options)


def test_without_envpool_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(UserError, match=r"install envpool==1\.2\.5, or use"):
        make_vec_env("CartPole-v1", 2, "envpool")


@pytest.mark.parametrize("backend", ["native", "envpool"])
def test_too_few_seeds_are_refused(backend: Backend) -> None:
    envs: Any = make_vec_env("CartPole-v1", 3, backend)
    with pytest.raises(UserError, match="2 seeds for 3 environments"):
        envs.reset(seed=[1, 2])


def test_envpool_is_not_stepped_without_a_reset_or_with_too_few_actions() -> None:
    envs = make_vec_env("CartPole-v1", 3, "envpool")
    with pytest.raises(gym.error.ResetNeeded):
        envs.step(np.zeros(3, int))
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="2 actions for 3 environments"):
        envs.step(np.zeros(2, int))


def test_a_vector_that_resets_in_the_next_step_is_refused() -> None:
    late = gym.make_vec("CartPole-v1", 2, "vector_entry_point")
    with pytest.raises(UserError, match="a learner needs.*make_vec_env"):
        require_same_step(late, "a learner")
