"""A car on a closed S-shaped track, from the start in one corner to the other."""

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from rlnotes.envs.actions import checked_box_action
from rlnotes.envs.bullet import BulletEnv, Camera, RenderMode

# Ten walls, each from (x, y) to (x, y) in metres.
WALLS = (
    ((0, 0), (2, 0)),
    ((0, 0), (0, 4)),
    ((2, 0), (2, 2)),
    ((0, 4), (8, 4)),
    ((2, 2), (10, 2)),
    ((10, 2), (10, 6)),
    ((10, 6), (15, 6)),
    ((8, 4), (8, 8)),
    ((8, 8), (15, 8)),
    ((15, 6), (15, 8)),
)
WALL_THICKNESS, WALL_HEIGHT = 0.3, 0.5
START, START_HEADING = (0.5, 0.5), math.pi / 2
# In m, m, radians: at most this far, no start touches a wall.
START_SPREAD = (0.1, 0.1, 0.2)
FINISH = (14.5, 7.5)

DRIVEN_WHEELS = (2, 3, 5, 7)
STEERING_HINGES = (4, 6)
TOP_WHEEL_SPEED, WHEEL_FORCE = 50.0, 100.0


class RaceCarEnv(BulletEnv):
    """Drive PyBullet's race car through an S-shaped track of ten walls.

    ## Action space
    `Box([-1, 0], [1, 1])`: steering (−1 is full left, 1 full right) and throttle.
    Values out of range are clipped; a wrong shape or a value that is not finite raises
    `ValueError`. With `reverse`, the throttle is from −1, and below 0 the car drives
    backwards.

    ## Observation space
    `Box(9)`, or `Box(11)` with `goal_in_observation`: position x, y (m); velocity x, y
    (m/s); heading (radians, 0 is +x, π/2 is +y); angles of the two steering hinges
    (radians); their angular velocities (radians/s); then, if asked for, the finish x, y
    (m).

    ## Rewards
    −1 for touching a wall, +3 for coming within `finish_radius` of the finish,
    otherwise 0.

    ## Start
    At (0.5, 0.5) heading +y, at rest. With `start_noise = s`, the position is shifted
    by up to ±0.1·s m in x and y and the heading turned by up to ±0.2·s radians,
    uniformly.

    ## End
    Terminated at a wall or at the finish; `info["is_success"]` tells which. Truncated
    after 500 steps when made by `gym.make`; `max_episode_steps` changes that.

    ## Time
    20 Hz: one action, `physics_steps` steps of 1/20 s. The notes used two while
    collecting and one while training, which makes them two different cars.

    ## Arguments
    `start_noise`, `action_noise` (deviation of Gaussian noise on what the car executes,
    in units of the action), `physics_steps`, `finish_radius` (m),
    `goal_in_observation`, `reverse`, `render_mode` ("rgb_array", "human" or None).

    ## Version history
    v0: walls stand still (mass 0; the notes' walls of 100 kg can be pushed), own
    physics server.
    """

    time_step = 1 / 20
    gravity = -10.0

    def __init__(
        self,
        start_noise: float = 0.0,
        action_noise: float = 0.0,
        physics_steps: int = 1,
        finish_radius: float = 1.0,
        goal_in_observation: bool = False,
        reverse: bool = False,
        render_mode: RenderMode = None,
    ) -> None:
        self.start_noise, self.action_noise = start_noise, action_noise
        self.physics_steps, self.finish_radius = physics_steps, finish_radius
        self._goal = FINISH if goal_in_observation else ()
        low, high = np.array([(-1, -1 if reverse else 0), (1, 1)], np.float32)
        self.action_space = spaces.Box(low, high)
        # Beyond what the track and the motors allow: nothing real is ever cut off.
        most = (20, 20, 50, 50, np.pi, 2, 2, 500, 500, *np.abs(self._goal))
        bound = np.array(most, np.float32)
        self.observation_space = spaces.Box(-bound, bound, dtype=np.float32)
        super().__init__(render_mode)

    def _build(self) -> None:
        physics = self.physics
        physics.loadURDF("plane.urdf")
        self._car = physics.loadURDF(
            "racecar/racecar.urdf", (*START, 0.1), self._facing(START_HEADING)
        )
        self._walls = frozenset(self._wall(*wall) for wall in WALLS)

    def _wall(self, begin: tuple[float, float], end: tuple[float, float]) -> int:
        physics = self.physics
        dx, dy = end[0] - begin[0], end[1] - begin[1]
        half = [math.hypot(dx, dy) / 2, WALL_THICKNESS / 2, WALL_HEIGHT / 2]
        shape = physics.createCollisionShape(physics.GEOM_BOX, halfExtents=half)
        look = physics.createVisualShape(
            physics.GEOM_BOX, halfExtents=half, rgbaColor=(0.5, 0.5, 0.55, 1)
        )
        middle = ((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2, WALL_HEIGHT / 2)
        along = self._facing(math.atan2(dy, dx))
        return physics.createMultiBody(0, shape, look, middle, along)

    def _facing(self, heading: float) -> Any:
        return self.physics.getQuaternionFromEuler((0, 0, heading))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        self._restore(seed)
        if self.start_noise:
            shift = self.np_random.uniform(-1, 1, 3) * self.start_noise * START_SPREAD
            place = (START[0] + shift[0], START[1] + shift[1], 0.1)
            facing = self._facing(START_HEADING + shift[2])
            self.physics.resetBasePositionAndOrientation(self._car, place, facing)
        return self._observation(), {"is_success": False}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        steering, throttle = self._executed(action)
        physics = self.physics
        physics.setJointMotorControlArray(
            self._car,
            STEERING_HINGES,
            physics.POSITION_CONTROL,
            targetPositions=(-steering, -steering),
        )
        physics.setJointMotorControlArray(
            self._car,
            DRIVEN_WHEELS,
            physics.VELOCITY_CONTROL,
            targetVelocities=(throttle * TOP_WHEEL_SPEED,) * len(DRIVEN_WHEELS),
            forces=(WHEEL_FORCE,) * len(DRIVEN_WHEELS),
        )
        for _ in range(self.physics_steps):
            physics.stepSimulation()
        observation = self._observation()
        crashed = self._touches_a_wall()
        away = math.dist(observation[:2], FINISH)
        arrived = not crashed and away < self.finish_radius
        reward = -1.0 if crashed else 3.0 if arrived else 0.0
        return observation, reward, crashed or arrived, False, {"is_success": arrived}

    def _executed(self, action: Any) -> np.ndarray:
        assert isinstance(self.action_space, spaces.Box)
        checked = checked_box_action(action, self.action_space)
        if not self.action_noise:
            return checked
        noisy = checked + self.action_noise * self.np_random.standard_normal(2)
        return noisy.clip(self.action_space.low, self.action_space.high)

    def _touches_a_wall(self) -> bool:
        contacts = self.physics.getContactPoints(self._car)
        return any(contact[2] in self._walls for contact in contacts)

    def _observation(self) -> np.ndarray:
        physics = self.physics
        (x, y, _), facing = physics.getBasePositionAndOrientation(self._car)
        (vx, vy, _), _ = physics.getBaseVelocity(self._car)
        heading = physics.getEulerFromQuaternion(facing)[2]
        left, right = physics.getJointStates(self._car, STEERING_HINGES)
        hinges = (left[0], right[0], left[1], right[1])
        return np.array((x, y, vx, vy, heading, *hinges, *self._goal), np.float32)

    def _camera(self) -> Camera:
        (x, y, _), _ = self.physics.getBasePositionAndOrientation(self._car)
        return Camera(target=(x, y, 0), distance=4.5, yaw=0, pitch=-60)
