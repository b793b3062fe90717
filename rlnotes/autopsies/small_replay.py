"""A memory of a few episodes (`breakout/dqn`).

Symptom: it learns, and forgets; scores swing from one evaluation to the next.
Cause: the notes keep the last 10,000 steps, eleven minutes of play, and not 100,000 or
a million. Each step is drawn as often as from a large memory, but beside its
neighbours: a batch has many steps of the same life in it, and none of an hour ago.
Diagnostic: how many pairs of a batch come from the same episode. A batch of steps that
have nothing to do with each other has hardly any. Their number grows with the length of
episodes, so what was enough for a beginner may be too little for a good player.
"""

TOLERANCE = 1.5  # pairs


def same_episode_pairs(episodes: int, batch_size: int) -> float:
    """To be expected in a batch, from a memory of so many episodes of one length."""
    pairs = batch_size * (batch_size - 1) / 2
    return pairs / max(1, episodes)


def fires(same_episode_pairs: float) -> bool:
    """Whether batches are drawn from too few episodes."""
    return same_episode_pairs > TOLERANCE
