"""How much is it worth to be told? A tree that forks at every step, with one leaf that
pays (after Sun et al., 2017, section 5).

Whoever learns from rewards alone hears nothing until that leaf is found, and each of
the others tells nothing about the rest: it tries one after the other. Whoever may ask
what the two branches of each fork on its way are worth, keeps to the better one from
the next episode on, and guesses only beyond the forks that it has asked at.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from rlnotes.report import figures

DEPTHS = tuple(range(1, 13))
TRIALS = 200


def episodes_alone(depth: int, rng: np.random.Generator) -> int:
    """Until the leaf is found by trying all of them, in any order and none twice."""
    return int(rng.integers(2**depth)) + 1


def episodes_told(depth: int, rng: np.random.Generator) -> int:
    """Until the leaf is reached: what lies behind the forks that are known is a guess,
    and each fork that is come to is asked about."""
    known, episodes = 0, 0
    while True:
        episodes += 1
        right = rng.integers(2, size=depth - known) == 1
        if right.all():
            return episodes
        # The first wrong turn is known from now on, and so are all turns before it.
        known += int(np.argmin(right)) + 1


def mean_episodes(
    depths: Sequence[int] = DEPTHS, trials: int = TRIALS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    found = [
        [np.mean([of(depth, rng) for _ in range(trials)]) for depth in depths]
        for of in (episodes_alone, episodes_told)
    ]
    return np.array(found[0]), np.array(found[1])


def picture(trials: int = TRIALS, seed: int = 0) -> Figure:
    ax = figures.axes(width=6.5, height=3.2)
    alone, told = mean_episodes(DEPTHS, trials, seed)
    ax.plot(DEPTHS, alone, "o-", color=figures.ORANGE, label="from rewards alone")
    ax.plot(DEPTHS, told, "o-", color=figures.BLUE, label="told Q* on the way")
    exact = [(2**depth + 1) / 2 for depth in DEPTHS]
    ax.plot(DEPTHS, exact, **figures.DOTTED)
    ax.plot(DEPTHS, [1 + depth / 2 for depth in DEPTHS], **figures.DOTTED)
    ax.set(xlabel="forks on the way to the leaf", ylabel="episodes", yscale="log")
    figures.legend(ax)
    return ax.figure
