"""What the PyBullet worlds share: a physics server of their own, a repeatable start, a camera.

A world is built once and its state saved; a reset restores that state. This takes some hundredths of a
millisecond where rebuilding takes tens of milliseconds, and it is bit-identical to rebuilding as long
as overlapping pairs are kept in a fixed order and no body falls asleep: `tests/envs` checks both.
"""

import inspect
import os
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np
import pybullet
import pybullet_data

RenderMode = Literal["rgb_array", "human"] | None


class Camera(NamedTuple):
    """Where the film is taken from: a point looked at, the distance, and two angles in degrees."""

    target: tuple[float, float, float]
    distance: float
    yaw: float
    pitch: float
    width: int = 320
    height: int = 240


class Physics:
    """PyBullet's functions bound to one physics server, so that two worlds never touch each other."""

    def __init__(self, gui: bool) -> None:
        if gui and not os.environ.get("DISPLAY"):
            raise gym.error.DependencyNotInstalled(
                "render_mode='human' opens a window and there is no display here: use render_mode='rgb_array'"
            )
        self._client = pybullet.connect(pybullet.GUI if gui else pybullet.DIRECT)
        self.setAdditionalSearchPath(pybullet_data.getDataPath())

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(pybullet, name)
        if not inspect.isbuiltin(attribute):
            return attribute
        client = self._client

        def bound(*arguments: Any, **options: Any) -> Any:
            return attribute(*arguments, physicsClientId=client, **options)

        setattr(self, name, bound)  # so that the next call does not come through here
        return bound

    def disconnect(self) -> None:
        if self._client >= 0:
            pybullet.disconnect(physicsClientId=self._client)
            self._client = -1


class BulletEnv(gym.Env[np.ndarray, Any]):
    """Base of the worlds. A subclass builds its bodies in `_build`, and defines `reset` and `step`."""

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 20}
    time_step: float
    gravity: float

    def __init__(self, render_mode: RenderMode = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode is 'rgb_array', 'human' or None, not {render_mode!r}")
        self.render_mode = render_mode
        self.physics = Physics(gui=render_mode == "human")
        physics = self.physics
        physics.resetSimulation()
        physics.setGravity(0, 0, self.gravity)
        physics.setTimeStep(self.time_step)
        physics.setPhysicsEngineParameter(deterministicOverlappingPairs=1)
        self._build()
        for body in range(physics.getNumBodies()):
            physics.changeDynamics(body, -1, activationState=physics.ACTIVATION_STATE_DISABLE_SLEEPING)
        self._start_state = physics.saveState()

    def _build(self) -> None:
        raise NotImplementedError

    def _camera(self) -> Camera:
        raise NotImplementedError

    def _restore(self, seed: int | None) -> None:
        super().reset(seed=seed)
        self.physics.restoreState(self._start_state)

    def render(self) -> Any:
        if self.render_mode != "rgb_array":
            return None  # PyBullet's own window shows what happens
        camera, physics = self._camera(), self.physics
        view = physics.computeViewMatrixFromYawPitchRoll(
            camera.target, camera.distance, camera.yaw, camera.pitch, roll=0, upAxisIndex=2
        )
        lens = physics.computeProjectionMatrixFOV(60, camera.width / camera.height, 0.01, 100)
        # TinyRenderer needs neither a display nor a GPU.
        image = physics.getCameraImage(camera.width, camera.height, view, lens, renderer=physics.ER_TINY_RENDERER)
        return np.reshape(image[2], (camera.height, camera.width, 4))[:, :, :3].astype(np.uint8)

    def close(self) -> None:
        self.physics.disconnect()
