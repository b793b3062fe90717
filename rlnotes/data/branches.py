"""Go back to a moment of an episode, do something else there, and see what comes of it.

Few worlds can be saved in the middle. But a world that draws its dice in the reset only
does the same again for the same actions: so a moment is reached by playing its episode
once more. Where the world comes to another place, that is an error.

Every branch has a world of its own, and so should have the episodes. Box2D's worlds
keep something of what was played in them before, and a walker that takes the same steps
after the same reset is soon elsewhere.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from rlnotes.data.rollouts import AT_ONCE, BatchPolicy, Episode, play_together
from rlnotes.errors import UserError


class Moment(NamedTuple):
    """Of an episode, after so many steps."""

    episode: Episode
    step: int

    @property
    def obs(self) -> np.ndarray:
        return self.episode.observations[self.step]


class Branch(gym.Wrapper[Any, Any, Any, Any]):
    """A world that begins at a moment. Its first action is `action`, whatever it is
    given, and after `horizon` steps the time is over."""

    def __init__(
        self, env: gym.Env[Any, Any], moment: Moment, action: np.ndarray, horizon: int
    ) -> None:
        super().__init__(env)
        self._moment, self._action, self._horizon = moment, action, horizon

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        episode, step = self._moment
        obs, info = self.env.reset(seed=episode.seed)
        for action in episode.actions[:step]:
            obs, *_, info = self.env.step(action)
        if not np.allclose(obs, self._moment.obs, atol=1e-4):
            raise UserError(
                f"this world does not do the same again: {step} steps after the seed"
                f" {episode.seed} it is elsewhere. Only a world that draws nothing"
                " after its reset has branches"
            )
        self._played = 0
        return obs, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        first = self._played == 0
        obs, reward, terminated, truncated, info = self.env.step(
            self._action if first else action
        )
        self._played += 1
        over = self._played >= self._horizon
        return obs, reward, terminated, truncated or over, info


def branches(
    make_env: Callable[[], gym.Env[Any, Any]],
    policy: BatchPolicy,
    moments: Sequence[Moment],
    actions: Sequence[np.ndarray],
    horizon: int,
    at_once: int = AT_ONCE,
) -> list[list[Episode]]:
    """For each moment, an episode for each of its actions: this one first, and then
    what `policy` does."""
    tried = [
        (moment, action)
        for moment, choices in zip(moments, actions, strict=True)
        for action in choices
    ]
    found: list[Episode] = []
    for first in range(0, len(tried), at_once):
        group = tried[first : first + at_once]
        worlds = [Branch(make_env(), *one, horizon) for one in group]
        try:
            seeds = [moment.episode.seed for moment, _ in group]
            found += play_together(worlds, policy, seeds)
        finally:
            for world in worlds:
                world.close()
    rest = iter(found)
    return [[next(rest) for _ in choices] for choices in actions]


def middle_moments(
    episodes: Sequence[Episode], count: int, before: int, rng: np.random.Generator
) -> list[Moment]:
    """Drawn from all steps of the episodes, but the last of each and those that come as
    late as `before`."""
    places = [
        Moment(episode, step)
        for episode in episodes
        for step in range(min(before, len(episode.rewards) - 1))
    ]
    return [places[i] for i in rng.choice(len(places), count, replace=False)]
