"""The puck once more, written carelessly: `checks` must refuse it."""

from typing import Any

import numpy as np

from rlnotes.envs.bullet import RenderMode
from rlnotes.envs.puck import PuckEnv


class CarelessPuckEnv(PuckEnv):
    """As `PuckEnv`, with two faults that are easily made.

    Chance comes from a generator of its own, which no seed reaches: where an episode
    starts depends on how many there have been. And the picture is drawn once. Nobody
    should learn in this world.
    """

    def __init__(self, render_mode: RenderMode = None) -> None:
        super().__init__(render_mode)
        self.np_random = np.random.default_rng(0)
        self._drawn: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        return super().reset(seed=None, options=options)  # the seed is thrown away

    def render(self) -> Any:
        if self._drawn is None:
            self._drawn = super().render()
        return self._drawn
