"""The ratio of an action nobody played, read in the notes' PPO (`gail/racecar-ppo`).

Symptom: PPO runs, its loss moves, and the policy learns nothing from its rewards.
Cause: the new log-probability in the ratio is that of an action drawn anew, with the
noise inside the graph. For a Gaussian, log π(μ + σ ε) = −ε²/2 − log σ − const: the mean
has cancelled out of it, so that no reward, however large, moves the mean. Only σ is
moved, and by a ratio of two unrelated actions. (The notes add the tanh's change of
variables, through which the mean is moved after all, but still not by what was played.)
Diagnostic: before anything has changed, old and new policy are the same, so the ratio
is 1. Here it is not.
"""

from typing import Any

from torch import Tensor
from torch.distributions import Distribution

TOLERANCE = 1e-3  # far above rounding, far below what another action does


def fresh_log_prob(dist: Distribution, action: Tensor) -> Tensor:
    """The fault: `action` is what was played and rewarded, and it is not looked at."""
    return dist.log_prob(dist.rsample() if dist.has_rsample else dist.sample())


FAULT: dict[str, Any] = {"log_prob": fresh_log_prob}  # of ppo.Config


def fires(first_ratio_deviation: float) -> bool:
    """Whether the ratio was off before the first step of an update."""
    return first_ratio_deviation > TOLERANCE
