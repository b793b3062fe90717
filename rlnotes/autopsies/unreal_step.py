"""The step that nobody played: EnvPool as it comes, stored as it comes
(`parallel/envpool`).

Symptom: none where it is looked for. All environments differ, nothing raises, the loss
is small.
Cause: EnvPool resets in the step *after* an end. That step ignores its action, pays
nothing, and leads from where the episode ended to the start of the next one. A learner
that stores every step stores this one too, and since no end is reported for it, learns
that a fallen pole is worth almost as much as a fresh one. The notes gave EnvPool up
before they got here, because of a broken build; mending that would not have been
enough.
Diagnostic: the chains of `corrupted_successor`. No episode's end breaks them.
"""

from typing import Any

from gymnasium.vector import VectorEnv

from rlnotes.envs.vector import EnvPoolVectorEnv


class NextStepEnvPool(EnvPoolVectorEnv):
    """The fault: it says of itself that it resets in the same step, and does not."""

    def __init__(self, env_id: str, num_envs: int, **options: Any) -> None:
        super().__init__(env_id, num_envs, **options)
        self._pool_limit = self._limit  # EnvPool counts, and resets, for itself

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, terminated, truncated, _ = self._pool.step(actions)
        return obs, reward, terminated, truncated, {}


def as_it_comes(
    world: str, num_envs: int, backend: str = "envpool", **options: Any
) -> VectorEnv:
    """In the place of `make_vec_env`."""
    return NextStepEnvPool(world, num_envs, **options)
