"""The best of many policies, chosen by a mark that all of them reach (`breakout/dqn`).

Symptom: the model that was kept as the best plays no better than others that lasted as
long.
Cause: the notes reset all games every 300 steps and keep the model whose episodes were
the longest, of equals the latest. No episode is longer than 300, so from the first that
lasts as long the latest is kept, whatever it scores.
Diagnostic: the highest mark that chose, beside the highest that can be had. Where they
are the same, nothing was chosen.
"""

from collections.abc import Sequence

import numpy as np

from rlnotes.data.rollouts import Episode

CAP = 300  # decisions


def capped_length(episodes: Sequence[Episode], cap: int = CAP) -> float:
    """The mark: how long they are on average, as far as is looked."""
    return float(np.mean([min(len(episode.rewards), cap) for episode in episodes]))


def chosen(marks: Sequence[float]) -> int:
    """Which one is kept as the best: of equals the latest."""
    return len(marks) - 1 - int(np.argmax(marks[::-1]))


def fires(best_mark: float, highest: float = CAP) -> bool:
    """Whether the mark could not have become better."""
    return best_mark >= highest
