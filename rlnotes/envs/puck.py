"""A puck on ice: the smallest world here, and the example of how to build one."""

from typing import Any

import numpy as np
from gymnasium import spaces

from rlnotes.envs.actions import checked_box_action
from rlnotes.envs.bullet import BulletEnv, Camera, RenderMode

TABLE = 1.0  # m from the middle to each of the four rims
RIM = 0.05  # m, half a rim's thickness
RADIUS, MASS = 0.1, 0.5  # m, kg
FORCE = 1.0  # N
PHYSICS_STEPS = 12  # per action


class PuckEnv(BulletEnv):
    """Push a puck across ice to a target, and stop it there.

    ## Action space
    `Box(2)` in [−1, 1]: the force on the puck along x and y, in newtons. Values out of
    range are clipped; a wrong shape or a value that is not finite raises `ValueError`.

    ## Observation space
    `Box(6)`: puck position x, y (m), puck velocity x, y (m/s), target x, y (m).

    ## Rewards
    Minus the distance to the target in metres, at every step.

    ## Start
    Puck at rest and target, both uniform in ±0.7 m.

    ## End
    Never terminated: the rims keep the puck on the table. Truncated after 100 steps
    when made by `gym.make`.

    ## Time
    20 Hz: one action, twelve physics steps of 1/240 s.

    ## Arguments
    `render_mode` ("rgb_array", "human" or None).
    """

    time_step = 1 / 240
    gravity = -9.81

    def __init__(self, render_mode: RenderMode = None) -> None:
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        bound = np.array((1, 1, 10, 10, 1, 1), np.float32)
        self.observation_space = spaces.Box(-bound, bound, dtype=np.float32)
        super().__init__(render_mode)

    def _build(self) -> None:
        physics = self.physics
        edge = TABLE + 2 * RIM
        ice = self._box((0, 0, -0.05), (edge, edge, 0.05), (0.93, 0.95, 0.97, 1))
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            place = ((TABLE + RIM) * x, (TABLE + RIM) * y, RIM)
            half = (RIM if x else edge, RIM if y else edge, RIM)
            self._box(place, half, (0.5, 0.5, 0.55, 1))
        # The puck is a sphere to the physics: with a cylinder or a box on the ice, the
        # same seed no longer gives the same bits after `restoreState`.
        shape = physics.createCollisionShape(physics.GEOM_SPHERE, radius=RADIUS)
        red, green = (0.8, 0.25, 0.1, 1), (0.1, 0.6, 0.3, 1)
        middle = (0, 0, RADIUS)
        self._puck = physics.createMultiBody(MASS, shape, self._disc(red, 0.06), middle)
        for body in (ice, self._puck):
            physics.changeDynamics(body, -1, lateralFriction=0)
        # The target is only a picture: without a collision shape nothing bumps into it.
        self._target = physics.createMultiBody(0, -1, self._disc(green, 0.004), middle)

    def _box(self, place: Any, half: Any, colour: Any) -> int:
        physics = self.physics
        shape = physics.createCollisionShape(physics.GEOM_BOX, halfExtents=half)
        look = physics.createVisualShape(
            physics.GEOM_BOX, halfExtents=half, rgbaColor=colour
        )
        return physics.createMultiBody(0, shape, look, place)

    def _disc(self, colour: Any, height: float) -> int:
        """The looks of a disc on the ice, whose body's centre is a radius above it."""
        return self.physics.createVisualShape(
            self.physics.GEOM_CYLINDER,
            radius=RADIUS,
            length=height,
            rgbaColor=colour,
            visualFramePosition=(0, 0, height / 2 - RADIUS),
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        self._restore(seed)
        puck, self._goal = self.np_random.uniform(-0.7, 0.7, (2, 2))
        for body, place in ((self._puck, puck), (self._target, self._goal)):
            self.physics.resetBasePositionAndOrientation(
                body, (*place, RADIUS), (0, 0, 0, 1)
            )
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert isinstance(self.action_space, spaces.Box)
        force = FORCE * checked_box_action(action, self.action_space)
        for _ in range(PHYSICS_STEPS):
            self._push(force)
            self.physics.stepSimulation()
        observation = self._observation()
        away = float(np.hypot(*(observation[:2] - observation[4:])))
        return observation, -away, False, False, {}

    def _push(self, force: np.ndarray) -> None:
        """Through the centre of mass; PyBullet forgets forces after a physics step."""
        place, _ = self.physics.getBasePositionAndOrientation(self._puck)
        frame = self.physics.WORLD_FRAME
        self.physics.applyExternalForce(self._puck, -1, (*force, 0), place, frame)

    def _observation(self) -> np.ndarray:
        (x, y, _), _ = self.physics.getBasePositionAndOrientation(self._puck)
        (vx, vy, _), _ = self.physics.getBaseVelocity(self._puck)
        return np.array((x, y, vx, vy, *self._goal), np.float32)

    def _camera(self) -> Camera:
        return Camera(target=(0, -0.1, 0), distance=2.3, yaw=0, pitch=-65)
