"""A bonus that can always be had (`aggrevated/entropy`, the notes' PPO).

Symptom: with a slightly larger coefficient of entropy nothing is learnt any more.
Cause: the bonus is the entropy of the Gaussian before its actions are squashed or
clipped, and that grows with σ without end. Beyond the bounds a larger σ changes nothing
of what is played, and is still paid for.
Diagnostic: how much the entropy per action has grown since the first update, where it
is paid for. Who learns shakes less as time goes by.
"""

import math
from collections.abc import Sequence

# A deviation twice the first one. It begins near the width of the range, so that by
# then every third action lies beyond the bounds.
LARGEST_GROWTH = math.log(2)


def growth(entropies: Sequence[float], action_dim: int) -> float:
    """From the first update to the last, for each action."""
    return (entropies[-1] - entropies[0]) / action_dim


def fires(entropy_growth: float, ent_coef: float) -> bool:
    """Whether the bonus drives σ up."""
    return ent_coef > 0 and entropy_growth > LARGEST_GROWTH
