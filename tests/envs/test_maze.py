"""The U maze: the library's maze to the last bit, flat, and repeatable."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.envs import checks
from rlnotes.envs.maze import (
    CELLS,
    GOAL_CELL,
    GOAL_RADIUS,
    WALLS,
    UMazeEnv,
    cell_at,
    centre,
)
from rlnotes.envs.vector import Backend

MAZE = "rlnotes/UMaze-v0"


def published(moving_goal: bool) -> Any:
    """The library's own environment, with the options of the published scripts."""
    import gymnasium_robotics

    gym.register_envs(gymnasium_robotics)
    cells: list[list[Any]] = [list(line) for line in WALLS]
    if not moving_goal:
        cells[1][1] = "g"
    options: Any = {"continuing_task": True, "reset_target": moving_goal}
    maze: Any = gym.make("PointMaze_UMaze-v3", maze_map=cells, **options).unwrapped
    Path(maze.tmp_xml_file_path).unlink()
    return maze


def pushes(count: int) -> np.ndarray:
    """Forces held for 40 steps each, so that the ball meets walls at full speed."""
    rng = np.random.default_rng(1)
    return rng.uniform(-1, 1, (count // 40, 2)).repeat(40, axis=0).astype(np.float32)


@pytest.mark.parametrize("moving_goal", [False, True])
def test_it_is_the_published_maze_to_the_last_bit(moving_goal: bool) -> None:
    ours, theirs = UMazeEnv(moving_goal), published(moving_goal)
    reached, goals = 0, set()
    for seed in range(3):
        flat, dictionary = ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0]
        for action in pushes(600):
            expected = (dictionary["observation"], dictionary["desired_goal"])
            assert np.array_equal(flat, np.concatenate(expected).astype(np.float32))
            flat, reward, terminated, truncated, info = ours.step(action)
            push = action.astype(np.float64)
            dictionary, *theirs_rest, their_info = theirs.step(push)
            assert [reward, terminated, truncated] == theirs_rest
            assert info["is_success"] == their_info["success"]
            reached += info["is_success"]
            goals.add(tuple(flat[4:]))
    assert reached > 0
    assert (len(goals) > 3) == moving_goal


def test_start_and_goal() -> None:
    env = gym.make(MAZE)
    starts = set()
    for seed in range(60):
        x, y, *rest = env.reset(seed=seed)[0].tolist()
        velocity, goal = rest[:2], rest[2:]
        assert velocity == [0, 0]
        assert cell_at(*goal) == GOAL_CELL
        assert np.abs(np.subtract(goal, centre(GOAL_CELL))).max() <= 0.25
        starts.add(cell_at(x, y))
    assert starts == set(CELLS) - {GOAL_CELL}


def test_it_pays_to_be_near_the_goal_and_lasts_300_steps() -> None:
    env = gym.make(MAZE)
    starts = (env.reset(seed=seed)[0] for seed in range(60))
    obs = next(start for start in starts if cell_at(*start[:2].tolist()) == (1, 2))
    near = []
    for step in range(1, 301):
        action = 3 * (obs[4:] - obs[:2]) - obs[2:4]
        obs, reward, terminated, truncated, info = env.step(action)
        near.append(bool(np.hypot(*(obs[4:] - obs[:2])) <= GOAL_RADIUS))
        assert reward == float(near[-1]) == float(info["is_success"])
        assert not terminated
        assert truncated == (step == 300)
    assert near[-1]
    assert not near[0]


def test_cells_and_metres_agree() -> None:
    assert centre((1, 1)) == (-1, 1)
    assert all(cell_at(*centre(cell)) == cell for cell in CELLS)
    assert cell_at(0.49, -0.51) == (3, 2)


def test_the_checker_finds_nothing() -> None:
    checks.interface(MAZE)


def test_same_seed_same_bits_after_any_history() -> None:
    checks.repeatable(MAZE, seed=5)


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_vectorised_mazes_agree_with_single_ones(backend: Backend) -> None:
    checks.vectorised(MAZE, 11, backend)


def test_the_picture_shows_ball_goal_and_walls_and_changes() -> None:
    checks.picture(MAZE, seed=0)
    env = gym.make(MAZE, render_mode="rgb_array")
    env.reset(seed=0)
    picture = np.asarray(env.render()).astype(int)
    for colour in ((70, 160, 80), (240, 10, 10), (205, 150, 95)):
        close = np.abs(picture - colour).max(axis=2) < 30
        assert close.mean() > 0.001, f"no {colour} in the picture"


@pytest.mark.parametrize(
    "action", [(np.nan, 0.5), (0.0, np.inf), (0.0,), (0.0, 0.0, 0.0), 0.5]
)
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = UMazeEnv()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the action"):
        env.step(action)


def test_an_action_out_of_range_is_clipped() -> None:
    env = UMazeEnv()
    env.reset(seed=0)
    wild = env.step((1e9, -7))[0]
    env.reset(seed=0)
    assert np.array_equal(wild, env.step((1, -1))[0])


def test_unknown_render_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'rgb_array' or None"):
        UMazeEnv(render_mode="human")  # type: ignore[arg-type]


def test_no_file_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    UMazeEnv().reset(seed=0)
    assert list(tmp_path.iterdir()) == []


def test_mujoco_is_imported_only_where_a_maze_is_made_and_says_nothing() -> None:
    code = (
        "import sys, rlnotes.data.waypoints, gymnasium as gym\n"
        "assert 'mujoco' not in sys.modules\n"
        f"gym.make('{MAZE}')\n"
        "assert 'mujoco' in sys.modules and 'pybullet' not in sys.modules"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
