"""A vector of ours, as Stable-Baselines3 wants one."""

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from stable_baselines3.common.vec_env import VecEnv

from rlnotes.envs.vector import require_same_step


class Sb3Vector(VecEnv):
    """Both reset in the step that ends an episode. SB3 has one dictionary for each
    copy, with the last observation and whether only the time was over."""

    def __init__(self, envs: VectorEnv) -> None:
        require_same_step(envs, "Stable-Baselines3")
        self.envs = envs
        super().__init__(
            envs.num_envs, envs.single_observation_space, envs.single_action_space
        )

    def reset(self) -> np.ndarray:
        seeds: Any = None if None in self._seeds else self._seeds
        self._reset_seeds()
        return self.envs.reset(seed=seeds)[0]

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]:
        obs, reward, terminated, truncated, more = self.envs.step(self._actions)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in done]
        for copy in np.flatnonzero(done):
            infos[copy] = {
                "terminal_observation": more["final_obs"][copy],
                "TimeLimit.truncated": bool(truncated[copy] and not terminated[copy]),
            }
        return obs, reward, done, infos

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        value = getattr(self.envs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("the copies have no attributes of their own")

    def env_method(self, method_name: str, *args: Any, **more: Any) -> list[Any]:
        raise NotImplementedError("the copies have no methods of their own")
