"""All environments begin anew before every rollout (`bipedal/ppo-vector`,
`hardcore/ppo-vector`).

Symptom: the policy starts well and does not know how to go on.
Cause: whatever the environments were in the middle of is dropped, so that no step is
ever learnt from that lies further into an episode than a rollout is long, and the first
steps are seen far more often than the others. The notes do so with rollouts of 2,048
steps, longer than any episode of theirs: there only the second part is true.
Diagnostic: the share of environments that go on with an episode of the rollout before.
It is 0 here, and almost 1 where episodes are long.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from rlnotes.envs.vector import led_to


class CommonReset(VectorWrapper):
    """The fault, as a world: every `num_steps` steps, all copies are out of time."""

    def __init__(self, envs: VectorEnv, num_steps: int) -> None:
        super().__init__(envs)
        self._num_steps, self._played = num_steps, 0

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, terminated, truncated, infos = self.env.step(actions)
        self._played += 1
        if self._played % self._num_steps == 0:
            infos = {"final_obs": led_to(obs, infos)}
            infos["_final_obs"] = np.ones(self.num_envs, bool)
            obs, _ = self.env.reset()
            truncated = truncated | ~terminated
        return obs, reward, terminated, truncated, infos


def fires(continued_fractions: Sequence[float]) -> bool:
    """Whether, after the first rollout, every one began with new episodes only."""
    return not any(continued_fractions[1:])
