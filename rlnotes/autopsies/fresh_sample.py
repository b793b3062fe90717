"""The ratio of an action nobody played, read in the notes' PPO (`gail/racecar-ppo`).

Symptom: PPO runs, its loss moves, and the policy learns nothing from what it is paid.
Cause: the new log-probability in the ratio is that of an action drawn anew, with the noise inside the graph. For a
Gaussian, log π(μ + σ ε) = −ε²/2 − log σ − const: the mean has cancelled out of it, so that no reward, however large,
moves the mean. Only σ is moved, and by a ratio of two unrelated actions. (The notes add the tanh's change of variables,
through which the mean is moved after all, but still not by what was played.)
Diagnostic: before anything has changed, old and new policy are the same, so the ratio is 1. Here it is not.
"""

from torch import Tensor
from torch.distributions import Distribution

FAULT = {"ratio": "fresh"}

TOLERANCE = 1e-3  # far above rounding, far below what another action does


def log_prob_of_fresh(chances: Distribution, action: Tensor) -> Tensor:
    """The fault: `action` is what was played and paid for, and it is not looked at."""
    return chances.log_prob(chances.rsample() if chances.has_rsample else chances.sample())


def fires(first_ratio_off: float) -> bool:
    """Whether the ratio was off before the first step of an update."""
    return first_ratio_off > TOLERANCE
