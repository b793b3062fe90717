"""Drive the race car yourself with the arrow keys, and keep the episodes."""

import os
from typing import Any

import gymnasium as gym
import numpy as np

from rlnotes.data.demonstrators import STEERING_NOTCH, THROTTLE_NOTCH
from rlnotes.data.rollouts import Episode, play_together
from rlnotes.errors import UserError

WINDOW = (960, 720)
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
HELP = "left / right: steer    up / down: throttle    R: start again    Esc: stop"


class StopDriving(Exception):
    """Esc, or the window was closed."""


class StartAgain(Exception):
    """R: the episode so far is thrown away."""


class Wheel:
    """The window, and what the arrow keys have set: each press is one notch, held until
    the next."""

    def __init__(self, env: gym.Env[Any, Any], fps: float) -> None:
        import pygame  # prints a greeting, and is needed by nobody else

        if not any(os.environ.get(name) for name in DISPLAYS):
            raise UserError(
                "driving needs a window, and there is no display here."
                " Try it on a desktop."
            )
        self._pygame, self._env, self._fps = pygame, env, fps
        pygame.init()
        try:
            self._window = pygame.display.set_mode(WINDOW)
        except pygame.error as problem:
            raise UserError(
                f"driving needs a window, and none can be opened here ({problem})."
            ) from problem
        pygame.display.set_caption("rlnotes: drive")
        self._font = pygame.font.Font(None, 30)
        self._clock = pygame.time.Clock()
        self.held = np.zeros(2, np.float32)

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        """Show where the car is, wait for the next frame, read the keys."""
        self._show()
        self._clock.tick(self._fps)
        for event in self._pygame.event.get():
            if event.type == self._pygame.QUIT:
                raise StopDriving
            if event.type == self._pygame.KEYDOWN:
                self._press(event.key)
        return self.held[None].copy()

    def _press(self, key: int) -> None:
        pygame = self._pygame
        if key == pygame.K_ESCAPE:
            raise StopDriving
        if key == pygame.K_r:
            raise StartAgain
        change = {
            pygame.K_LEFT: (-STEERING_NOTCH, 0),
            pygame.K_RIGHT: (STEERING_NOTCH, 0),
            pygame.K_UP: (0, THROTTLE_NOTCH),
            pygame.K_DOWN: (0, -THROTTLE_NOTCH),
        }.get(key, (0, 0))
        self.held = (self.held + change).clip((-1, 0), (1, 1)).astype(np.float32)

    def _show(self) -> None:
        pygame = self._pygame
        frame: Any = self._env.render()
        picture = pygame.surfarray.make_surface(frame.swapaxes(0, 1))
        self._window.blit(pygame.transform.smoothscale(picture, WINDOW), (0, 0))
        state = f"steering {self.held[0]:+.1f}   throttle {self.held[1]:.1f}"
        for row, text in enumerate((HELP, state)):
            line = self._font.render(text, True, (0, 0, 0))
            self._window.blit(line, (16, 14 + 30 * row))
        pygame.display.flip()

    def close(self) -> None:
        self._pygame.quit()


def drive(
    env: gym.Env[Any, Any], starts: list[int], fps: float = 20.0
) -> list[Episode]:
    """One episode per start, driven by a person; when they stop, what there is."""
    wheel = Wheel(env, fps)
    episodes: list[Episode] = []
    try:
        while len(episodes) < len(starts):
            wheel.held[:] = 0
            try:
                episodes += play_together([env], wheel, [starts[len(episodes)]])
            except StartAgain:
                continue
    except StopDriving:
        pass
    finally:
        wheel.close()
    return episodes
