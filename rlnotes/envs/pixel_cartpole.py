"""CartPole as a picture, drawn with NumPy: no window, and no picture that is larger
than what is looked at."""

from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.wrappers import TimeLimit

from rlnotes.envs.actions import checked_discrete_action
from rlnotes.envs.frame_skip import FrameSkip

FRAMES = 500

# The scene is Gymnasium's, 600 wide and 400 high, with y from the bottom: a metre is
# 125 long. Greys are those of its colours.
WIDTH, HEIGHT, METRE = 600.0, 400.0, 125.0
TRACK, AXLE = 100.0, 107.5  # how high
CART = (50.0, 30.0)
POLE = (10.0, METRE)
BELOW_AXLE = 5.0  # the pole's lower end
LINE = 3.0  # how wide
SKY, BLACK, WOOD, RED = 255.0, 0.0, 161.0, 76.0
FINE = 4  # a row of pixels is looked at in so many parts, where the pole leans


class PixelCartPoleEnv(gym.Env[np.ndarray, int]):
    """Keep Gymnasium's pole upright, and see nothing but pictures of it.

    ## Action space
    `Discrete(2)`: push to the left (0) or right (1), for `frame_skip` frames. Anything
    else raises `ValueError`.

    ## Observation space
    `Box(0, 255, (stack_num, size, size), uint8)`: the last pictures in grey, one for
    each decision, the newest last. An episode begins with copies of its first.

    ## Rewards
    +1 for every frame. With `divide_reward`, the mean over the frames of a decision, as
    in the notes.

    ## Start
    CartPole-v1's.

    ## End
    CartPole-v1's: terminated with the cart beyond ±2.4 m or the pole beyond 12 degrees,
    truncated after 500 frames.

    ## Arguments
    `frame_skip` (4), `stack_num` (4), `screen_size` (84), `line` (False): a red line,
    upright in the middle, as the notes drew one to make the lean easier to see;
    `divide_reward` (False), `render_mode` ("rgb_array" or None).

    ## Version history
    v0: the notes draw in a window and shrink what they see.
    """

    metadata = {
        "render_modes": ["rgb_array"],
        "render_fps": 12,  # decisions, of four frames at 50 Hz
    }

    def __init__(
        self,
        frame_skip: int = 4,
        stack_num: int = 4,
        screen_size: int = 84,
        line: bool = False,
        divide_reward: bool = False,
        render_mode: Literal["rgb_array"] | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is 'rgb_array' or None, not {render_mode!r}")
        self._world = in_frames(CartPoleEnv(), frame_skip, divide_reward)
        self._line, self.render_mode = line, render_mode
        self.action_space = spaces.Discrete(2)
        size = (stack_num, screen_size, screen_size)
        self.observation_space = spaces.Box(0, 255, size, np.uint8)
        self._stack = np.zeros(size, np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._world.reset(seed=seed)
        self._stack[:] = self._picture(*self._stack.shape[1:])
        return self._stack.copy(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert isinstance(self.action_space, spaces.Discrete)
        pushed = checked_discrete_action(action, self.action_space)
        _, reward, terminated, truncated, _ = self._world.step(pushed)
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = self._picture(*self._stack.shape[1:])
        return self._stack.copy(), reward, terminated, truncated, {}

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        if self.render_mode is None:
            return None
        picture = self._picture(int(HEIGHT) // 2, int(WIDTH) // 2)
        return np.repeat(picture[..., None], 3, axis=2)

    def _picture(self, height: int, width: int) -> np.ndarray:
        world: Any = self._world.unwrapped
        place, _, lean, _ = world.state
        return draw(place, lean, height, width, self._line)


def in_frames(
    world: gym.Env[Any, Any], frame_skip: int = 4, divide_reward: bool = False
) -> FrameSkip:
    """What stands between a decision and its world: how many frames it is held for, how
    they are paid, and how many there are."""
    return FrameSkip(TimeLimit(world, FRAMES), frame_skip, divide_reward)


def draw(
    place: float, lean: float, height: int, width: int, line: bool = False
) -> np.ndarray:
    """The cart at `place` (m) and its pole (radians, positive to the right), averaged
    over the area of each pixel: so that a part of a pixel's width can be seen."""
    x = place * METRE + WIDTH / 2
    columns, rows = np.linspace(0, WIDTH, width + 1), np.linspace(0, HEIGHT, height + 1)
    picture = np.full((height, width), SKY)

    def paint(part: tuple[slice, slice], cover: np.ndarray, grey: float) -> None:
        picture[part] += cover * (grey - picture[part])

    cart = within(rows, TRACK - CART[1] / 2, TRACK + CART[1] / 2)
    wide = within(columns, x - CART[0] / 2, x + CART[0] / 2)
    paint((cart.part, wide.part), np.outer(cart.cover, wide.cover), BLACK)

    low = AXLE - BELOW_AXLE * np.cos(lean)
    high = AXLE + (POLE[1] - BELOW_AXLE) * np.cos(lean)
    tall = within(rows, low, high).part
    parts = np.linspace(rows[tall.start], rows[tall.stop], FINE * _length(tall) + 1)
    middle = x + ((parts[1:] + parts[:-1]) / 2 - AXLE) * np.tan(lean)
    half = POLE[0] / 2 / np.cos(lean)
    broad = within(columns, middle.min() - half, middle.max() + half).part
    if _length(broad):  # a cart may leave the picture
        edges = columns[broad.start : broad.stop + 1]
        across = covered(edges, middle[:, None] - half, middle[:, None] + half)
        across *= covered(parts, low, high)[:, None]
        cover = across.reshape(_length(tall), FINE, _length(broad)).mean(1)
        paint((tall, broad), cover, WOOD)

    track = within(rows, TRACK - 0.5, TRACK + 0.5)
    paint((track.part, slice(None)), track.cover[:, None], BLACK)
    if line:
        upright = within(columns, (WIDTH - LINE) / 2, (WIDTH + LINE) / 2)
        paint((slice(None), upright.part), upright.cover, RED)
    return np.rint(picture[::-1]).astype(np.uint8)


class Within(NamedTuple):
    part: slice  # of the stretches between edges, those that are touched
    cover: np.ndarray  # and how much of each of them


def within(edges: np.ndarray, low: float, high: float) -> Within:
    last = len(edges) - 1
    first, end = np.searchsorted(edges, (low, high))
    part = slice(min(max(int(first) - 1, 0), last), min(int(end), last))
    return Within(part, covered(edges[part.start : part.stop + 1], low, high))


def _length(part: slice) -> int:
    return part.stop - part.start


def covered(edges: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """The share of each stretch between two edges that lies between low and high."""
    inside = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    return np.maximum(inside, 0) / (edges[1:] - edges[:-1])
