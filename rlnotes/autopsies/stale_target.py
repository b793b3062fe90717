"""Why DQN learnt nothing about the plate (`bullet/plate`).

Symptom: the loss is small, the ball falls no later than with random play, and nothing
ever changes.
Cause: the target network is updated only if the step counter is a multiple of 1,000 at
the very step at which an episode ends, so perhaps once in a thousand episodes. Between
two updates Q can learn one Bellman backup and no more: with a reward of 1 per step, k
updates let it see k + 1 steps ahead.
Diagnostic: count the updates of the target. Fewer than the horizon 1 / (1 − γ), and the
values cannot be right.
"""

from typing import Any

from rlnotes.algos import dqn


def at_episode_end(step: int, done: bool, config: dqn.Config) -> bool:
    """The fault: the schedule is only looked at when an episode happens to be over."""
    return done and dqn.on_schedule(step, done, config)


FAULT: dict[str, Any] = {"target_due": at_episode_end}  # of dqn.Config


def ceiling(target_updates: float, gamma: float) -> float:
    """The largest value that Q can have learnt after so many updates of its target,
    from rewards of 1 and Q' = 0 at first. Equation eq-ceiling."""
    return (1 - gamma ** (target_updates + 1)) / (1 - gamma)


def fires(target_updates: float, gamma: float) -> bool:
    """Whether the target was updated too seldom for Q to see as far as γ does."""
    return target_updates < 1 / (1 - gamma)
