"""A ball in a U-shaped maze: Gymnasium-Robotics' point maze, with flat observations."""

import contextlib
import io
import math
import os
import sys
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from rlnotes.envs.actions import checked_box_action

# Cells are squares of 1 m, named by row and column; 1 is a wall. The middle of the map
# is at (0, 0).
WALLS = (
    (1, 1, 1, 1, 1),
    (1, 0, 0, 0, 1),
    (1, 1, 1, 0, 1),
    (1, 0, 0, 0, 1),
    (1, 1, 1, 1, 1),
)
CELLS = tuple(
    (row, column)
    for row, line in enumerate(WALLS)
    for column, wall in enumerate(line)
    if not wall
)
GOAL_CELL = (1, 1)
GOAL_RADIUS = 0.45  # m
TOP_SPEED = 5.0  # m/s, along x and y

PICTURE = 320  # pixels, in width and height
CAMERA = {"distance": 6.6, "elevation": -75, "azimuth": 90, "lookat": np.zeros(3)}

Cell = tuple[int, int]


def centre(cell: Cell) -> tuple[float, float]:
    """Where the middle of a cell is, in metres."""
    return cell[1] - 2.0, 2.0 - cell[0]


def cell_at(x: float, y: float) -> Cell:
    return math.floor(2.5 - y), math.floor(x + 2.5)


class UMazeEnv(gym.Env[np.ndarray, Any]):
    """Roll a ball through a U-shaped maze to the goal, and stay there.

    This is `PointMaze_UMaze-v3` of Gymnasium-Robotics as the published reference scores
    of `D4RL/pointmaze/umaze-v2` were measured in it (13.49 for random actions, 218.70
    for the controller that made the data): the same physics, with the observation as
    one row of numbers.

    ## Action space
    `Box(2)` in [−1, 1]: the force on the ball along x and y, in units of 100 N. Values
    out of range are clipped; a wrong shape or a value that is not finite raises
    `ValueError`.

    ## Observation space
    `Box(6)`: ball position x, y (m), ball velocity x, y (m/s), goal x, y (m). In the
    dictionary of `PointMaze_UMaze-v3` these are "observation" and "desired_goal";
    "achieved_goal" is the position again.

    ## Rewards
    1 for every step that ends within 0.45 m of the goal, otherwise 0.

    ## Start
    The goal is in cell (1, 1), one tip of the U; the ball is at rest in one of the six
    other cells. Both are shifted from the middle of their cell by up to ±0.25 m in x
    and y, uniformly.

    ## End
    Never terminated: reaching the goal early pays because the ball can stay.
    `info["is_success"]` tells whether it is there. Truncated after 300 steps when made
    by `gym.make`.

    ## Time
    100 Hz: one action, one physics step of 1/100 s.

    ## Arguments
    `moving_goal`: the condition under which the dataset was collected. The goal is in
    any of the seven cells, and once reached it moves to another place while the ball
    goes on from where it is. The observation of that step still shows the goal that was
    reached. `render_mode` ("rgb_array" or None).

    ## Version history
    v0: as `PointMaze_UMaze-v3` of Gymnasium-Robotics 1.4.2.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 100}

    def __init__(
        self, moving_goal: bool = False, render_mode: Literal["rgb_array"] | None = None
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode is 'rgb_array' or None, not {render_mode!r}")
        self.render_mode = render_mode
        self._maze = _point_maze(moving_goal, render_mode)
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        # Beyond what walls and motors allow: a step begins at the top speed at most and
        # can add to it.
        bound = np.array((2, 2, 10, 10, 2, 2), np.float32)
        self.observation_space = spaces.Box(-bound, bound, dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._maze.np_random = self.np_random
        _, info = self._maze.reset()
        return self._observation(), {"is_success": info["success"]}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """What `PointMazeEnv.step` does, to the last bit, in a fraction of the time."""
        assert isinstance(self.action_space, spaces.Box)
        data = self._maze.data
        np.clip(data.qvel, -TOP_SPEED, TOP_SPEED, out=data.qvel)
        force = checked_box_action(action, self.action_space)
        self._maze.point_env.do_simulation(force, 1)
        observation = self._observation()
        arrived = math.dist(data.qpos, self._maze.goal) <= GOAL_RADIUS
        if arrived:
            self._maze.update_goal(data.qpos)
        return observation, float(arrived), False, False, {"is_success": arrived}

    def _observation(self) -> np.ndarray:
        data, goal = self._maze.data, self._maze.goal
        return np.concatenate((data.qpos, data.qvel, goal)).astype(np.float32)

    def render(self) -> Any:
        return None if self.render_mode is None else self._maze.render()

    def close(self) -> None:
        self._maze.close()


def _point_maze(moving_goal: bool, render_mode: str | None) -> Any:
    """The library's maze.

    MuJoCo is imported only here: the map alone must not cost half a second.
    """
    if sys.platform == "linux":
        # Draws without a display; must be said before the import.
        os.environ.setdefault("MUJOCO_GL", "egl")
    # On import it prints news about worlds that are not ours.
    with contextlib.redirect_stderr(io.StringIO()):
        from gymnasium_robotics.envs.maze.point_maze import PointMazeEnv
    cells: list[list[int | str]] = [list(line) for line in WALLS]
    if not moving_goal:
        cells[GOAL_CELL[0]][GOAL_CELL[1]] = "g"
    size = {"width": PICTURE, "height": PICTURE}
    maze = PointMazeEnv(
        cells, render_mode, continuing_task=True, reset_target=moving_goal, **size
    )
    # This file has been read, and the library leaves it behind.
    os.remove(maze.tmp_xml_file_path)
    maze.point_env.mujoco_renderer.default_cam_config = CAMERA
    return maze
