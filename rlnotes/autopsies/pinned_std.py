"""A policy that cannot stop shaking (`bipedal/reinforce`).

Symptom: no return ever rises, whatever else is mended; played greedily, the policy is
as poor as when it shakes.
Cause: the notes pass `hidden_dim` = 128 where the lower bound of log σ belongs. A clamp
between 128 and 2 puts out 2 for whatever goes in, so every deviation is e² = 7.39.
Behind a tanh that is a coin for each joint: nearly all actions are −1 or 1, and what
the mean says hardly matters. Nor can it be unlearnt: a clamp hands no gradient on where
it cuts, so that neither the returns nor the entropy bonus reach log σ.
Diagnostic: the share of log σ that lies beyond its bounds, the gradient that comes to
it, and how large it is. It fires where the bounds cut all of it, the gradient is 0 and
σ is 1 or more, as wide as the actions are; this is known at the first update. (At a
lower bound there is nothing to mend: a policy comes down to it when it has learnt.)
"""

from typing import Any

LOG_STD = 2.0

# Of ppo.Config. Where both bounds are 2, the clamp does what it does between 128 and 2.
FAULT: dict[str, Any] = {"log_std_bounds": (LOG_STD, LOG_STD)}


def fires(
    bounded_std_fraction: float, log_std_grad_norm: float, log_std: float
) -> bool:
    """Whether the bounds alone say how large all deviations are, and they say wide."""
    return bounded_std_fraction == 1 and log_std_grad_norm == 0 and log_std >= 0
