"""Addresses in a chapter's sentences are glued, other keys are left alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import myst_nb
import pytest
from myst_nb.core.variables import format_plain_text

from rlnotes.errors import UserError
from rlnotes.report.prose import glue_numbers

Write = Callable[..., None]


def chapter(folder: Path, *sentences: str) -> None:
    cells = [{"cell_type": "markdown", "source": [one]} for one in sentences]
    code = {"cell_type": "code", "source": ["'{glue:text}`toy/task/nothing`'"]}
    (folder / "page.ipynb").write_text(json.dumps({"cells": [*cells, code]}))


@pytest.fixture
def glued(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def glue(name: str, value: Any, display: bool) -> None:
        assert not display
        assert name not in found, "glued twice, which Sphinx warns of"
        found[name] = value

    monkeypatch.setattr(myst_nb, "glue", glue)
    return found


@pytest.fixture
def here(home: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    write("toy/task", "good", 0, 100 / 3, 17.0)
    write("toy/task", "good", 1, 98.0, 16.0)
    monkeypatch.chdir(home)
    return home


def test_only_addresses_of_the_sentences_are_glued(
    here: Path, glued: dict[str, Any]
) -> None:
    chapter(
        here,
        "It is {glue:text}`toy/task/good/worst:.0f`% or {glue:text}`other-key:.1f`,",
        "again {glue:text}`toy/task/good/worst:.1f`, {glue:text}`toy/tusk/good`, and",
        "of {glue:text}`toy/task/good/seeds` {glue:text}`ledger::toy/task/good`.",
    )
    glue_numbers("page")
    assert glued == {"toy/task/good/worst": 33.3333, "toy/task/good/seeds": 2}


def test_the_page_shows_them_in_the_role_s_format(
    here: Path, glued: dict[str, Any]
) -> None:
    """As MyST-NB does it: from the text of the value, whatever the key is."""
    chapter(here, "{glue:text}`toy/task/good/worst:.0f`")
    glue_numbers("page")
    (value,) = glued.values()
    assert format_plain_text(repr(value), ".1f") == "33.3"


def test_a_page_elsewhere_is_found_in_the_book(
    here: Path, glued: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "book").mkdir(exist_ok=True)
    chapter(here / "book", "{glue:text}`toy/task/good:.0f`")
    glue_numbers("page")
    assert list(glued) == ["toy/task/good"]
    with pytest.raises(UserError, match="pages.ipynb: there is no such chapter"):
        glue_numbers("pages")


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("toy/task/god", "variant of toy/task 'god'. Valid: good, bad"),
        ("toy/task/good/metre", "no metric 'metre'. Recorded: .*final_return"),
        ("toy/task/bad", "no such record"),
    ],
)
def test_a_wrong_address_is_a_clear_error(
    here: Path, glued: dict[str, Any], key: str, sentence: str
) -> None:
    chapter(here, f"{{glue:text}}`{key}:.0f`")
    with pytest.raises(UserError, match=sentence):
        glue_numbers("page")
