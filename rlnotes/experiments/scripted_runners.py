"""RLlib's env runners on Ray, playing actions that are drawn beforehand.

A runner asks a module for actions and passes them through its connectors, as in
training; here the module reads them from a list, so that no network is timed.
"""

import time
from itertools import cycle
from typing import Any

import numpy as np
import ray
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

from rlnotes.errors import UserError
from rlnotes.experiments.backends import Task, Work


class Script(TorchRLModule):
    """Plays the rows of its `actions` one after the other, whatever it sees."""

    model_config: dict[str, Any]

    def setup(self) -> None:
        self._actions = cycle(self.model_config["actions"])

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTIONS: next(self._actions)}


class ScriptedConfig(AlgorithmConfig):
    """Of no algorithm, so that no algorithm's networks are made."""

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        return RLModuleSpec(module_class=Script)


def config(task: Task, actions: np.ndarray) -> AlgorithmConfig:
    """One process's share of the copies and their actions, which the world receives
    as they are."""
    return (
        ScriptedConfig()
        .environment(task.env_id, normalize_actions=False, clip_actions=False)
        .env_runners(num_envs_per_env_runner=actions.shape[1])
        .rl_module(model_config={"actions": actions})
        .debugging(seed=task.seed)
    )


class ScriptedRunners:
    """Ray must run. Every runner has a process and a share of the copies."""

    def __init__(self, task: Task, num_env_runners: int) -> None:
        if task.num_envs % num_env_runners:
            raise UserError(
                f"{task.num_envs} environments cannot be shared by {num_env_runners}"
                " runners"
            )
        # The limit of cores is the machine's, not Ray's.
        remote: Any = ray.remote(num_cpus=0)(SingleAgentEnvRunner)
        shares = np.split(task.actions, num_env_runners, axis=1)
        self._share = task.steps // num_env_runners
        self._runners = [
            remote.remote(config=config(task, share), worker_index=index)
            for index, share in enumerate(shares, start=1)
        ]
        self._sample(0)  # wait until all have started

    def _sample(self, steps: int) -> list[Any]:
        """A runner stops at the first step in which it has enough."""
        asked = [one.sample.remote(num_timesteps=steps) for one in self._runners]
        return [episode for episodes in ray.get(asked) for episode in episodes]

    def play(self) -> Work:
        started = time.perf_counter()
        episodes = self._sample(self._share)
        seconds = time.perf_counter() - started
        ended = sum(bool(episode.is_done) for episode in episodes)
        return Work(sum(map(len, episodes)), ended, seconds)

    def close(self) -> None:
        ray.get([runner.stop.remote() for runner in self._runners])
        for runner in self._runners:
            ray.kill(runner)
