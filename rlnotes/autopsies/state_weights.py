"""Weights that say which state is good, not which action (`bipedal/aggrevated-ppo`,
`bipedal/aggrevated-reinforce`).

Symptom: the learner is told what its actions are worth, and does not learn.
Cause: whatever depends on the state alone may be added to Q* and changes nothing in
expectation. In a batch it is noise. V* takes most of it away. Nothing subtracted, as
with the notes' Q* between 0 and 1, leaves all of it; and the V of another policy, as in
the notes' A = Q* − V of the mixture, takes away something else.
Diagnostic: the share of the weights' variance that lies between states. It is read from
the first update; later it grows for a learner that has become sure, too, because its
draws hardly differ any more.
"""

from typing import Any

# Of the first update: with A* it is at most about 0.6 in this book (0.9 with a critic
# that is off), with Q* alone or another V more than 0.9, mostly 0.97 and more.
MOST = 0.9

# Of aggrevated.Config, whose gradient must be "sampled":
FAULT: dict[str, Any] = {"baseline": "mixture"}


def fires(first_state_share: float) -> bool:
    """Whether the weights say hardly anything about actions."""
    return first_state_share > MOST
