"""What vectors of environments return around an end, as a picture of what they did."""

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rlnotes.algos.policy import Policy
from rlnotes.autopsies.corrupted_successor import start_after_truncation
from rlnotes.envs.orchard import WALK
from rlnotes.envs.vector import led_to, make_vec_env
from rlnotes.errors import UserError
from rlnotes.report import figures
from rlnotes.report.figures import BLUE, GREY, ORANGE, Style
from rlnotes.report.tables import Table, varies

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


def calls(mode: AutoresetMode, count: int, limit: int = LIMIT) -> list[Call]:
    envs: VectorEnv = SyncVectorEnv(
        [lambda: gym.make(WORLD, max_episode_steps=limit)], autoreset_mode=mode
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


def timeline(count: int = 6, limit: int = LIMIT) -> Figure:
    """A row for each mode: what it shows, and an arrow for every pair that a loop
    would store which takes what it is shown."""
    axes = np.atleast_1d(figures.axes(len(MODES), width=10.5, height=2.3))
    for ax, (title, mode) in zip(axes, MODES.items(), strict=True):
        found = calls(mode, count, limit)
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


# --- where it led, and what was stored

CARTPOLE, LONGEST = "CartPole-v1", 5_000  # steps that are played in search of an end


def first_cut_off(policy: Policy, num_envs: int = 4, seed: int = 0) -> Table:
    """The first step of CartPoles in which time runs out in one of them: where it led
    and what the notes store in its place, with what the policy's Q makes of either."""
    envs = make_vec_env(CARTPOLE, num_envs)
    obs, _ = envs.reset(seed=seed)
    for _ in range(LONGEST):
        obs, _, terminated, truncated, infos = envs.step(policy.act(obs))
        cut_off = truncated & ~terminated
        if cut_off.any():
            break
    else:
        raise UserError("the policy always drops the pole before time runs out")
    envs.close()
    led = led_to(obs, infos)
    stored = start_after_truncation(led, obs, terminated, truncated)
    copy = int(np.argmax(cut_off))
    found = {"where the step led": led[copy], "what the notes store": stored[copy]}
    rows = [(name, *_seen(policy, after)) for name, after in found.items()]
    return Table(("s'", "place", "speed", "lean", "turning", "max Q(s', a)"), rows)


@torch.no_grad()
def _seen(policy: Policy, obs: np.ndarray) -> list[str]:
    best = policy.net(policy.encode_array(obs[None])).max()
    return [*(varies(float(x), ".3f") for x in obs), varies(float(best))]
