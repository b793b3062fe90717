"""How many different worlds a vector of EnvPool's shows, run by `parallel/copies` in an
environment of its own, with the versions that it is asked for.

Copies are given different actions. Prints one JSON object with how many different
observations there are after so many steps, and how many different numbers the copies
say they have.
"""

import json
import sys

import envpool
import numpy as np


def main(num_envs: int, seed: int, steps: int) -> None:
    envs = envpool.make_gymnasium("CartPole-v1", num_envs=num_envs, seed=seed)
    obs, info = envs.reset()
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        action = rng.permutation(np.arange(num_envs) % 2).astype(np.int32)
        obs, *_, info = envs.step(action)
    found = {
        "different_observations": len(np.unique(obs, axis=0)),
        "different_numbers": len(np.unique(info["env_id"])),
    }
    print(json.dumps(found))


main(*map(int, sys.argv[1:]))
