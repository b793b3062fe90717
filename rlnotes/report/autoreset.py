"""What vectors of environments return around an end, as a picture of what they did."""

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rlnotes.envs.orchard import WALK
from rlnotes.report import figures
from rlnotes.report.figures import BLUE, GREY, ORANGE, Style

WORLD, LIMIT = "rlnotes/Orchard-v0", 3  # the observation says how many steps were taken
MODES = {
    "reset in the next step": AutoresetMode.NEXT_STEP,
    "reset in the same step": AutoresetMode.SAME_STEP,
}


class Call(NamedTuple):
    """Of `step`: what was seen before and after it, by the steps since a start."""

    before: int
    shown: int
    final: int | None  # in `infos["final_obs"]`
    truncated: bool

    @property
    def happened(self) -> bool:
        """Whether the world went from what was seen before to what was shown."""
        return self.shown == self.before + 1


def calls(mode: AutoresetMode, count: int) -> list[Call]:
    envs: VectorEnv = SyncVectorEnv(
        [lambda: gym.make(WORLD, max_episode_steps=LIMIT)], autoreset_mode=mode
    )
    obs, _ = envs.reset(seed=0)
    found = []
    for _ in range(count):
        before = int(np.argmax(obs[0]))
        obs, _, _, truncated, infos = envs.step(np.array([WALK]))
        final: Any = infos.get("final_obs", [None])[0]
        found.append(
            Call(
                before,
                int(np.argmax(obs[0])),
                None if final is None else int(np.argmax(final)),
                bool(truncated[0]),
            )
        )
    envs.close()
    return found


def timeline(count: int = 6) -> Figure:
    """A row for each mode: what it shows, and an arrow for every pair that a loop
    would store which takes what it is shown."""
    axes = np.atleast_1d(figures.axes(len(MODES), width=10.5, height=2.3))
    for ax, (title, mode) in zip(axes, MODES.items(), strict=True):
        found = calls(mode, count)
        _circle(ax, 0, 0, found[0].before)
        for number, call in enumerate(found):
            _arrow(ax, (number, 0), (number + 1, 0), call.happened)
            _circle(ax, number + 1, 0, call.shown)
            if call.truncated:
                ax.text(number + 0.5, 0.3, "out of\ntime", ha="center", fontsize=8)
            if call.final is not None:
                _arrow(ax, (number, 0), (number + 1, -0.9), True)
                _circle(ax, number + 1, -0.9, call.final)
                ax.text(number + 1.3, -0.9, "final_obs", va="center", fontsize=8)
        ax.set(title=title, xlim=(-0.5, count + 0.5), ylim=(-1.4, 0.9))
        ax.set_axis_off()
    return axes[0].figure


def _circle(ax: Axes, x: float, y: float, steps: int) -> None:
    style: Style = {"boxstyle": "circle", "facecolor": "white", "edgecolor": GREY}
    ax.text(x, y, f"$s_{steps}$", ha="center", va="center", bbox=style)


def _arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], happened: bool
) -> None:
    colour, line = (BLUE, "-") if happened else (ORANGE, "--")
    arrow: Style = {"arrowstyle": "->", "color": colour, "linestyle": line}
    arrow |= {"shrinkA": 12, "shrinkB": 12, "linewidth": 1.6}
    ax.annotate("", end, start, arrowprops=arrow)
