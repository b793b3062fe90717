"""Curves cut at the same place, from records made by hand."""

from collections.abc import Callable

import pytest

from rlnotes.paths import Run
from rlnotes.report import equal
from rlnotes.report.results import Results
from rlnotes.runs import store


@pytest.fixture
def record(home: object) -> Callable[..., None]:
    """Of steps, returns, and steps a second."""

    def record(
        id: str, variant: str, curve: dict[int, float], speed: float, seed: int = 0
    ) -> None:
        run, last = Run(id, variant, seed), max(curve)
        rows = [(step, "return", value) for step, value in curve.items()]
        final = {"steps_per_cpu_second": speed, "final_return": 0.0}
        rows += [(last, name, value) for name, value in final.items()]
        info = {"settings": {}, "wall_seconds": 1.0, "cpu": "abacus"}
        info |= {"date": "2025-01-01", "revision": "0123456789"}
        store.write_seed(run, rows, info, {}, {})
        store.join(run)

    return record


def test_between_evaluations_lies_a_line_and_beyond_the_last_nothing(
    record: Callable[..., None],
) -> None:
    record("toy/task", "good", {100: 1.0, 200: 3.0}, 10)
    results = Results("toy/task")
    assert equal.at_steps(results, "good", 150) == pytest.approx(2.0)
    assert equal.at_steps(results, "good", 50) == 1.0
    assert equal.at_steps(results, "good", 201) != equal.at_steps(results, "good", 201)


def test_a_slow_one_is_behind_after_as_many_minutes(
    record: Callable[..., None],
) -> None:
    record("toy/task", "good", {100: 0.0, 200: 10.0}, 20)
    record("toy/task", "bad", {100: 5.0, 200: 15.0}, 10)
    table = equal.eyes(Results("toy/task"), ["good", "bad"])
    assert table.headings[2:4] == ("after 200 steps", "after 0 minutes")
    assert table.rows == [
        ("the good one", "20", "10.0", "10.0", "1"),
        ("the bad one", "10", "15.0", "5.0", "1"),
    ]


def test_all_are_cut_where_the_first_of_them_ends(
    record: Callable[..., None],
) -> None:
    record("toy/task", "good", {100: 0.0, 400: 10.0}, 80)
    record("toy/task", "bad", {100: 5.0, 200: 15.0}, 10)
    assert equal.shared(Results("toy/task"), ["good", "bad"]) == (200, 5.0)


def test_ours_is_read_where_the_library_ended(record: Callable[..., None]) -> None:
    record("toy/task", "good", {100: 0.0, 200: 10.0}, 20)
    record("toy/copy", "copy", {100: 1.0, 150: 2.0}, 20)
    table = equal.beside(Results("toy/task"), {"toy/copy/copy": "good"})
    assert table.rows == [("toy/copy", "the copy", "150", "2.0", "the good one", "5.0")]
