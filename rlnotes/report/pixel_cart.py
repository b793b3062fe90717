"""CartPole from pictures: what a score means there, and how hard it is without any
pictures."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from rlnotes.autopsies import coarse_control, return_ceiling
from rlnotes.envs.pixel_cartpole import FRAMES, PixelCartPoleEnv, in_frames
from rlnotes.report import games, tables
from rlnotes.report.tables import Table

NOTES_SCORES = (125, 68, 28, 55, 72, 117, 61)  # 003:1514


def ceilings(skips: Sequence[int] = (1, 2, 4)) -> Table:
    """What a perfect episode pays behind the wrappers, played just now in a world in
    which nothing can go wrong."""
    rows = []
    for skip in skips:
        for divided in (False, True) if skip > 1 else (False,):
            wrap = partial(in_frames, frame_skip=skip, divide_reward=divided)
            pays = return_ceiling.ceiling(wrap, FRAMES)
            paid = "the mean of its frames" if divided else "the sum of its frames"
            fires = "yes" if return_ceiling.fires(pays, FRAMES) else "no"
            rows.append((str(skip), paid, tables.number(pays, 0), fires))
    headings = ("frames a decision", "a decision pays", "a perfect episode")
    return Table((*headings, f"other than {FRAMES}"), rows)


def frames_of_the_notes(skip: int = 4) -> float:
    """For how many frames the notes' seven episodes lasted, on average."""
    return skip * float(np.mean(NOTES_SCORES))


def shares_that_hold(skips: Sequence[int] = (1, 2, 3, 4), rules: int = 500) -> Table:
    """Of random linear rules that see the true state: how many balance."""
    found = {skip: coarse_control.share_that_hold(skip, rules) for skip in skips}
    rows = [
        (
            str(skip),
            tables.varies(100 * share, ".0f"),
            "yes" if coarse_control.fires(share) else "no",
        )
        for skip, share in found.items()
    ]
    return Table(("frames a push is held", "rules that balance, %", "too coarse"), rows)


def pictures(seed: int = 0, decisions: int = 6) -> list[Axes]:
    """The same moment with and without the line of the notes, and what four frames and
    two change between two pictures."""
    shown = []
    for title, options in {
        "as it is": {"frame_skip": 2},
        "with a line": {"frame_skip": 2, "line": True},
    }.items():
        stack = _after(decisions, seed, **options)
        shown.append((title, stack[-1]))
    for skip in (2, 4):
        stack = _after(decisions, seed, frame_skip=skip).astype(int)
        moved = 255 - np.abs(stack[-1] - stack[-2])
        shown.append((f"changed in {skip} frames", moved))
    return games.picture_row(shown)


def _after(decisions: int, seed: int, **options: int | bool) -> np.ndarray:
    env = PixelCartPoleEnv(**options)  # type: ignore[arg-type]
    obs, _ = env.reset(seed=seed)
    for number in range(decisions):
        obs, *_ = env.step(number % 2)
    return obs
