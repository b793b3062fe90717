"""The controller that made `D4RL/pointmaze/umaze-v2`, and that dataset made again.

The recipe is the one published with the original (Farama's
minari-dataset-generation-scripts, pointmaze): one long play from one start, during
which the goal moves on whenever the ball reaches it. The seed and the random numbers
are the original's, too, and so are the first goals and the length of the first episode.
It is still not the original step for step, perhaps because MuJoCo has changed since:
the original has 13,210 episodes and this one 13,287, where chance alone makes a
difference of about 70.
"""

from collections import deque
from collections.abc import Sequence
from functools import cache
from math import dist

import numpy as np

from rlnotes.data import datasets
from rlnotes.data.catalogue import UMAZE, UMAZE_PUBLISHED
from rlnotes.data.rollouts import NO_SEED, Episode
from rlnotes.envs.maze import CELLS, Cell, UMazeEnv, cell_at, centre
from rlnotes.progress import bar

STEPS, SEED = 1_000_000, 123

PULL, DAMPING = 10.0, 1.0
NEAR = 0.1  # m: the waypoint counts as reached
JITTER = 0.2  # m: how far left of and below the middle of its cell a waypoint can be
NOISE = 0.5  # deviation of the noise on the action


class Waypoints:
    """Drive balls from cell to cell along the shortest way to their goals.

    A spring and a damper: the action is 10 (waypoint − position) − velocity, plus noise
    where asked for, cut to [−1, 1]. The first waypoint is the middle of the next cell,
    the last one the goal itself, and those between are shifted from the middle at
    random. A ball that is in the cell of its goal goes straight there.

    Each row of the batch is a ball. What is remembered of it is the way it still has to
    go, and a new goal makes a new way, so that nothing has to be reset between
    episodes.
    """

    def __init__(self, noise: float = 0.0, seed: int = 0) -> None:
        self._noise = noise
        # What `np.random.seed`, as in the original, seeds.
        self._random = np.random.RandomState(seed)
        self._ways: list[_Way] = []

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        """Actions for a batch of observations."""
        self._ways += [_Way() for _ in range(len(obs) - len(self._ways))]
        balls = zip(self._ways, obs.tolist(), strict=False)
        wanted = np.array([self._steer(way, row) for way, row in balls])
        if self._noise:
            wanted += self._noise * self._random.randn(*wanted.shape)
        return wanted.clip(-1, 1).astype(np.float32)

    def _steer(self, way: "_Way", row: Sequence[float]) -> tuple[float, float]:
        x, y, velocity_x, velocity_y, *goal = row
        target_x, target_y = way.target((x, y), (goal[0], goal[1]), self._random)
        force_x = PULL * (target_x - x) - DAMPING * velocity_x
        force_y = PULL * (target_y - y) - DAMPING * velocity_y
        return force_x, force_y


class _Way:
    """The waypoint that a ball is heading for, and the cells that come after it."""

    def __init__(self) -> None:
        self._goal: tuple[float, float] | None = None
        self._target = (0.0, 0.0)
        self._cells: deque[Cell] = deque()

    def target(
        self,
        place: tuple[float, float],
        goal: tuple[float, float],
        random: np.random.RandomState,
    ) -> tuple[float, float]:
        if goal != self._goal:
            self._goal = goal
            self._cells = deque(path(cell_at(*place), cell_at(*goal)))
            self._target = centre(self._cells.popleft()) if self._cells else goal
        if self._cells and dist(self._target, place) <= NEAR:
            x, y = centre(self._cells.popleft())
            if self._cells:
                left, down = random.uniform(size=2) * JITTER
                self._target = (x - left, y - down)
            else:
                self._target = goal
        return self._target


@cache
def path(start: Cell, goal: Cell) -> tuple[Cell, ...]:
    """The cells after `start` on the shortest way to `goal`."""
    ways: dict[Cell, tuple[Cell, ...]] = {start: ()}
    queue = deque([start])
    while goal not in ways:
        row, column = cell = queue.popleft()
        for down, right in ((0, 1), (0, -1), (-1, 0), (1, 0)):
            neighbour = (row + down, column + right)
            if neighbour in CELLS and neighbour not in ways:
                ways[neighbour] = (*ways[cell], neighbour)
                queue.append(neighbour)
    return ways[goal]


def collect(
    steps: int = STEPS, seed: int = SEED, progress: str | None = None
) -> list[Episode]:
    """One play of `steps` steps, cut into episodes where a goal was reached.

    Only the first episode begins with a reset, so the others have no seed. An episode
    is truncated where it reaches its goal, or where the play stops: the task itself
    never ends.
    """
    env, player = UMazeEnv(moving_goal=True), Waypoints(NOISE, seed)
    episodes: list[Episode] = []
    obs, _ = env.reset(seed=seed)
    rows: list[np.ndarray] = [obs]
    actions: list[np.ndarray] = []
    rewards: list[float] = []
    numbers = range(1, steps + 1)
    for step in bar(numbers, progress, unit="step", show=progress is not None):
        (action,) = player(obs[None])
        obs, reward, _, _, info = env.step(action)
        rows.append(obs)
        actions.append(action)
        rewards.append(reward)
        if info["is_success"] or step == steps:
            number = NO_SEED if episodes else seed
            played = with_own_goal(np.stack(rows)), np.stack(actions), np.array(rewards)
            episodes.append(Episode(number, *played, terminated=False, truncated=True))
            rows, actions, rewards = [obs], [], []
    env.close()
    return episodes


def with_own_goal(rows: np.ndarray) -> np.ndarray:
    """The observations of one episode, all with the goal of that episode.

    The maze shows a new goal one step late. So the first observation of an episode has
    the goal of the episode before in it, in the original data as well (Minari #265),
    and its action pursues that goal still.
    """
    rows[0, 4:] = rows[-1, 4:]
    return rows


def load(limit: int | None = None) -> tuple[str, list[Episode]]:
    """The original where it is among the local datasets, otherwise the one made here;
    the id says which. With a `limit`, only that many of its episodes."""
    if not datasets.path(UMAZE_PUBLISHED).exists():
        return UMAZE, datasets.load(UMAZE, limit=limit)
    return UMAZE_PUBLISHED, datasets.load(UMAZE_PUBLISHED, flat, limit)


def flat(observations: dict[str, np.ndarray]) -> np.ndarray:
    """The observations of one published episode as `rlnotes/UMaze-v0` gives them:
    position, velocity, goal."""
    columns = (observations["observation"], observations["desired_goal"])
    return with_own_goal(np.concatenate(columns, axis=1).astype(np.float32))
