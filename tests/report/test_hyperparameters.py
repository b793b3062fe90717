"""The table of hyper-parameters has every run once, and its verdicts follow from it."""

from collections.abc import Callable

from rlnotes.experiments.aggrevated_table import AGGREVATED_TABLE
from rlnotes.report import hyperparameters
from rlnotes.report.hyperparameters import (
    ALL,
    MENDED_ROWS,
    ROWS,
    Row,
    counts,
    of_row,
    verdict,
)
from rlnotes.report.results import Results

Write = Callable[..., None]


def test_there_are_fourteen_rows_and_each_has_its_runs() -> None:
    assert len(ALL) == 14
    named = [variant for row in ALL for variant in row.variants]
    assert len(set(named)) == len(named)
    assert set(named) == AGGREVATED_TABLE.variants.keys() - {hyperparameters.TAKEN}
    shown = [variant for row in ROWS + MENDED_ROWS for variant in row.variants]
    assert sorted(shown) == sorted(named)


def test_ranks_decide_and_few_seeds_decide_nothing() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    assert verdict(high, low) == "better"
    assert verdict(low, high) == "worse"
    assert verdict([1.0, 6.0, 3.0, 8.0], low) == "no difference seen"
    assert verdict(high[:2], low[:2]) == "no difference seen"


def test_what_a_row_comes_to() -> None:
    assert of_row(["better", "worse"]) == "refuted"
    assert of_row(["worse", "no difference seen"]) == "matters"
    assert of_row(["no difference seen"]) == "alike"


def test_the_table_over_records(write: Write) -> None:
    for seed in range(4):
        write("toy/task", "good", seed, 96.0 + seed, 17.0)
        write("toy/task", "bad", seed, 3.0 + seed, 30.0)
    rows = (Row("length", "1 to 2", "1", ("bad",)),)
    table = hyperparameters.table(Results("toy/task"), 96.5, rows, "good")
    assert table.rows[0] == ("all of them", "", "", "3 of 4", "96", "99", "", "")
    assert table.rows[1] == (
        "length",
        "1 to 2; ours 1",
        "the bad one",
        "0 of 4",
        "3",
        "6",
        "worse",
        "used: it matters",
    )
    found = counts(Results("toy/task"), rows, "good")
    assert found == {"refuted": 0, "matters": 1, "alike": 0}
