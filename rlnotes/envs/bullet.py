"""What the PyBullet worlds share: a physics server, a repeatable start, a camera.

A world is built once and its state saved; a reset restores that state. This takes some
hundredths of a millisecond where rebuilding takes tens of milliseconds, and it is
bit-identical to rebuilding as long as overlapping pairs are kept in a fixed order and
no body falls asleep: `tests/envs` checks both.
"""

import inspect
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np


@contextmanager
def _silenced_stderr() -> Iterator[None]:
    """PyBullet greets from C when imported: `sys.stderr` is not asked."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


with _silenced_stderr():
    import pybullet
    import pybullet_data

RenderMode = Literal["rgb_array", "human"] | None

NOT_CONNECTED = -1  # a number that PyBullet gives to no server


class Camera(NamedTuple):
    """Where the film is taken from: what is looked at (m), how far away (m), two angles
    in degrees."""

    target: tuple[float, float, float]
    distance: float
    yaw: float
    pitch: float
    width: int = 320
    height: int = 240


class Physics:
    """PyBullet's functions bound to one physics server: two worlds never touch.

    PyBullet gives the number of a server that was disconnected to the next one. So on
    `disconnect` all that was bound to the number loses it, and using it later is an
    error. A server, which takes some 40 MB, is also disconnected when nobody refers to
    its world any more. What falls freely in it is at equation eq-fall.
    """

    def __init__(self, gui: bool) -> None:
        if gui and not os.environ.get("DISPLAY"):
            raise gym.error.DependencyNotInstalled(
                "render_mode='human' opens a window and there is no display here:"
                " use render_mode='rgb_array'"
            )
        self._client = pybullet.connect(pybullet.GUI if gui else pybullet.DIRECT)
        # Called once at most: by `disconnect`, when garbage is collected, or at exit.
        self._close = weakref.finalize(self, pybullet.disconnect, self._client)
        self._bound: dict[str, partial[Any]] = {}
        self.setAdditionalSearchPath(pybullet_data.getDataPath())

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(pybullet, name)
        self.require_open()
        if not inspect.isbuiltin(attribute):
            return attribute
        bound = partial(attribute, physicsClientId=self._client)
        self._bound[name] = bound
        setattr(self, name, bound)  # so that the next call does not come through here
        return bound

    def require_open(self) -> None:
        if not self._close.alive:
            raise gym.error.ClosedEnvironmentError(
                "this world has been closed and cannot be used any more: make a new one"
            )

    def disconnect(self) -> None:
        """Free the server; a second time does nothing."""
        self._close()
        for name, bound in self._bound.items():
            bound.keywords["physicsClientId"] = NOT_CONNECTED  # if somebody kept it
            delattr(self, name)
        self._bound.clear()


class BulletEnv(gym.Env[np.ndarray, Any]):
    """Base of the worlds. A subclass builds its bodies in `_build`, and defines `reset`
    and `step`. A world that was closed raises `ClosedEnvironmentError` when used."""

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 20}
    time_step: float
    gravity: float

    def __init__(self, render_mode: RenderMode = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f"render_mode is 'rgb_array', 'human' or None, not {render_mode!r}"
            )
        self.render_mode = render_mode
        self.physics = Physics(gui=render_mode == "human")
        physics = self.physics
        physics.resetSimulation()
        physics.setGravity(0, 0, self.gravity)
        physics.setTimeStep(self.time_step)
        physics.setPhysicsEngineParameter(deterministicOverlappingPairs=1)
        self._build()
        awake = physics.ACTIVATION_STATE_DISABLE_SLEEPING
        for body in range(physics.getNumBodies()):
            physics.changeDynamics(body, -1, activationState=awake)
        self._start_state = physics.saveState()

    def _build(self) -> None:
        raise NotImplementedError

    def _camera(self) -> Camera:
        raise NotImplementedError

    def _restore(self, seed: int | None) -> None:
        super().reset(seed=seed)
        self.physics.restoreState(self._start_state)

    def render(self) -> Any:
        self.physics.require_open()
        if self.render_mode != "rgb_array":
            return None  # PyBullet's own window shows what happens
        physics = self.physics
        target, distance, yaw, pitch, width, height = self._camera()
        view = physics.computeViewMatrixFromYawPitchRoll(
            target, distance, yaw, pitch, roll=0, upAxisIndex=2
        )
        lens = physics.computeProjectionMatrixFOV(60, width / height, 0.01, 100)
        # TinyRenderer needs neither a display nor a GPU.
        tiny = physics.ER_TINY_RENDERER
        image = physics.getCameraImage(width, height, view, lens, renderer=tiny)
        return np.reshape(image[2], (height, width, 4))[:, :, :3].astype(np.uint8)

    def close(self) -> None:
        self.physics.disconnect()
