"""A training that ended before anything could be seen (`pong/ppo`).

Symptom: no trend.
Cause: the notes gave up after about 100,000 frames, which without a frame skip look
like much and are 25,000 decisions of a learner with one. By then a training that wins
in the end has no trend either.
Diagnostic: how long a training that is known to work took to rise, in decisions, beside
the length of one's own.
"""

from collections.abc import Sequence

RISE = 3.0  # of 42 points between losing and winning all; chance moves it by 1


def first_rise(curve: Sequence[tuple[int, float]], rise: float = RISE) -> float:
    """The step of the first evaluation that is better than the first one by so much,
    infinite if there is none."""
    _, at_first = curve[0]
    risen = [step for step, value in curve if value >= at_first + rise]
    return risen[0] if risen else float("inf")


def fires(steps: float, needed: float) -> bool:
    """Whether it ended before one that works had begun to rise."""
    return steps < needed
