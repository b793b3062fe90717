"""The cart and pole of PyBullet's data, pushed with ±50 N."""

from typing import Any

import numpy as np
from gymnasium import spaces

from rlnotes.envs.actions import checked_discrete_action
from rlnotes.envs.bullet import BulletEnv, Camera, RenderMode

FORCE = 50.0
CART_LIMIT, POLE_LIMIT = 10.0, 0.2095  # metres; radians, which is 12 degrees
CART, POLE = 0, 1


class BulletCartPoleEnv(BulletEnv):
    """Keep a pole upright on a cart, simulated by PyBullet.

    ## Action space
    `Discrete(2)`: push with 50 N to the left (0) or right (1). Anything else raises
    `ValueError`.

    ## Observation space
    `Box(4)`: cart position (m), cart velocity (m/s), pole angle (radians), pole angular
    velocity (radians/s).

    ## Rewards
    +1 for every step, also the last one.

    ## Start
    Cart position and pole angle uniform in ±`start_noise`, at rest.

    ## End
    Terminated when the cart is beyond ±10 m or the pole beyond ±0.2095 radians.
    Truncated after 500 steps when made by `gym.make`.

    ## Time
    20 Hz: one action, one physics step of 1/20 s.

    ## Arguments
    `start_noise` (0.05), `render_mode` ("rgb_array", "human" or None).

    ## Version history
    v0: headless by default; the notes always open a window.
    """

    time_step = 1 / 20
    gravity = -9.81

    def __init__(
        self, start_noise: float = 0.05, render_mode: RenderMode = None
    ) -> None:
        self.start_noise = start_noise
        self.action_space = spaces.Discrete(2)
        bound = np.array((2 * CART_LIMIT, 100, 2 * np.pi, 200), np.float32)
        self.observation_space = spaces.Box(-bound, bound, dtype=np.float32)
        super().__init__(render_mode)

    def _build(self) -> None:
        physics = self.physics
        self._cart = physics.loadURDF("cartpole.urdf")
        # PyBullet's joints brake by default. The pole must swing freely; the cart keeps
        # its brake, as in the notes, and that is why a cart of 1 kg needs 50 N.
        physics.setJointMotorControl2(
            self._cart, POLE, physics.VELOCITY_CONTROL, force=0
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        self._restore(seed)
        for joint in (CART, POLE):
            place = self.np_random.uniform(-self.start_noise, self.start_noise)
            self.physics.resetJointState(self._cart, joint, place, 0)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert isinstance(self.action_space, spaces.Discrete)
        to_the_right = checked_discrete_action(action, self.action_space) == 1
        push = FORCE if to_the_right else -FORCE
        physics = self.physics
        physics.setJointMotorControl2(
            self._cart, CART, physics.TORQUE_CONTROL, force=push
        )
        physics.stepSimulation()
        observation = self._observation()
        cart, _, pole, _ = np.abs(observation)
        fallen = bool(cart > CART_LIMIT or pole > POLE_LIMIT)
        return observation, 1.0, fallen, False, {}

    def _observation(self) -> np.ndarray:
        cart, pole = self.physics.getJointStates(self._cart, (CART, POLE))
        return np.array((cart[0], cart[1], pole[0], pole[1]), np.float32)

    def _camera(self) -> Camera:
        x = self.physics.getJointState(self._cart, CART)[0]
        return Camera(target=(x, 0, 0.3), distance=2.2, yaw=0, pitch=-12)
