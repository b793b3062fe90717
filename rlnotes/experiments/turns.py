"""Contestants of a race take turns: machines are shared, and what else they do then
hits all alike. Only ratios within a turn mean anything elsewhere."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from rlnotes.experiments.base import Budget

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Turns(Budget):
    """`steps` are those of one turn; there are as many turns as `evaluations`, and one
    before them to warm up. No episodes are counted."""

    curve_episodes: int = 0
    final_episodes: int = 0


def take_turns(
    players: Mapping[str, Callable[[], T]], turns: int
) -> dict[str, list[T]]:
    """What each player did in each turn. One more comes before them and warms up."""
    done: dict[str, list[T]] = {name: [] for name in players}
    for turn in range(turns + 1):
        for name, play in players.items():
            result = play()
            if turn > 0:
                done[name].append(result)
    return done


def seconds_per_call(
    tasks: Mapping[str, Callable[[], Any]],
    turns: int,
    calls: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, np.ndarray]:
    """Of each task, one number for each turn. Who works alone and on one thread may be
    timed by `time.process_time`, which others on the machine do not change."""

    def timed(task: Callable[[], Any]) -> float:
        started = clock()
        for _ in range(calls):
            task()
        return (clock() - started) / calls

    players = {name: lambda task=task: timed(task) for name, task in tasks.items()}
    return {name: np.array(one) for name, one in take_turns(players, turns).items()}


def median_ratio(above: np.ndarray, below: np.ndarray) -> float:
    return float(np.median(above / below))
