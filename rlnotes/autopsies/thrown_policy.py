"""An update that throws the policy away (`bipedal/reinforce`,
`bipedal/aggrevated-reinforce`, `aggrevated/table`).

Symptom: the return falls to some number and stays there, to the last digit.
Cause: several passes over the same actions, with no ratio to hold the policy back. From
the second pass on they are those of an older policy; one that is worth less than the
mean is pushed away each time, the further it is the harder. Or deviations without a
least: how far a step goes counts in deviations, so with small ones a usual step is a
leap.
Diagnostic: the divergence by which an update has moved the policy, the mean of
log π_old / π over the actions that it was made of.
"""

from collections.abc import Sequence

import numpy as np

# In this book healthy learners move by less than 1, those that draw afresh for twenty
# passes by up to 10, and thrown ones by 50 and far more. (That an update went too far
# does not say that nothing comes back: who draws afresh for many passes may recover.)
FAR = 20.0


def largest(approx_kls: Sequence[float]) -> float:
    """Of all updates that were looked at."""
    return float(np.max(approx_kls))  # of NaN it makes NaN


def fires(largest_divergence: float) -> bool:
    """Whether what has been learnt was lost in one update."""
    return largest_divergence > FAR
