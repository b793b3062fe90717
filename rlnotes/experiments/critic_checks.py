"""Is a critic to be believed? Before anybody learns from it, it is compared with what
really comes of actions.

At moments of many episodes several actions are tried, each from the same place, and the
player goes on after them (`data.branches`). What it then earns, discounted, is what Q
should have said. A learner needs less than that, and something else: that Q tells the
actions *of one state* apart. What it says of the state cancels out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from gymnasium import spaces
from scipy.stats import rankdata
from torch import Tensor

from rlnotes.data.branches import branches, middle_moments
from rlnotes.data.rollouts import BatchPolicy, Episode
from rlnotes.experiments.base import Metrics, World

Q = Callable[[Tensor, Tensor], Tensor]  # of observations and the world's own actions


@dataclass(frozen=True)
class Check:
    """What is tried at each moment. Returns further away than `horizon` are left out:
    they count γ^horizon."""

    actions: int = 8  # the player's own, close ones, and random ones
    horizon: int = 400
    before: int = 400  # no moment is as late as this: to get there takes steps, too


@dataclass(frozen=True)
class Trials:
    """What was tried: each field's shape is (moments, actions, ...)."""

    obs: np.ndarray
    action: np.ndarray
    episodes: list[list[Episode]]

    def returns(self, of: Callable[[Episode], float]) -> np.ndarray:
        return np.array([[of(one) for one in row] for row in self.episodes])

    @torch.no_grad()
    def said_by(self, q: Q) -> np.ndarray:
        obs, action = (torch.as_tensor(x).float() for x in (self.obs, self.action))
        found = q(obs.flatten(0, 1), action.flatten(0, 1))
        return found.view(obs.shape[:2]).numpy()


def tried(
    world: World,
    player: BatchPolicy,
    episodes: Sequence[Episode],
    count: int,
    check: Check,
    seed: int,
    goes_on: BatchPolicy | None = None,
) -> Trials:
    """Actions at `count` moments of the episodes, the first of each the one that
    `player` would take; `goes_on` where somebody else plays after them."""
    rng = np.random.default_rng(seed)
    moments = middle_moments(episodes, count, check.before, rng)
    obs = np.stack([moment.obs for moment in moments])
    _, space = world.spaces()
    assert isinstance(space, spaces.Box)
    action = choices(player(obs), space, check.actions, rng)
    found = branches(
        world.make, goes_on or player, moments, list(action), check.horizon
    )
    return Trials(np.repeat(obs[:, None], check.actions, axis=1), action, found)


def choices(
    own: np.ndarray, space: spaces.Box, count: int, rng: np.random.Generator
) -> np.ndarray:
    """The player's own action, some within a quarter of the range around it, and as
    many from all of the range."""
    size = (len(own), count - 1, *space.shape)
    width = (space.high - space.low) / 4
    close = own[:, None] + rng.uniform(-width, width, size)
    anywhere = rng.uniform(space.low, space.high, size)
    rest = np.where(np.arange(count - 1)[:, None] % 2 == 0, close, anywhere)
    whole = np.concatenate([own[:, None], rest.clip(space.low, space.high)], axis=1)
    return whole.astype(space.dtype)


def compared(q: np.ndarray, returns: np.ndarray) -> Metrics:
    """What a critic says beside what came, both (moments, actions).

    Spreads are deviations from the mean at the same moment: how much depends on the
    action. `advantage_correlation` is between these, `action_rank_correlation` the mean
    over moments of Spearman's, and `best_action_gain` what is won by taking the action
    that the critic likes best, of those tried, instead of the player's own.
    """
    ahead, truly = (x - x.mean(1, keepdims=True) for x in (q, returns))
    ranks = (rankdata(x, axis=1) for x in (q, returns))
    best = np.take_along_axis(returns, q.argmax(1)[:, None], axis=1)[:, 0]
    return {
        "q_mean": float(q.mean()),
        "return_mean": float(returns.mean()),
        "q_bias": float((q - returns).mean()),
        "q_error": float(np.sqrt(np.square(q - returns).mean())),
        "q_spread": float(ahead.std()),
        "return_spread": float(truly.std()),
        "q_correlation": correlation(q, returns),
        "advantage_correlation": correlation(ahead, truly),
        "action_rank_correlation": float(
            np.mean([correlation(*pair) for pair in zip(*ranks, strict=True)])
        ),
        "best_action_gain": float((best - returns[:, 0]).mean()),
    }


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson's; 0 where one of them says nothing."""
    if one.std() == 0 or other.std() == 0:
        return 0.0
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])


def prefixed(prefix: str, metrics: Metrics) -> Metrics:
    return {f"{prefix}_{name}": value for name, value in metrics.items()}
