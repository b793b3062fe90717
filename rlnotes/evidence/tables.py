"""Tables that read well on a page and in a terminal."""

from collections.abc import Sequence
from html import escape

STYLE = (
    "<style>"
    "table.rlnotes {font-size: 0.85em; width: 100%; font-variant-numeric: tabular-nums}"
    "table.rlnotes th, table.rlnotes td {text-align: left; vertical-align: top; padding: 0.3em 0.6em}"
    "</style>"
)


class Table:
    """Shown as HTML by Jupyter and as text elsewhere. Cells are text already."""

    def __init__(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.headings, self.rows = headings, rows

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.headings)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        return f'{STYLE}<table class="table rlnotes"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def __repr__(self) -> str:
        return "\n".join(" | ".join(row) for row in [self.headings, *self.rows])


def number(value: float, digits: int = 1) -> str:
    """A figure with a true minus sign, and no negative zero."""
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def live(value: float, digits: int = 1) -> str:
    """A figure measured in this very notebook run. It differs between CPUs, so it is printed between
    ⟨ ⟩, which the sanitiser of the notebook tests masks."""
    return f"⟨{number(value, digits)}⟩"
