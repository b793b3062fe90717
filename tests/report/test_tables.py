"""Cells: what numbers look like, and what datasets hold."""

import inspect
import math
from typing import Any

import numpy as np
import pytest

from rlnotes.data import datasets
from rlnotes.data.rollouts import Episode
from rlnotes.report import statistics, tables
from rlnotes.report.source import show


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-1234.56, "−1,234.6"), (-0.01, "0.0"), (0.0, "0.0"), (7, "7.0")],
)
def test_numbers_have_a_true_minus_and_no_negative_zero(
    value: float, shown: str
) -> None:
    assert tables.number(value) == shown


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (0.987, ".0%", "99%"),
        (12_345, None, "12,345"),
        (-1e-9, ".2f", "0.00"),
        (math.nan, ".0f", "–"),
        ("zero", None, "zero"),
        (True, None, "True"),
    ],
)
def test_cells_take_formats_and_have_a_dash_for_nothing(
    value: Any, form: str | None, shown: str
) -> None:
    assert tables.text(value, form) == shown


def test_the_table_of_datasets_counts_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def episode(steps: int, terminated: bool) -> Episode:
        rows = np.zeros((steps + 1, 2))
        rewards = np.ones(steps)
        return Episode(0, rows, rows[:-1], rewards, terminated, not terminated)

    held = [episode(600, False), episode(800, False), episode(10, True)]
    monkeypatch.setattr(datasets, "load", lambda name: held)
    (row,) = tables.datasets_table("some/data-v0").rows
    assert tuple(row) == ("some/data-v0", "3", "1,410", "⟨470.0⟩", "1", "2")


def test_the_table_of_checks_says_what_holds_and_raises_where_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def careful(env_id: str, seed: int) -> None:
        assert env_id != "careless", f"{env_id} {seed}"

    monkeypatch.setattr(tables, "CHECKS", {"one": careful, "two": careful})
    table = tables.checks_table(["first", "second"], seed=3)
    assert table.headings == ("world", "one", "two")
    assert table.rows == [("first", "holds", "holds"), ("second", "holds", "holds")]
    with pytest.raises(AssertionError, match="careless 3"):
        tables.checks_table(["first", "careless"], seed=3)


# --- The source that a chapter shows is that of the package


def test_the_source_stands_under_its_full_name() -> None:
    shown = show(statistics.iqm, statistics.interval).data
    assert shown.startswith("`rlnotes.report.statistics.iqm`\n\n```python\ndef iqm(")
    assert inspect.getsource(statistics.interval) in shown


def test_a_link_is_a_link_on_a_page_and_its_text_elsewhere() -> None:
    table = tables.Table(("where",), [(tables.Link("a < b", "page.html#here"),)])
    assert '<td><a href="page.html#here">a &lt; b</a></td>' in table._repr_html_()
    assert repr(table) == "where\na < b"
