"""Figures in words, for those who cannot see them, read off what is drawn.

A notebook keeps the words with the picture (`show_with_words`), as the metadata of its
output, and the site makes them the picture's alternative text.
"""

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.core.getipython import get_ipython
from IPython.core.pylabtools import print_figure
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FuncFormatter

MOST = 8  # curves or rows of one picture that are named one by one
ROW, COLUMN = "|", "_"  # the markers of middles, see `figures`


def figure(drawn: Figure) -> str:
    """A sentence for each of its axes."""
    shown = [ax for ax in drawn.axes if ax.get_label() != "<colorbar>"]
    parts = [sentence for ax in shown if (sentence := _axes(ax))]
    counted = f"{len(parts)} pictures. " if len(parts) > 1 else ""
    return counted + " ".join(parts)


def film(labels: list[str], steps: int) -> str:
    """Of policies side by side."""
    beside = " side by side" if len(labels) > 1 else ""
    return f"Film of {steps} steps{beside}: {', '.join(labels)}."


def _axes(ax: Axes) -> str:
    about = [plain(ax.get_title()), _scales(ax)]
    found = [*_categories(ax), *_curves(ax)] or _texts(ax)
    if len(found) > MOST:
        found = [*found[:MOST], f"and {len(found) - MOST} more"]
    words = ": ".join(part for part in (*about, "; ".join(found)) if part)
    return f"{words}." if words else ""


def _texts(ax: Axes) -> list[str]:
    found = (plain(text.get_text()) for text in ax.texts)
    return [text for text in found if text]


def _scales(ax: Axes) -> str:
    x, y = plain(ax.get_xlabel()), plain(ax.get_ylabel())
    seen = "as the camera sees it" if ax.images else ""
    return f"{y} against {x}" if x and y else x or y or seen


def _categories(ax: Axes) -> Iterator[str]:
    """Middles of intervals, each by the name of its row or column."""
    for marker, axis in ((ROW, ax.yaxis), (COLUMN, ax.xaxis)):
        names = axis.get_major_formatter()
        middles = [line for line in ax.lines if line.get_marker() == marker]
        if not middles or not isinstance(names, FixedFormatter | FuncFormatter):
            continue
        series = _series(middles)
        for line in reversed(middles) if marker == ROW else middles:
            x, y = (float(np.asarray(ends)[0]) for ends in line.get_data())
            place, value = (y, x) if marker == ROW else (x, y)
            name = plain(names(round(place), 0))
            which = series.get(str(line.get_color()), "") if marker == COLUMN else ""
            yield f"{name}{', ' + which if which else ''} {_number(value)}"


def _series(middles: list[Line2D]) -> dict[str, str]:
    """Colours of what has a name in the legend."""
    named = [line for line in middles if not _unnamed(line)]
    return {str(line.get_color()): plain(str(line.get_label())) for line in named}


def _curves(ax: Axes) -> Iterator[str]:
    """Of every curve with a name: where it ends."""
    for line in ax.lines:
        if _unnamed(line) or line.get_marker() in (ROW, COLUMN):
            continue
        ends = np.asarray(line.get_ydata(), dtype=float)
        label = plain(str(line.get_label()))
        if len(ends) == 2 and ends[0] == ends[1]:
            yield f"a line at {_number(ends[0])} for {label}"
        elif len(ends):
            yield f"{label} from {_number(ends[0])} to {_number(ends[-1])}"


def _unnamed(line: Line2D) -> bool:
    return str(line.get_label()).startswith("_")


def _number(value: float) -> str:
    if np.isnan(value):
        return "without a value"
    shown = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return shown.replace("-", "−")


def plain(text: str) -> str:
    """On one line, and without the marks of mathematics."""
    for mark in ("$", "\\", "{", "}"):
        text = text.replace(mark, "")
    return " ".join(text.split())


def show_with_words() -> None:
    """From now on a notebook shows figures with their words and their size."""
    shell: Any = get_ipython()
    if shell is None:
        return
    plt.switch_backend(plt.rcParams["backend"])  # which sets a formatter of its own
    shell.display_formatter.formatters["image/png"].for_type(Figure, _png)


def _png(drawn: Figure) -> tuple[Any, dict[str, Any]] | None:
    picture: Any = print_figure(drawn, "png")
    if picture is None:  # there is nothing in it
        return None
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    return picture, {"alt": figure(drawn), "width": width, "height": height}
