"""One physics server per world: quiet, freed when the world goes, never another's."""

import gc
import subprocess
import sys
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
