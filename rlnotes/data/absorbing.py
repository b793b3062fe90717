"""Demonstrations as `envs.absorbing` would have shown them."""

import numpy as np

from rlnotes.data.rollouts import Episode
from rlnotes.envs.absorbing import alive, ended


def padded(episode: Episode, horizon: int) -> Episode:
    """The episode with the flag behind its observations, and with steps in the absorbing state up to `horizon`.

    An episode that merely ran out of time does not end, so nothing is known of what would have come: it stays as
    long as it was.
    """
    rows = [alive(obs) for obs in episode.observations]
    actions, rewards = list(episode.actions), list(episode.rewards)
    if episode.terminated:
        rows[-1] = ended(episode.observations[-1].shape)
        missing = horizon - len(rewards)
        rows += [rows[-1]] * missing
        actions += [np.zeros_like(episode.actions[0])] * missing
        rewards += [0.0] * missing
    return Episode(episode.seed, np.stack(rows), np.stack(actions), np.array(rewards), False, True)
