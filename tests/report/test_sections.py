"""Where a reader is sent who asks about a row of the ledger."""

import json
from pathlib import Path

import pytest

from rlnotes.report import ledger, sections
from rlnotes.report.tables import Link, Table

CELLS = [
    ("markdown", "# Toys\n**The question.** Why?\nThe answer: " + "`toy/task`, " * 3),
    ("markdown", "(first)=\n## Copies\nAs in `toy/task`."),
    ("code", 'copy = Results("toy/copy")'),
    ("markdown", "(second)=\n## The task itself\nNot toy/task-two."),
    ("code", 'task = Results("toy/task")\ntask.table(["toy/task/good"])'),
    ("markdown", "(third)=\n### Another look\nSee more/toy/copy."),
    ("markdown", "## Claims\n" + 'Results("toy/copy") ' * 3),
]


@pytest.fixture
def chapter(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [{"cell_type": kind, "source": [text]} for kind, text in CELLS]
    (home / "book").mkdir()
    (home / "book" / "toys-of-a-test.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(ledger, "SLUGS", {"Toys": "toys-of-a-test"})


@pytest.mark.parametrize(
    ("id", "label"),
    [("toy/task", "second"), ("toy/copy", "first"), ("toy/later", None)],
)
def test_the_section_that_names_a_row_most(
    chapter: None, id: str, label: str | None
) -> None:
    assert sections.about("toys-of-a-test", id) == label


def test_headings_by_label_and_by_name(chapter: None) -> None:
    found = sections.headings("toys-of-a-test")
    assert found["second"] == found["the-task-itself"] == "The task itself"
    assert sections.headings("not-written") == {}


def test_the_question_of_a_chapter_in_both_languages(chapter: None, home: Path) -> None:
    chinese = "# 玩具\n\n**问题。** 为什么？\n"
    (home / "book" / "zh_toys-of-a-test.md").write_text(chinese)
    assert sections.question("toys-of-a-test") == "Why?"
    assert sections.question("zh_toys-of-a-test") == "为什么？"


def test_rows_of_the_ledger_lead_there(chapter: None) -> None:
    cells = [row[0] for row in ledger.table("Toys").rows]
    links = {str(cell): cell.href for cell in cells if isinstance(cell, Link)}
    assert links["toy/task"] == "toys-of-a-test.html#second"
    html = Table(("row",), [(cells[0],)])._repr_html_()
    assert '<a href="toys-of-a-test.html#second">toy/task</a>' in html
