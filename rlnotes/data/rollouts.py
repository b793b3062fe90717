"""Play a policy in an environment and keep what happened.

The same function collects datasets and evaluates policies, so the two cannot differ in
how they step the environment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import gymnasium as gym
import numpy as np

from rlnotes.progress import bar

BatchPolicy = Callable[[np.ndarray], np.ndarray]

NO_SEED = -1  # of an episode that did not begin with a seeded reset
AT_ONCE = 50  # worlds that advance together


@dataclass(frozen=True)
class Episode:
    """One episode of T steps. `observations` has T + 1 rows: in the last it ended.
    Where they were not to be kept, there is only that one."""

    seed: int
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: bool
    truncated: bool

    @property
    def total_reward(self) -> float:
        return float(self.rewards.sum())

    def discounted_return(self, gamma: float) -> float:
        return float(self.rewards @ gamma ** np.arange(len(self.rewards)))


class Stage:
    """Worlds that are made once, when they are first needed, and played in many times.

    Up to `at_once` of them advance together so that the policy is asked once for all.
    Every episode begins with a seeded reset, so it does not matter what was played in
    its world before. Where it does, worlds are made `anew` for every episode: Box2D's
    keep something that a reset does not clear, and then, after the same seed and the
    same first action, a walker's knees are elsewhere. Without `keep_obs` nothing is
    kept of what was seen but the last: pictures of long games fill the memory. Use it
    as a context, or close it.
    """

    def __init__(
        self,
        make_env: Callable[[], gym.Env[Any, Any]],
        at_once: int = AT_ONCE,
        keep_obs: bool = True,
        anew: bool = False,
    ) -> None:
        self._make_env, self._at_once = make_env, at_once
        self._keep_obs, self._anew = keep_obs, anew
        self._envs: list[gym.Env[Any, Any]] = []

    def play(
        self, policy: BatchPolicy, seeds: Sequence[int], progress: str | None = None
    ) -> list[Episode]:
        """One episode per seed, in their order.

        `policy` maps a batch of observations to a batch of actions; `progress` names a
        progress bar.
        """
        episodes: list[Episode] = []
        counted = {"total": len(seeds), "unit": "episode"}
        with bar(desc=progress, show=progress is not None, **counted) as shown:
            for first in range(0, len(seeds), self._at_once):
                group = seeds[first : first + self._at_once]
                if self._anew:
                    self.close()
                worlds = self._worlds(len(group))
                episodes += play_together(worlds, policy, group, self._keep_obs)
                shown.update(len(group))
        return episodes

    def _worlds(self, count: int) -> list[gym.Env[Any, Any]]:
        while len(self._envs) < count:
            self._envs.append(self._make_env())
        return self._envs[:count]

    def close(self) -> None:
        while self._envs:
            self._envs.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def rollout(
    make_env: Callable[[], gym.Env[Any, Any]],
    policy: BatchPolicy,
    seeds: Sequence[int],
    at_once: int = AT_ONCE,
    progress: str | None = None,
) -> list[Episode]:
    """One episode per seed in worlds that are made for it and closed again.

    Who plays again and again keeps a `Stage` instead.
    """
    with Stage(make_env, at_once) as stage:
        return stage.play(policy, seeds, progress)


def play_together(
    envs: Sequence[gym.Env[Any, Any]],
    policy: BatchPolicy,
    seeds: Sequence[int],
    keep_obs: bool = True,
) -> list[Episode]:
    """One episode in each of `envs`; the policy is asked once for all still playing."""
    starts = [env.reset(seed=seed)[0] for env, seed in zip(envs, seeds, strict=True)]
    observations = [[start] for start in starts]
    actions: list[list[Any]] = [[] for _ in envs]
    rewards: list[list[float]] = [[] for _ in envs]
    ends: list[tuple[bool, bool]] = [(False, False)] * len(envs)
    playing = list(range(len(envs)))
    while playing:
        chosen = policy(np.stack([observations[i][-1] for i in playing]))
        for i, action in zip(playing, chosen, strict=True):
            observation, reward, terminated, truncated, _ = envs[i].step(action)
            if not keep_obs:
                observations[i].clear()
            observations[i].append(observation)
            actions[i].append(action)
            rewards[i].append(float(reward))
            ends[i] = (bool(terminated), bool(truncated))
        playing = [i for i in playing if not any(ends[i])]
    return [
        Episode(
            seed,
            np.stack(observations[i]),
            np.stack(actions[i]),
            np.array(rewards[i]),
            *ends[i],
        )
        for i, seed in enumerate(seeds)
    ]
