"""What a new world must pass before anybody learns in it.

Each check raises where it fails, and closes the worlds that it made.
"""

import warnings
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env

from rlnotes.envs.vector import Backend, make_vec_env


def interface(env_id: str) -> None:
    """Gymnasium's own checker finds nothing, not even something to warn of."""
    with warnings.catch_warnings(), closing(gym.make(env_id)) as env:
        warnings.simplefilter("error")
        # The checker would also open a window; `picture` looks at what is drawn.
        check_env(env.unwrapped, skip_render_check=True)


def repeatable(
    env_id: str, seed: int, make: Callable[[str], gym.Env[Any, Any]] = gym.make
) -> None:
    """Same seed, same bits: in a new world, and in one that has been played in."""
    with closing(make(env_id)) as used, closing(make(env_id)) as fresh:
        expected = play(fresh, seed)
        for history in range(8):
            play(used, seed=100 + history, steps=10 * history)
            same = np.array_equal(play(used, seed), expected, equal_nan=True)
            assert same, f"other bits after {history} episodes"


def picture(env_id: str, seed: int) -> None:
    """The camera gives an RGB image, and it changes when the world does."""
    with closing(gym.make(env_id, render_mode="rgb_array")) as env:
        env.reset(seed=seed)
        first: Any = env.render()
        assert first.dtype == np.uint8, f"pixels are {first.dtype}, not uint8"
        assert first.ndim == 3, f"the image has shape {first.shape}"
        assert first.shape[2] == 3, f"the image has shape {first.shape}"
        env.action_space.seed(seed)
        for _ in range(10):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                break
        later: Any = env.render()
    assert not np.array_equal(later, first), "ten steps later the picture is the same"


def vectorised(env_id: str, seed: int, backend: Backend) -> None:
    """Two worlds side by side ("sync") or in processes of their own ("async") do what
    single ones do."""
    seeds = [seed, seed + 1]
    vector = make_vec_env(env_id, 2, backend)
    with closing(vector), closing(gym.make(env_id)) as single:
        first, _ = vector.reset(seed=seeds)  # type: ignore[arg-type]
        vector.action_space.seed(seed)
        actions = vector.action_space.sample()
        second = vector.step(actions)[0]
        for row in range(2):
            start, step = single.reset(seed=seeds[row]), single.step(actions[row])
            assert np.array_equal(first[row], start[0]), "another start"
            assert np.array_equal(second[row], step[0]), "another step"


Check = Callable[[str, int], None]

# All of them, given a world and a seed.
CHECKS: dict[str, Check] = {
    "interface": lambda env_id, seed: interface(env_id),
    "repeatable": repeatable,
    "picture": picture,
    "vector, sync": partial(vectorised, backend="sync"),
    "vector, async": partial(vectorised, backend="async"),
}


def holds(check: Check, env_id: str, seed: int) -> bool:
    """Whether it does; whatever it raises is a no."""
    try:
        check(env_id, seed)
    except Exception:
        return False
    return True


def play(env: gym.Env[Any, Any], seed: int, steps: int = 60) -> np.ndarray:
    """Observations, reward and flags of `steps` seeded random actions; stops at the end
    of the episode."""
    rows = [np.append(env.reset(seed=seed)[0], (0, 0, 0))]
    env.action_space.seed(seed)
    for _ in range(steps):
        action = env.action_space.sample()
        observation, reward, terminated, truncated, _ = env.step(action)
        rows.append(np.append(observation, (float(reward), terminated, truncated)))
        if terminated or truncated:
            break
    return np.array(rows)
