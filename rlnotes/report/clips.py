"""Short films of policies at work, made by playing them."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio.v3 as imageio
import numpy as np
from IPython.display import Video
from PIL import Image, ImageDraw, ImageFont

from rlnotes.data.rollouts import BatchPolicy

TILE = 240  # height; the width follows the camera's
CAPTION = 48  # with the tile a multiple of 16, as the codec wants it

# A policy with what makes its world, which need not be the same for all in a film.
Player = tuple[Callable[..., gym.Env[Any, Any]], BatchPolicy]


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
    films = [_film(label, *player, seed, steps) for label, player in players.items()]
    together = list(zip(*films, strict=True))[::every]
    return video([np.concatenate(tiles, axis=1) for tiles in together], fps)


def video(frames: Sequence[np.ndarray], fps: int) -> Video:
    """Pictures of one size, height and width even, as a film inside the page."""
    # yuv420p is the one pixel format that every browser plays.
    codec: dict[str, Any] = {"codec": "libx264", "pixelformat": "yuv420p", "quality": 6}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        imageio.imwrite(path, np.stack(frames), fps=fps, **codec)
        content = path.read_bytes()
    attributes = 'controls loop muted autoplay playsinline style="max-width: 100%"'
    return Video(
        data=content, embed=True, mimetype="video/mp4", html_attributes=attributes
    )


def _film(
    label: str,
    make_env: Callable[..., gym.Env[Any, Any]],
    policy: BatchPolicy,
    seed: int,
    steps: int,
) -> list[np.ndarray]:
    """`steps` frames; after the end of the episode its last picture stands still."""
    env = make_env(render_mode="rgb_array")
    try:
        obs, _ = env.reset(seed=seed)
        total, done = 0.0, False
        frame = _tile(env.render(), label, total)
        frames: list[np.ndarray] = []
        for _ in range(steps):
            frames.append(frame)
            if not done:
                action = policy(obs[None])[0]
                obs, reward, terminated, truncated, _ = env.step(action)
                total += float(reward)
                done = terminated or truncated
                frame = _tile(env.render(), label, total)
    finally:
        env.close()
    return frames


def _tile(frame: Any, label: str, total: float) -> np.ndarray:
    width = round(TILE * frame.shape[1] / frame.shape[0] / 16) * 16
    tile = Image.new("RGB", (width, TILE + CAPTION), "white")
    tile.paste(Image.fromarray(frame).resize((width, TILE)), (0, CAPTION))
    draw = ImageDraw.Draw(tile)
    draw.text((10, 4), label, fill="black", font=ImageFont.load_default(17))
    small = ImageFont.load_default(13)
    draw.text((10, 25), f"return so far {total:.0f}", fill="#555555", font=small)
    return np.asarray(tile)
