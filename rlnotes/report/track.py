"""The race car's track from above: drives, how far they are from what was shown, and
what a discriminator pays at each place."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Video
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Circle

from rlnotes.autopsies import covariate_shift
from rlnotes.data.rollouts import Episode
from rlnotes.envs import racecar
from rlnotes.paths import Run
from rlnotes.report import clips, figures
from rlnotes.report.figures import Style
from rlnotes.runs import store

SECOND = 20  # steps


def track(ax: Axes) -> None:
    """Walls, start and finish."""
    wall: Style = {"color": "#8c8c96", "linewidth": 4, "solid_capstyle": "projecting"}
    for (x0, y0), (x1, y1) in racecar.WALLS:
        ax.plot((x0, x1), (y0, y1), zorder=1, **wall)
    ax.plot(*racecar.START, "^", color="black", markersize=7, zorder=4)
    finish = Circle(racecar.FINISH, 1.0, color=figures.GREEN, alpha=0.15, linewidth=0)
    ax.add_patch(finish)
    ax.annotate("start", racecar.START, (0.75, 0.35), fontsize="small")
    middle: Style = {"ha": "center", "va": "center", "fontsize": "small"}
    ax.annotate("finish", racecar.FINISH, **middle)
    ax.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    ax.grid(visible=False)


def paths(driven: Mapping[str, Sequence[Episode]], most: int = 30) -> list[Axes]:
    """One picture of the track for each name, with where its first episodes went."""
    columns = figures.axes(len(driven), width=11, height=2.5, sharey=True)
    for ax, (name, episodes) in zip(columns, driven.items(), strict=True):
        track(ax)
        for episode in episodes[:most]:
            line = {"color": figures.BLUE, "linewidth": 0.7, "alpha": 0.4}
            ax.plot(*episode.observations[:, :2].T, **line)
        ax.set_title(name)
        ax.label_outer()
    return columns


def controls(driven: Mapping[str, Episode], seconds: float = 15.0) -> list[Axes]:
    """What was done in one episode for each name: steering and throttle over time."""
    columns = figures.axes(len(driven), width=9, height=2.4, sharey=True)
    for ax, (name, episode) in zip(columns, driven.items(), strict=True):
        time = np.arange(len(episode.actions)) / SECOND
        for number, label in enumerate(("steering", "throttle")):
            line = {"color": figures.PALETTE[number], "linewidth": 1, "label": label}
            ax.step(time, episode.actions[:, number], **line)
        ax.set(title=name, xlabel="seconds", xlim=(0, seconds))
    columns[0].set_ylabel("action")
    figures.legend(columns[-1], "outside")
    return columns


def drives(driven: Mapping[str, tuple[Sequence[Episode], Sequence[Episode]]]) -> Figure:
    """For each name what was demonstrated, in grey, and what was then driven: blue, or
    orange with a cross where it ended at a wall. Below, the distance of each drive to
    the demonstrations; dotted, where the diagnostic fires."""
    figure, grid = plt.subplots(
        2,
        len(driven),
        figsize=(10, 4.6),
        layout="constrained",
        height_ratios=(1.2, 1),
        sharey="row",
        squeeze=False,
    )
    columns = zip(driven.items(), *grid, strict=True)
    for (name, (shown, episodes)), above, below in columns:
        track(above)
        above.set_title(name, fontsize="medium")
        for episode in shown[:30]:
            grey = {"color": "#bbbbbb", "linewidth": 0.6, "zorder": 2}
            above.plot(*episode.observations[:, :2].T, **grey)
        distance = covariate_shift.DistanceToData(shown)
        for episode in episodes:
            times = distance.along(episode) / distance.usual
            seconds = np.arange(len(times)) / SECOND
            crashed = episode.total_reward < 0
            colour = figures.ORANGE if crashed else figures.BLUE
            lines = (above, *episode.observations[:, :2].T), (below, seconds, times)
            for ax, x, y in lines:
                ax.plot(x, y, color=colour, linewidth=1.2, zorder=3)
                if crashed:
                    ax.plot(x[-1], y[-1], "x", color="black", markersize=6, zorder=5)
        below.axhline(covariate_shift.TOLERANCE, **figures.DOTTED)
        below.set(xlabel="seconds", yscale="log", ylim=(0.03, 20))
        below.spines[["top", "right"]].set_visible(False)
    grid[1, 0].set_ylabel("distance from the data\n(times the usual)")
    return figure


class RewardMaps(NamedTuple):
    """What the discriminator would pay at each place, many times during training."""

    steps: np.ndarray  # (maps,): how much was played before each
    places: np.ndarray  # (places, 2): x and y, inside the walls
    rewards: np.ndarray  # (maps, places)
    drives: np.ndarray  # (maps, steps, 2): one drive each; where it ended it stays


def reward_maps() -> RewardMaps:
    """As `gail/reward-map` left them behind."""
    arrays = store.arrays(Run("gail/reward-map", "ppo", 0))
    return RewardMaps(*(arrays[name] for name in RewardMaps._fields))


def draw_rewards(
    ax: Axes, maps: RewardMaps, number: int, most: float = 2.0
) -> AxesImage:
    """One map: blue is paid, red is charged, the line is where the learner drove."""
    track(ax)
    spacing = 2 * maps.places.min()  # the first place is half a spacing from the corner
    columns, rows = (maps.places / spacing).astype(int).T
    rewards = np.full((rows.max() + 1, columns.max() + 1), np.nan)
    rewards[rows, columns] = maps.rewards[number]
    around = (0, rewards.shape[1] * spacing, 0, rewards.shape[0] * spacing)
    scale: Style = {"cmap": "RdBu", "vmin": -most, "vmax": most, "zorder": 0}
    coloured = ax.imshow(rewards, origin="lower", extent=around, **scale)
    ax.plot(*maps.drives[number].T, color="black", linewidth=1.2)
    ax.set(xlim=(-0.5, 16), ylim=(-0.5, 8.8))
    ax.set_title(f"after {maps.steps[number]:,} steps")
    return coloured


def reward_panels(maps: RewardMaps, numbers: Sequence[int]) -> Figure:
    """Some of the maps, two in a row."""
    figure, grid = plt.subplots(
        -(-len(numbers) // 2),
        2,
        figsize=(9.5, 5.6),
        layout="constrained",
        sharex=True,
        sharey=True,
    )
    for ax, number in zip(grid.flat, numbers, strict=True):
        coloured = draw_rewards(ax, maps, number)
        ax.label_outer()
    figure.colorbar(coloured, ax=grid, label="paid per step", shrink=0.6)
    return figure


def reward_film(maps: RewardMaps, fps: int = 4) -> Video:
    """All of them, one after the other."""
    frames = []  # 800 by 464: multiples of 16, as the codec wants them
    for number in range(len(maps.steps)):
        figure, ax = plt.subplots(figsize=(8, 4.64), dpi=100, layout="constrained")
        coloured = draw_rewards(ax, maps, number)
        figure.colorbar(coloured, label="paid per step", shrink=0.8)
        figure.canvas.draw()
        pixels = figure.canvas.buffer_rgba()  # type: ignore[attr-defined]
        frames.append(np.asarray(pixels)[..., :3])
        plt.close(figure)
    last = f"{maps.steps[-1]:,}"
    words = f"Film of what the discriminator pays on the track, up to {last} steps."
    return clips.video(frames, fps, words)
