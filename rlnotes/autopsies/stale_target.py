"""Why DQN learnt nothing about the plate (`bullet/plate`).

Symptom: the loss is small, the ball falls no later than with random play, and nothing ever changes.
Cause: the target network is renewed only if the step counter is a multiple of 1,000 at the very step at
which an episode ends, so perhaps once in a thousand episodes. Between two renewals Q can learn one
Bellman backup and no more: with a reward of 1 per step, k renewals let it see k + 1 steps ahead.
Diagnostic: count the renewals. Fewer than the horizon 1 / (1 − γ), and the values cannot be right.
"""

from rlnotes.algos import dqn

FAULT = {"renewal": "at-episode-end"}


def renew_at_episode_end(step: int, episode_over: bool, config: dqn.Config) -> bool:
    """The fault: the schedule is only looked at when an episode happens to be over."""
    return episode_over and step % config.target_every == 0


def ceiling(renewals: float, discount: float) -> float:
    """The largest value that Q can have learnt after so many renewals, from rewards of 1 and Q' = 0 at first."""
    return (1 - discount ** (renewals + 1)) / (1 - discount)


def fires(renewals: float, discount: float) -> bool:
    """Whether the target has been renewed too seldom for Q to see as far as the discount does."""
    return renewals < 1 / (1 - discount)
