"""`import rlnotes` knows the worlds, and imports none of the libraries behind them."""

import json
import subprocess
import sys

HEAVY = ("pybullet", "mujoco", "torch", "minari")


def test_importing_the_package_registers_the_worlds_and_is_light() -> None:
    code = (
        "import json, sys, rlnotes, gymnasium\n"
        "print(json.dumps([list(gymnasium.registry), list(sys.modules)]))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    worlds, modules = json.loads(found.stdout)
    names = ("RaceCar", "BulletCartPole", "BalancingPlate", "Puck", "UMaze")
    ours = {world for world in worlds if world.startswith("rlnotes/")}
    assert ours == {f"rlnotes/{name}-v0" for name in names}
    assert not set(HEAVY) & set(modules)
