"""A policy that is evaluated otherwise than it was trained (`gail/racecar-ppo`).

Symptom: the same policy arrives less often in the evaluation than it does in training.
Cause: actions were squashed by a tanh in training. The notes' evaluation leaves it out
and plays the mean itself, which is larger everywhere and in places beyond the bounds.
Diagnostic: look whether any action lies beyond the bounds. After a tanh none can.
"""

import numpy as np
import torch

from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import BatchPolicy


def raw_mean_policy(policy: Policy) -> BatchPolicy:
    """The fault: the mean itself, without the tanh under which it was trained."""

    @torch.no_grad()
    def act(obs: np.ndarray) -> np.ndarray:
        mean, _ = policy.mean_and_log_std(policy.net(policy.encode_array(obs)))
        return policy.decode_action(mean).numpy()

    return act


def fires(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether an action lies beyond the bounds of the world."""
    return bool(((actions < low) | (actions > high)).any())
