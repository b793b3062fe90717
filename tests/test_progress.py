"""Progress bars are drawn where somebody can see them, and nowhere else."""

import sys

import pytest

from rlnotes.progress import bar


def drawn(capsys: pytest.CaptureFixture[str], **options: bool) -> bool:
    with bar(total=3, **options) as shown:
        shown.update(3)
    return "3/3" in capsys.readouterr().err


def test_a_log_stays_free_of_bars(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert not drawn(capsys)


def test_a_terminal_shows_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert drawn(capsys)
    assert not drawn(capsys, show=False)


def test_a_notebook_that_a_person_has_open_shows_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "chapter.ipynb")
    assert drawn(capsys)
    assert not drawn(capsys, show=False)
