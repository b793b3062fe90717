"""Pictures of worlds, and short films of policies at work, made by playing them."""

import os
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio.v3 as imageio
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Video
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from rlnotes.data.rollouts import BatchPolicy
from rlnotes.report import describe, figures, tables

TILE = 240  # height; the width follows the camera's
CAPTION = 48  # with the tile a multiple of 16, as the codec wants it
NO_DEVICES = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}

# A policy with what makes its world, which need not be the same for all in a film.
Player = tuple[Callable[..., gym.Env[Any, Any]], BatchPolicy]


def pictures(env_ids: Sequence[str], seed: int = 1) -> list[Axes]:
    """What the camera of each world sees at the start."""
    columns = np.atleast_1d(figures.axes(len(env_ids), width=9, height=2.2))
    for ax, env_id in zip(columns, env_ids, strict=True):
        with _filmed(partial(gym.make, env_id)) as env:
            env.reset(seed=seed)
            ax.imshow(env.render())
        ax.set_title(env_id.rpartition("/")[2], fontsize="medium")
        ax.axis("off")
    return list(columns)


def can_be_seen(make_env: Callable[..., gym.Env[Any, Any]]) -> bool:
    with closing(make_env()) as env:
        return "rgb_array" in env.metadata.get("render_modes", ())


def portraits(players: Mapping[str, Player], seed: int, step: int) -> Figure:
    """Each player at work, after so many steps or at the end of its episode."""
    number = len(players)
    columns = number if number < 5 else min((5, 4), key=lambda each: -number % each)
    rows, width = -(-number // columns), min(9, 3 * columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(width, 0.91 * width / columns * rows),
        layout="constrained",
        squeeze=False,
    )
    for ax in grid.flat[number:]:
        ax.axis("off")
    for ax, (label, player) in zip(grid.flat, players.items(), strict=False):
        make_env, policy = player
        ax.set(adjustable="datalim", box_aspect=0.75, xticks=[], yticks=[])
        ax.spines[:].set_color("#cccccc")
        with _filmed(make_env) as env:
            obs, _ = env.reset(seed=seed)
            for _ in range(step):
                obs, _, terminated, truncated, _ = env.step(policy(obs[None])[0])
                if terminated or truncated:
                    break
            ax.imshow(env.render())
        ax.set_title(
            textwrap.fill(label, 80 // columns), fontsize="medium", va="bottom"
        )
    return figure


def side_by_side(
    players: Mapping[str, Player],
    seed: int,
    steps: int = 200,
    fps: int = 30,
    every: int = 1,
) -> Video:
    """All players from the same start, next to each other, each with its label and its
    return so far.

    `every` shows only each so many-th step, for simulations quicker than the eye.
    """
    films = [
        _film(label, *player, seed, steps, every) for label, player in players.items()
    ]
    together = zip(*films, strict=True)
    frames = [np.concatenate(tiles, axis=1) for tiles in together]
    return video(frames, fps, describe.film(list(players), steps))


def video(frames: Sequence[np.ndarray], fps: int, words: str) -> Video:
    """Pictures of one size, height and width even, as a film inside the page, with
    words for those who cannot see it."""
    # yuv420p is the one pixel format that every browser plays.
    codec: dict[str, Any] = {"codec": "libx264", "pixelformat": "yuv420p", "quality": 6}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        imageio.imwrite(path, np.stack(frames), fps=fps, **codec)
        content = path.read_bytes()
    height, width, _ = frames[0].shape
    attributes = (
        "controls loop muted autoplay playsinline"
        f' style="max-width: 100%; height: auto" aria-label="{escape(words)}"'
    )
    return Video(
        data=content,
        embed=True,
        mimetype="video/mp4",
        width=width,
        height=height,
        html_attributes=attributes,
    )


def _film(
    label: str,
    make_env: Callable[..., gym.Env[Any, Any]],
    policy: BatchPolicy,
    seed: int,
    steps: int,
    every: int,
) -> list[np.ndarray]:
    """Frames of each `every`-th step; only these are drawn, which is what takes time.
    After the end of the episode its last picture stands still."""
    with _filmed(make_env) as env:
        obs, _ = env.reset(seed=seed)
        total, done, drawn = 0.0, False, False
        frames: list[np.ndarray] = []
        for step in range(steps):
            if step % every == 0:
                same = frames[-1] if drawn else _tile(env.render(), label, total)
                frames.append(same)
                drawn = True
            if not done:
                action = policy(obs[None])[0]
                obs, reward, terminated, truncated, _ = env.step(action)
                total += float(reward)
                done, drawn = terminated or truncated, False
    return frames


@contextmanager
def _filmed(make_env: Callable[..., gym.Env[Any, Any]]) -> Iterator[gym.Env[Any, Any]]:
    """A world that is drawn into memory. pygame would look for a window and a sound
    card all the same, and complain where there are none."""
    before = {name: os.environ.get(name) for name in NO_DEVICES}
    os.environ.update(NO_DEVICES)
    try:
        with closing(make_env(render_mode="rgb_array")) as env:
            yield env
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    """The figures' own, which has Greek letters and a true minus; Pillow's has not."""
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    return ImageFont.truetype(folder / "DejaVuSans.ttf", size)


def _tile(frame: Any, label: str, total: float) -> np.ndarray:
    width = round(TILE * frame.shape[1] / frame.shape[0] / 16) * 16
    tile = Image.new("RGB", (width, TILE + CAPTION), "white")
    tile.paste(Image.fromarray(frame).resize((width, TILE)), (0, CAPTION))
    draw = ImageDraw.Draw(tile)
    draw.text((10, 4), label, fill="black", font=_font(15))
    small = _font(12)
    draw.text(
        (10, 25), f"return so far {tables.number(total, 0)}", fill="#555555", font=small
    )
    return np.asarray(tile)
