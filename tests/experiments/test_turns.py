"""Turns alternate, the first one is forgotten, and ratios are those of a turn."""

import numpy as np

from rlnotes.experiments.turns import median_ratio, seconds_per_call, take_turns


def test_turns_alternate_and_the_first_is_not_counted() -> None:
    seen: list[str] = []

    def play(name: str) -> int:
        seen.append(name)
        return len(seen)

    done = take_turns({"a": lambda: play("a"), "b": lambda: play("b")}, turns=2)
    assert seen == ["a", "b", "a", "b", "a", "b"]
    assert done == {"a": [3, 5], "b": [4, 6]}


def test_every_task_is_called_as_often_and_timed_by_the_call() -> None:
    """By a clock that only the tasks move."""
    now = 0.0

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds

    tasks = {"slow": lambda: wait(2.0), "quick": lambda: wait(0.5)}
    seconds = seconds_per_call(tasks, turns=3, calls=4, clock=lambda: now)
    assert {name: list(one) for name, one in seconds.items()} == {
        "slow": [2.0, 2.0, 2.0],
        "quick": [0.5, 0.5, 0.5],
    }


def test_a_ratio_is_the_median_of_those_of_the_turns() -> None:
    assert median_ratio(np.array([2.0, 30.0, 8.0]), np.array([1.0, 10.0, 2.0])) == 3.0
