"""Who shows the race car how to drive: a script, alone or with the habits of people.

- *clean*: the driver itself.
- *dart*: the driver, while the car executes its action with noise (`action_noise` of
  the environment) and the action without noise is recorded (Laskey et al., 2017): the
  data shows how to come back to the line.
- *noisy*: the driver with noise on its actions, recorded as they were executed
  (`Unsteady`): a critic can learn from it what other actions lead to.
- *keyboard*: what the driver wants, squeezed through arrow keys (`ArrowKeys`).
"""

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

WHEELBASE = 0.325  # m
SPACING = 0.05  # m between points of the line
# What one press of an arrow key changes, as in the notes.
STEERING_NOTCH, THROTTLE_NOTCH = 0.2, 0.1


def racing_line() -> np.ndarray:
    """The middle of the track with round corners, as points `SPACING` apart."""
    corners = [
        [(0.5, 0.5), (0.75, 1.4)],
        _arc((1.9, 1.9), 1.1, 180, 90),
        _arc((8.0, 4.0), 1.0, -90, 0),
        _arc((10.0, 6.0), 1.0, 180, 90),
        [(14.4, 7.2)],
    ]
    points = np.concatenate(corners)
    along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    places = np.arange(0, along[-1], SPACING)
    return np.stack([np.interp(places, along, column) for column in points.T], axis=1)


def _arc(
    centre: tuple[float, float], radius: float, first: float, last: float
) -> list[tuple[float, float]]:
    x, y = centre
    angles = np.radians(np.linspace(first, last, 12))
    return [(x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles]


@dataclass(frozen=True)
class PurePursuit:
    """Steer towards a point of the line some way ahead, and slow down while steering.

    The steering angle is the one whose circle passes through that point: tan δ =
    wheelbase · 2 sin(error) / distance.
    """

    line: np.ndarray = field(default_factory=racing_line)
    lookahead: float = 0.8
    throttle: float = 0.6
    slowing: float = 0.5

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        """Actions for a batch of observations."""
        return np.array([self._drive(*row[[0, 1, 4]]) for row in obs], np.float32)

    def _drive(self, x: float, y: float, heading: float) -> tuple[float, float]:
        nearest = int(np.argmin(np.hypot(*(self.line - (x, y)).T)))
        ahead = min(nearest + round(self.lookahead / SPACING), len(self.line) - 1)
        dx, dy = self.line[ahead] - (x, y)
        error = math.remainder(math.atan2(dy, dx) - heading, 2 * math.pi)
        away = max(math.hypot(dx, dy), 0.1)
        angle = math.atan(WHEELBASE * 2 * math.sin(error) / away)
        steering = max(-1.0, min(1.0, -angle))  # positive is to the right
        return steering, self.throttle - self.slowing * min(abs(steering), 0.5)


class Unsteady:
    """A driver whose hands shake: Gaussian noise on its actions, within the bounds."""

    def __init__(self, driver: PurePursuit, seed: int, noise: float = 0.3) -> None:
        self._driver, self._noise = driver, noise
        self._rng = np.random.default_rng(seed)

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        noise = self._noise * self._rng.standard_normal((len(obs), 2))
        shaken = self._driver(obs) + noise
        return shaken.clip((-1, 0), (1, 1)).astype(np.float32)


class ArrowKeys:
    """A person at the keyboard who wants what `driver` wants.

    For one episode, one observation at a time. Each press moves steering or throttle by
    one notch and the value is held until the next press; the eye is `delay` steps late
    and the finger presses at most every `pause` steps. So the action depends on what
    happened before, and not on the observation alone.
    """

    def __init__(self, driver: PurePursuit, delay: int = 1, pause: int = 2) -> None:
        self._driver, self._pause = driver, pause
        self._seen: deque[np.ndarray] = deque(maxlen=delay + 1)
        self._held = np.zeros(2, np.float32)
        self._step = 0

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        assert len(obs) == 1, "a person drives one car"
        self._seen.append(obs)
        if self._step % self._pause == 0:
            self._press(self._driver(self._seen[0])[0] - self._held)
        self._step += 1
        return self._held[None].copy()

    def _press(self, missing: np.ndarray) -> None:
        """One key: the one whose value is further off, in notches, if that is more than
        half a notch."""
        notches = missing / (STEERING_NOTCH, THROTTLE_NOTCH)
        key = int(np.argmax(np.abs(notches)))
        if abs(notches[key]) > 0.5:
            notch = (STEERING_NOTCH, THROTTLE_NOTCH)[key]
            self._held[key] += math.copysign(notch, missing[key])
            self._held = self._held.clip((-1, 0), (1, 1)).astype(np.float32)


def keyboard_person() -> ArrowKeys:
    """Somebody who drives a little slower than the script, as with arrow keys."""
    return ArrowKeys(PurePursuit(throttle=0.45, slowing=0.4))
