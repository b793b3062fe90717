"""A ball on a plate that tilts about two axes."""

from importlib import resources
from typing import Any

import numpy as np
from gymnasium import spaces

from rlnotes.envs.actions import checked_discrete_action
from rlnotes.envs.bullet import BulletEnv, Camera, RenderMode

TORQUE = 0.0003  # N·m
BALL_RADIUS, BALL_MASS = 0.02, 0.0007  # m, kg
FALLEN_BELOW = 0.1  # m
PITCH, ROLL = 0, 1


class BalancingPlateEnv(BulletEnv):
    """Keep a ball of 0.7 g on a plate by tilting it with four combinations of torques.

    ## Action space
    `Discrete(4)`: torque on the pitch and on the roll hinge: 0 is (−, −), 1 is (−, +),
    2 is (+, −), 3 is (+, +), each of 0.0003 N·m. Anything else raises `ValueError`.

    ## Observation space
    `Box(10)`: ball position x, y, z (m), ball velocity x, y, z (m/s), angles of the two
    hinges (radians), their angular velocities (radians/s), all times 10 so that
    networks see numbers near one. With `joint_velocities=False` it is `Box(8)`, the
    notes' observation, which hides how the plate is turning.

    ## Rewards
    +1 for every step.

    ## Start
    The ball at rest above the middle, the hinges turned by up to ±0.0005 radians and
    turning by up to ±0.00005 radians/s, uniformly.

    ## End
    Terminated when the ball is below 0.1 m: it has fallen off. Truncated after 1,000
    steps when made by `gym.make`.

    ## Time
    100 Hz: one action, one physics step of 1/100 s.

    ## Arguments
    `joint_velocities` (True), `render_mode` ("rgb_array", "human" or None).

    ## Version history
    v0: with a time limit, and with the hinges' velocities; the notes have neither.
    """

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 100}
    time_step = 1 / 100
    gravity = -9.81

    def __init__(
        self, joint_velocities: bool = True, render_mode: RenderMode = None
    ) -> None:
        self.joint_velocities = joint_velocities
        self.action_space = spaces.Discrete(4)
        bound = np.array((20, 20, 20, 100, 100, 100, 20, 20, 500, 500), np.float32)
        bound = bound if joint_velocities else bound[:8]
        self.observation_space = spaces.Box(-bound, bound, dtype=np.float32)
        super().__init__(render_mode)

    def _build(self) -> None:
        physics = self.physics
        physics.loadURDF("plane.urdf")
        asset = resources.files("rlnotes.envs") / "assets" / "balancing_plate.urdf"
        with resources.as_file(asset) as urdf:
            self._plate = physics.loadURDF(
                str(urdf), basePosition=(0, 0, 0.1), useFixedBase=True
            )
        shape = physics.createCollisionShape(physics.GEOM_SPHERE, radius=BALL_RADIUS)
        look = physics.createVisualShape(
            physics.GEOM_SPHERE, radius=BALL_RADIUS, rgbaColor=(1, 0.45, 0.2, 1)
        )
        self._ball = physics.createMultiBody(BALL_MASS, shape, look, (0, 0, 0.2))
        for joint in (PITCH, ROLL):  # joints brake by default
            physics.setJointMotorControl2(
                self._plate, joint, physics.VELOCITY_CONTROL, force=0
            )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        self._restore(seed)
        for joint in (PITCH, ROLL):
            angle, speed = self.np_random.uniform(-1, 1, 2) * (0.0005, 0.00005)
            self.physics.resetJointState(self._plate, joint, angle, speed)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert isinstance(self.action_space, spaces.Discrete)
        pitch, roll = divmod(checked_discrete_action(action, self.action_space), 2)
        torques = [TORQUE if positive else -TORQUE for positive in (pitch, roll)]
        physics = self.physics
        physics.setJointMotorControlArray(
            self._plate, (PITCH, ROLL), physics.TORQUE_CONTROL, forces=torques
        )
        physics.stepSimulation()
        observation = self._observation()
        return observation, 1.0, bool(observation[2] < 10 * FALLEN_BELOW), False, {}

    def _observation(self) -> np.ndarray:
        place, _ = self.physics.getBasePositionAndOrientation(self._ball)
        velocity, _ = self.physics.getBaseVelocity(self._ball)
        pitch, roll = self.physics.getJointStates(self._plate, (PITCH, ROLL))
        turning = (pitch[1], roll[1]) if self.joint_velocities else ()
        row = (*place, *velocity, pitch[0], roll[0], *turning)
        return 10 * np.array(row, np.float32)

    def _camera(self) -> Camera:
        return Camera(target=(0, 0, 0.13), distance=0.55, yaw=45, pitch=-30)
