"""The controller of the published dataset, its data, and which dataset is loaded."""

import sys
import warnings
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import gymnasium as gym
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer

from rlnotes.data import datasets, waypoints
from rlnotes.data.catalogue import UMAZE, UMAZE_PUBLISHED
from rlnotes.data.rollouts import NO_SEED, Episode
from rlnotes.data.waypoints import SEED, Waypoints, collect, path
from rlnotes.envs.maze import CELLS, GOAL_RADIUS, UMazeEnv, cell_at
from rlnotes.errors import UserError


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return collect(3_000, SEED)


def test_the_shortest_way_leads_around_the_wall() -> None:
    assert path((1, 1), (3, 1)) == ((1, 2), (1, 3), (2, 3), (3, 3), (3, 2), (3, 1))
    assert path((2, 3), (2, 3)) == ()
    for start, goal in product(CELLS, CELLS):
        assert len(path(start, goal)) == len(path(goal, start))


def test_without_noise_it_reaches_a_goal_in_every_cell() -> None:
    env, player, goals = UMazeEnv(moving_goal=True), Waypoints(), set()
    for seed in range(60):
        obs, info = env.reset(seed=seed)
        for _ in range(250):
            if not info["is_success"]:
                obs, _, _, _, info = env.step(player(obs[None])[0])
        assert info["is_success"], f"from {obs[:2]} not to {obs[4:]}"
        goals.add(cell_at(*obs[4:].tolist()))
    assert goals == set(CELLS)


def test_actions_by_hand() -> None:
    # From (1, 1) by the middle of (1, 2), at (0, 1).
    to_the_next_cell = (-1.05, 1.0, 0.0, 0.1, 1.0, 1.0)
    in_the_cell_of_the_goal = (1.0, 1.0, 0.2, 0.0, 1.0, 0.95)
    # Pulled to the middle of (1, 3), not to the goal.
    beside_the_last_cell = (0.45, 1.0, 0.0, 0.0, 0.8, 1.2)
    rows = np.array([to_the_next_cell, in_the_cell_of_the_goal, beside_the_last_cell])
    assert Waypoints()(rows) == pytest.approx(
        np.array([(1.0, -0.1), (-0.2, -0.5), (1.0, 0.0)]), abs=1e-6
    )


def test_waypoints_between_are_shifted_and_the_last_is_the_goal() -> None:
    player, goal = Waypoints(), (0.9, -0.1)  # in cell (2, 3)
    player(np.array([(-1.0, 1.0, 0, 0, *goal)]))
    at_the_first = np.array([(0.0, 1.0, 0, 0, *goal)])
    (way,) = player._ways
    player(at_the_first)
    x, y = way._target
    assert 0.8 <= x <= 1.0
    assert 0.8 <= y <= 1.0
    assert (x, y) != (1.0, 1.0)
    player(np.array([(x, y, 0, 0, *goal)]))
    assert way._target == pytest.approx(goal)


def test_each_row_is_a_ball_of_its_own() -> None:
    rows = np.array(
        [(-1, 1, 0, 0, 1, 1), (1, 1, 0.3, 0, -1, -1), (1, -1, 0, 0, 1, -1.2)], float
    )
    alone = [Waypoints()(row[None])[0] for row in rows]
    assert np.array_equal(Waypoints()(rows), np.stack(alone))


def test_noise_stays_within_the_action_space() -> None:
    resting = np.tile((1.0, 1.0, 0, 0, 1.0, 1.0), (4_000, 1))
    assert not Waypoints()(resting).any()
    noisy = Waypoints(noise=0.5)(resting)
    assert np.abs(noisy).max() == 1
    assert np.median(np.abs(noisy)) == pytest.approx(0.5 * 0.6745, rel=0.05)


def test_it_begins_as_the_published_dataset(episodes: list[Episode]) -> None:
    """What Minari #265 prints of the original: 162 steps to the first goal, and where
    the first two are."""
    first, second = episodes[:2]
    assert len(first.rewards) == 162
    goals = np.tile((-1.22308949, 0.86017994), (163, 1))
    assert first.observations[:, 4:] == pytest.approx(goals)
    assert second.observations[0, 4:] == pytest.approx((1.2116725, 0.8882872))


def test_an_episode_ends_where_its_goal_is_reached(episodes: list[Episode]) -> None:
    for episode in episodes[:-1]:
        away = np.hypot(*(episode.observations[:, :2] - episode.observations[:, 4:]).T)
        assert away[-1] <= GOAL_RADIUS + 1e-6
        assert (away[:-1] > GOAL_RADIUS - 1e-6).all()
        assert episode.rewards[-1] == 1
        assert not episode.rewards[:-1].any()


def test_episodes_are_pieces_of_one_play(episodes: list[Episode]) -> None:
    assert sum(len(episode.rewards) for episode in episodes) == 3_000
    first, *others = (episode.seed for episode in episodes)
    assert (first, set(others)) == (SEED, {NO_SEED})
    for before, after in pairwise(episode.observations[:, :4] for episode in episodes):
        assert np.array_equal(after[0], before[-1])
    for episode in episodes:
        steps = len(episode.rewards)
        assert (len(episode.observations), len(episode.actions)) == (steps + 1, steps)
        assert episode.observations.shape[1] == 6
        assert episode.observations.dtype == episode.actions.dtype == np.float32
        goals = np.unique(episode.observations[:, 4:], axis=0)
        assert len(goals) == 1, "one goal in an episode"
        assert np.abs(episode.actions).max() <= 1
        assert (episode.terminated, episode.truncated) == (False, True)


def test_same_seed_same_data() -> None:
    one, again, other = (collect(400, seed) for seed in (7, 7, 8))
    for episode, same in zip(one, again, strict=True):
        assert np.array_equal(episode.observations, same.observations)
        assert np.array_equal(episode.actions, same.actions)
    assert not np.array_equal(one[0].observations[0], other[0].observations[0])


def test_a_progress_bar_is_shown_on_request_in_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    collect(20, SEED, progress="the maze")
    assert capsys.readouterr().err == "", "this is no terminal"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    collect(20, SEED)
    assert capsys.readouterr().err == ""
    collect(20, SEED, progress="the maze")
    assert "the maze: 100%" in capsys.readouterr().err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def make_ours() -> None:
    env, episodes = gym.make("rlnotes/UMaze-v0"), collect(300, SEED)
    datasets.create(UMAZE, env, episodes, "test", "a test", 15.0, 215.0)


def make_published() -> None:
    """Two episodes of two steps as Minari stores the original: the second starts with
    the goal of the first."""
    numbers = np.arange(12, dtype=np.float64).reshape(3, 4) / 10
    goals = np.array([(1, 1), (1, 1), (1, 1), (-1, 1), (-1, 1)], np.float64)
    buffers = [
        EpisodeBuffer(
            id=episode,
            seed=123 if episode == 0 else None,
            observations={
                "observation": numbers,
                "achieved_goal": numbers[:, :2],
                "desired_goal": goals[2 * episode : 2 * episode + 3],
            },
            actions=np.full((2, 2), 0.5, np.float32),
            rewards=[0.0, 1.0],
            terminations=[False, False],
            truncations=[False, True],
        )
        for episode in range(2)
    ]
    sizes = {"observation": 4, "achieved_goal": 2, "desired_goal": 2}
    space = gym.spaces.Dict(
        {
            name: gym.spaces.Box(-np.inf, np.inf, (size,), np.float64)
            for name, size in sizes.items()
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of all that is not said about these data
        minari.create_dataset_from_buffers(
            UMAZE_PUBLISHED,
            buffers,
            observation_space=space,
            action_space=gym.spaces.Box(-1, 1, (2,), np.float32),
        )


def test_the_published_dataset_is_preferred_and_made_flat(folder: Path) -> None:
    make_ours()
    make_published()
    source, (first, second) = waypoints.load()
    assert source == UMAZE_PUBLISHED
    assert first.observations.dtype == np.float32
    assert first.observations[1] == pytest.approx((0.4, 0.5, 0.6, 0.7, 1, 1))
    assert second.observations[:, 4:].tolist() == [[-1, 1]] * 3
    assert (first.seed, second.seed) == (123, NO_SEED)
    assert (second.terminated, second.truncated) == (False, True)


def test_otherwise_ours_is_loaded_as_it_was_collected(folder: Path) -> None:
    make_ours()
    source, loaded = waypoints.load()
    assert source == UMAZE
    for episode, expected in zip(loaded, collect(300, SEED), strict=True):
        assert np.array_equal(episode.observations, expected.observations)
        assert np.array_equal(episode.actions, expected.actions)
        assert episode.seed == expected.seed


def test_with_neither_the_command_is_named(folder: Path) -> None:
    command = f"python -m rlnotes data {UMAZE}"
    with pytest.raises(UserError, match=f"no such dataset.*{command}"):
        waypoints.load()


def test_a_damaged_original_is_to_be_downloaded_again(folder: Path) -> None:
    make_published()
    (folder / UMAZE_PUBLISHED / "data" / "main_data.hdf5").unlink()
    command = f"minari download {UMAZE_PUBLISHED}"
    with pytest.raises(UserError, match=f"damaged dataset.*{command}"):
        waypoints.load()


@pytest.mark.parametrize("make", [make_ours, make_published])
def test_a_limit_gives_the_first_episodes(
    folder: Path, make: Callable[[], None]
) -> None:
    make()
    source, (first,) = waypoints.load(limit=1)
    same_source, everything = waypoints.load()
    assert source == same_source
    assert len(everything) > 1
    assert np.array_equal(first.observations, everything[0].observations)
