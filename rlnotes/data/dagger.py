"""DAgger: let the learner drive, and ask the expert what it would have done.

The method is from Ross et al. (2011). The other way to the states that a learner will
meet is DART, where the expert drives with noise on what is executed: any world with an
`action_noise` does that, `RaceCar` for one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym

from rlnotes.data.rollouts import BatchPolicy, Episode, rollout


def corrected(
    make_env: Callable[[], gym.Env[Any, Any]],
    learner: BatchPolicy,
    expert: BatchPolicy,
    seeds: Sequence[int],
) -> list[Episode]:
    """The states where `learner` went, with the actions that `expert` takes there.

    To be imitated only: the successor of each state follows the learner's action, not
    the recorded one, so no critic may learn from it. And only an expert that needs
    nothing but the present observation can be asked.
    """
    driven = rollout(make_env, learner, seeds)
    return [replace(drive, actions=expert(drive.observations[:-1])) for drive in driven]
