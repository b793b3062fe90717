"""One physics server per world: quiet, freed when the world goes, never another's."""

import gc
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pybullet
import pytest

WORLDS = ("RaceCar", "Puck", "BulletCartPole", "BalancingPlate")
each_world = pytest.mark.parametrize("world", [f"rlnotes/{name}-v0" for name in WORLDS])


def make(world: str = "rlnotes/RaceCar-v0") -> Any:
    env: Any = gym.make(world, render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    return env


def connected(client: int) -> bool:
    return bool(pybullet.getConnectionInfo(client)["isConnected"])


def test_importing_a_world_prints_nothing() -> None:
    code = "import rlnotes.envs.racecar, sys; print('heard', file=sys.stderr)"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert (result.stdout, result.stderr) == ("", "heard\n")


@each_world
def test_a_closed_world_refuses_and_moves_no_other(world: str) -> None:
    closed = make(world)
    client, kept = closed.physics._client, closed.physics.stepSimulation
    closed.close()
    other = make(world)
    assert other.physics._client == client, "it got the number of the closed one"
    before = other.render()
    uses = (
        lambda: closed.step(closed.action_space.sample()),
        lambda: closed.reset(seed=1),
        closed.render,
        lambda: closed.physics.getBodyInfo(0),
        lambda: closed.physics.GUI,
    )
    for use in uses:
        with pytest.raises(gym.error.ClosedEnvironmentError, match="make a new one"):
            use()
    with pytest.raises(pybullet.error, match="Not connected"):
        kept()
    assert np.array_equal(other.render(), before)
    closed.close()
    assert connected(client), "closing twice closes no other"
    other.close()
    assert not connected(client)


def test_a_closed_world_without_a_camera_refuses_to_render() -> None:
    env = gym.make("rlnotes/Puck-v0").unwrapped
    env.close()
    with pytest.raises(gym.error.ClosedEnvironmentError):
        env.render()


@each_world
def test_a_world_that_nobody_refers_to_frees_its_server(world: str) -> None:
    env = make(world)
    client = env.physics._client
    assert connected(client)
    del env
    gc.collect()
    assert not connected(client)


def test_a_world_that_cannot_be_built_frees_its_server() -> None:
    from rlnotes.envs.puck import PuckEnv

    class Broken(PuckEnv):
        def _build(self) -> None:
            self.physics.loadURDF("there-is-no-such-file.urdf")

    client = pybullet.connect(pybullet.DIRECT)
    pybullet.disconnect(client)  # the number that the next world gets
    with pytest.raises(pybullet.error):
        Broken()
    gc.collect()
    assert not connected(client)


def test_worlds_left_open_are_closed_quietly_at_exit() -> None:
    code = (
        "import rlnotes, gymnasium as gym\n"
        "env = gym.make('rlnotes/Puck-v0')\n"
        "env.reset(seed=0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


# --- The plate and the cart can be balanced by simple rules that use what is obse


def length(env: gym.Env, rule: Callable[[np.ndarray], Any], seed: int) -> int:
    observation, _ = env.reset(seed=seed)
    for step in range(1, 10_000):
        observation, _, terminated, truncated, _ = env.step(rule(observation))
        if terminated or truncated:
            return step
    raise AssertionError("no end")


def test_a_linear_rule_holds_the_pole() -> None:
    env = gym.make("rlnotes/BulletCartPole-v0")
    for seed in range(5):
        assert length(env, lambda o: int(o[2] + 0.3 * o[3] > 0), seed) == 500


def test_pushing_one_way_drops_the_pole_at_once() -> None:
    env = gym.make("rlnotes/BulletCartPole-v0")
    assert max(length(env, lambda _: 1, seed) for seed in range(5)) < 10


def plate_rule(observation: np.ndarray) -> int:
    """Tilt against where the ball is and goes; to stop the tilt in time, one must know
    how the hinges turn."""
    x, y, _, vx, vy, _, pitch, roll, pitching, rolling = observation
    want_roll, want_pitch = -(0.8 * x + 0.6 * vx), 0.8 * y + 0.6 * vy
    pitch_up = want_pitch - pitch - 0.6 * pitching > 0
    roll_up = want_roll - roll - 0.6 * rolling > 0
    return 2 * pitch_up + roll_up


def test_a_rule_that_sees_the_hinges_turn_holds_the_ball() -> None:
    env = gym.make("rlnotes/BalancingPlate-v0")
    assert [length(env, plate_rule, seed) for seed in range(3)] == [1_000] * 3


def test_random_play_drops_the_ball() -> None:
    env = gym.make("rlnotes/BalancingPlate-v0")
    env.action_space.seed(0)
    sample = env.action_space.sample
    lengths = [length(env, lambda _: sample(), seed) for seed in range(10)]
    assert 150 < np.mean(lengths) < 350


def test_the_notes_observation_hides_the_hinges_velocities() -> None:
    env = gym.make("rlnotes/BalancingPlate-v0", joint_velocities=False)
    assert env.observation_space.shape == (8,)
    assert env.reset(seed=0)[0].shape == (8,)
