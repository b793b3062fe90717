"""A critic that is not allowed to learn from its errors (`pong/ppo`).

Symptom: the policy's loss moves, the value loss does not fall, and V never tells a lost
point from a won one.
Cause: PPO's value clip keeps V close to what it was. The notes clip its distance from
the *return* instead: V_old + clip(V − R, ±ε). Before the first step V is V_old, so that
an error of more than ε, clipped, becomes an error that does not depend on V; it is also
the larger one, so `max` takes it. What V gets wrong by more than 0.1 has no gradient,
and the rest is pushed twice as hard as it should be.
Diagnostic: the share of V's squared error that has a gradient, before the first step of
an update. It is 1; here it is what little error lies within the clip.
"""

from typing import Any

import torch
from torch import Tensor

from rlnotes.algos.ppo import Diagnostics

TOLERANCE = 0.5


def clipped_around_returns(
    value: Tensor, old_value: Tensor, target: Tensor, clip_coef: float
) -> tuple[Tensor, Diagnostics]:
    """The fault: `target` stands in the clip where `old_value` belongs."""
    near = old_value + (value - target).clamp(-clip_coef, clip_coef)
    loss = torch.maximum((value - target).square(), (near - target).square()).mean()
    return loss, {"value_loss": loss.detach()}


FAULT: dict[str, Any] = {"value_loss": clipped_around_returns}  # of ppo.Config


def fires(first_value_grad_share: float) -> bool:
    """Whether most of what V gets wrong is not learnt from."""
    return first_value_grad_share < TOLERANCE


def is_silent(value_grad_norm: float) -> bool:
    """Whether nothing at all of what V gets wrong reaches it: the extreme case, which
    can be seen from the gradients that an update leaves behind."""
    return value_grad_norm == 0
