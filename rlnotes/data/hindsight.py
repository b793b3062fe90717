"""Hindsight: what would have earned a reward, had the goal been where the ball went.

The idea is from Andrychowicz et al. (2017). A goal says what is wanted, not how the
world moves. So any transition is also a valid one for any other goal, with the reward
that goal would have paid.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions


def relabelled(
    episodes: Sequence[Episode],
    share: float,
    goal: slice,
    place: slice,
    reward: Callable[[Tensor, Tensor], Tensor],
    seed: int,
) -> Transitions:
    """All transitions, a random `share` of them with another goal.

    The new goal is a place later in the same episode. `goal` and `place` are the
    columns of the observation that hold them; `reward` pays for (places, goals).
    """
    store = Transitions.from_episodes(episodes)
    data = store.all()
    lengths = np.array([len(episode.rewards) for episode in episodes])
    # Of each transition, the last one of its episode.
    last = np.repeat(np.cumsum(lengths) - 1, lengths)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.uniform(size=len(last)) < share)
    later = rng.integers(rows, last[rows] + 1)
    goals = data.next_obs[torch.from_numpy(later)][:, place]
    chosen = torch.from_numpy(rows)
    for observations in (data.obs, data.next_obs):
        observations[chosen, goal] = goals
    data.reward[chosen] = reward(data.next_obs[chosen][:, place], goals)
    return store
