"""Many worlds that advance together, so that a network is asked once for all of them.

The one place that makes vectors of worlds.
"""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode, SyncVectorEnv


def make_vec_env(make: Callable[[], gym.Env[Any, Any]], num_envs: int) -> SyncVectorEnv:
    """`num_envs` worlds from `make`, side by side in this process.

    A world whose episode ends begins the next one in the same step; where it ended is
    in `infos["final_obs"]`. Gymnasium's default is to reset in the next step instead:
    that step ignores its action and is no transition, and a learner that stores it
    learns from something that never happened.
    """
    return SyncVectorEnv([make] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
