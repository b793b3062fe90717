"""A figure in words says what is drawn in it, and a notebook keeps the words."""

import json
import os
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from nbclient import NotebookClient

from rlnotes.report import describe, figures


def test_curves_are_told_from_where_to_where() -> None:
    ax = figures.axes()
    figures.curve(ax, [[(0, 1.0), (10, 5.0)], [(0, 1.0), (10, 5.0)]], "ours", "red")
    ax.axhline(4.0, label="the bar")
    ax.set(title="Who wins?", xlabel="steps", ylabel="return")
    assert describe.figure(ax.figure) == (
        "Who wins?: return against steps: ours from 1 to 5; a line at 4 for the bar."
    )


def test_rows_are_told_from_top_to_bottom_and_shared_axes_too() -> None:
    left, right = figures.axes(2, sharey=True)
    for ax, scale in ((left, 1.0), (right, -1_000.0)):
        rows = [
            ("first", [scale, scale], "red"),
            ("second", [3 * scale, 3 * scale], "blue"),
        ]
        figures.interval_rows(ax, rows)
        ax.set_xlabel(f"x{scale:.0f}")
    assert describe.figure(left.figure) == (
        "2 pictures. x1: first 1; second 3. x-1000: first −1,000; second −3,000."
    )


def test_groups_are_told_with_their_series() -> None:
    ax = figures.axes()
    groups = {"A": {"ours": [1.0], "theirs": [2.0]}, "B": {"ours": [3.0]}}
    figures.grouped_intervals(ax, groups, {"ours": "red", "theirs": "blue"})
    words = describe.figure(ax.figure)
    assert words == "A, ours 1; A, theirs 2; B, ours 3."


def test_many_curves_are_not_read_out_one_by_one() -> None:
    ax = figures.axes()
    for number in range(20):
        ax.plot([0, 1], [0, number], label=f"curve {number}")
    words = describe.figure(ax.figure)
    assert "curve 7 " in words
    assert "curve 8 " not in words
    assert words.endswith("and 12 more.")


def test_pictures_colour_bars_and_formulas() -> None:
    figure, ax = plt.subplots()
    drawn = ax.imshow([[0, 1]])
    figure.colorbar(drawn, label="paid")
    ax.set_title(r"after $\gamma$" "\n" "steps")
    assert describe.figure(figure) == "after gamma steps: as the camera sees it."


def test_a_figure_without_words_says_nothing() -> None:
    figure, _ = plt.subplots()
    assert describe.figure(figure) == ""


def test_films_name_their_players() -> None:
    assert describe.film(["chance", "DQN"], 80) == (
        "Film of 80 steps side by side: chance, DQN."
    )


@pytest.mark.slow(seconds=5)
def test_a_notebook_keeps_words_and_size_with_the_picture(tmp_path: Path) -> None:
    cells = [
        "from rlnotes.report import figures",
        "ax = figures.axes(width=4, height=2)\nax.plot([1, 2], label='it')\n"
        "ax.set_title('Up')\nNone",
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
    )
    # Whatever other tests have told matplotlib is not the kernel's affair.
    inline = os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    client = NotebookClient(notebook, kernel_name="python3")
    client.execute(cwd=str(tmp_path), env=inline)
    (output,) = notebook.cells[1].outputs
    about = json.loads(json.dumps(output.metadata))["image/png"]
    assert about["alt"] == "Up: it from 1 to 2."
    assert 300 < about["width"] < 500
    assert 150 < about["height"] < 250
