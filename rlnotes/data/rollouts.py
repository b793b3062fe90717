"""Play a policy in an environment and keep what happened.

The same function collects datasets and evaluates policies, so the two cannot differ in how they
step the environment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from tqdm import tqdm

BatchPolicy = Callable[[np.ndarray], np.ndarray]

NO_SEED = -1  # of an episode that did not begin with a seeded reset


@dataclass(frozen=True)
class Episode:
    """One episode of T steps. `observations` has T + 1 rows: the last one is where it ended."""

    seed: int
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: bool
    truncated: bool

    @property
    def total_reward(self) -> float:
        return float(self.rewards.sum())

    def discounted_return(self, discount: float) -> float:
        return float(self.rewards @ discount ** np.arange(len(self.rewards)))


def rollout(
    make_env: Callable[[], gym.Env[Any, Any]],
    policy: BatchPolicy,
    seeds: Sequence[int],
    at_once: int = 50,
    progress: str | None = None,
) -> list[Episode]:
    """One episode per seed. `policy` maps a batch of observations to a batch of actions.

    Up to `at_once` environments advance together so that the policy is asked once for all of them.
    """
    episodes: list[Episode] = []
    envs = [make_env() for _ in seeds[:at_once]]
    try:
        with tqdm(total=len(seeds), desc=progress, unit="episode", disable=progress is None) as bar:
            for first in range(0, len(seeds), at_once):
                group = seeds[first : first + at_once]
                episodes += play_together(envs[: len(group)], policy, group)
                bar.update(len(group))
    finally:
        for env in envs:
            env.close()
    return episodes


def play_together(envs: Sequence[gym.Env[Any, Any]], policy: BatchPolicy, seeds: Sequence[int]) -> list[Episode]:
    """One episode in each of `envs`; the policy is asked once for all that are still playing."""
    observations = [[env.reset(seed=seed)[0]] for env, seed in zip(envs, seeds, strict=True)]
    actions: list[list[Any]] = [[] for _ in envs]
    rewards: list[list[float]] = [[] for _ in envs]
    ends: list[tuple[bool, bool]] = [(False, False)] * len(envs)
    playing = list(range(len(envs)))
    while playing:
        chosen = policy(np.stack([observations[i][-1] for i in playing]))
        for i, action in zip(playing, chosen, strict=True):
            observation, reward, terminated, truncated, _ = envs[i].step(action)
            observations[i].append(observation)
            actions[i].append(action)
            rewards[i].append(float(reward))
            ends[i] = (bool(terminated), bool(truncated))
        playing = [i for i in playing if not any(ends[i])]
    return [
        Episode(seed, np.stack(observations[i]), np.stack(actions[i]), np.array(rewards[i]), *ends[i])
        for i, seed in enumerate(seeds)
    ]
