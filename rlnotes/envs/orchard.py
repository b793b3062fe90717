"""A row of trees: the smallest world in which it matters where an episode was cut
off."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from rlnotes.envs.actions import checked_discrete_action

PICK, WALK = 0, 1


class OrchardEnv(gym.Env[np.ndarray, int]):
    """Stay where a little grows, or walk on to where more does.

    ## Action space
    `Discrete(2)`: pick (0) or walk on to the next tree (1). Anything else raises
    `ValueError`.

    ## Observation space
    `Box(9)`: 1 at the tree one stands at, 0 elsewhere.

    ## Rewards
    Picking pays 1 at the first tree and 3 at the last, and nothing between them.
    Walking pays nothing.

    ## Start
    At the first of nine trees.

    ## End
    Never terminated: behind the last tree there is no way on, and walking there is
    standing still. Truncated after 200 steps when made by `gym.make`.

    ## What is right
    With discount γ, to pick at the first tree for ever is worth 1 / (1 − γ), to walk to
    the last one γ⁸ · 3 / (1 − γ): more, from γ = 0.88 on.
    """

    def __init__(self, trees: int = 9) -> None:
        self.trees = trees
        self.action_space = spaces.Discrete(2)
        self.observation_space = spaces.Box(0, 1, (trees,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._tree = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert isinstance(self.action_space, spaces.Discrete)
        picks = checked_discrete_action(action, self.action_space) == PICK
        last = self.trees - 1
        grows = {0: 1.0, last: 3.0}.get(self._tree, 0.0)
        if not picks:
            self._tree = min(self._tree + 1, last)
        return self._observation(), grows if picks else 0.0, False, False, {}

    def _observation(self) -> np.ndarray:
        return np.eye(self.trees, dtype=np.float32)[self._tree]
