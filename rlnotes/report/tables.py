"""Tables that read well on a page and in a terminal."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple, Self

import numpy as np

from rlnotes.data import datasets
from rlnotes.envs.checks import CHECKS

STYLE = (
    "<style>"
    "table.rlnotes {font-size: 0.85em; width: 100%; font-variant-numeric: tabular-nums}"
    "table.rlnotes th, table.rlnotes td"
    " {text-align: left; vertical-align: top; padding: 0.3em 0.6em}"
    "</style>"
)


class Link(str):
    """A cell that leads somewhere; elsewhere than on a page it is its text."""

    href: str

    def __new__(cls, text: str, href: str) -> Self:
        made = super().__new__(cls, text)
        made.href = href
        return made


def _html(cell: str) -> str:
    shown = escape(cell)
    return f'<a href="{cell.href}">{shown}</a>' if isinstance(cell, Link) else shown


class Table:
    """Shown as HTML by Jupyter and as text elsewhere. Cells are text already."""

    def __init__(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.headings, self.rows = headings, rows

    def _repr_html_(self) -> str:
        head, *body = (
            "".join(f"<{tag}>{_html(cell)}</{tag}>" for cell in row)
            for tag, row in [("th", self.headings), *(("td", row) for row in self.rows)]
        )
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        return (
            f'{STYLE}<table class="table rlnotes"><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )

    def __repr__(self) -> str:
        return "\n".join(" | ".join(row) for row in [self.headings, *self.rows])


def text(value: Any, form: str | None = None) -> str:
    """A value as a cell shows it: numbers with a true minus sign and no negative zero,
    with one decimal unless `form` says otherwise, and a dash where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if math.isnan(value):
        return "–"
    shown = format(value, form or ("," if isinstance(value, int) else ",.1f"))
    if not any(digit in shown for digit in "123456789"):
        return shown.removeprefix("-")
    return shown.replace("-", "−")


def number(value: float, digits: int = 1) -> str:
    return text(float(value), f",.{digits}f")


def varies(value: Any, form: str | None = None) -> str:
    """A value measured in this very notebook run. It differs between CPUs, so it stands
    between ⟨ ⟩, which the sanitiser of the notebook tests masks."""
    return f"⟨{text(value, form)}⟩"


def checks_table(env_ids: Sequence[str], seed: int) -> Table:
    """What new worlds must pass, tried now: a check that fails raises."""
    for env_id in env_ids:
        for check in CHECKS.values():
            check(env_id, seed)
    held = ["holds"] * len(CHECKS)
    return Table(("world", *CHECKS), [(env_id, *held) for env_id in env_ids])


def datasets_table(*ids: str) -> Table:
    """What local datasets hold, and how their episodes end."""
    headings = ("dataset", "episodes", "transitions", "mean return")
    return Table(
        (*headings, "ended by the task", "ended by the time limit"),
        [_dataset_row(dataset) for dataset in ids],
    )


def _dataset_row(dataset: str) -> tuple[str, ...]:
    episodes = datasets.load(dataset)
    return (
        dataset,
        text(len(episodes)),
        text(sum(len(episode.rewards) for episode in episodes)),
        varies(float(np.mean([episode.total_reward for episode in episodes]))),
        text(sum(episode.terminated for episode in episodes)),
        text(sum(episode.truncated for episode in episodes)),
    )


# --- words


class Metric(NamedTuple):
    """What a metric is called on an axis and in a sentence."""

    name: str
    unit: str = ""

    @property
    def axis(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name


RETURN = Metric("return")
METRICS = {
    "return": RETURN,
    "success_percent": Metric("success", "%"),
    "normalised": Metric("normalised score"),
    "seconds_to_finish": Metric("seconds to the finish"),
    "steps_to_goal": Metric("steps to the goal"),
    "stays_percent": Metric("then at the goal", "%"),
    "agreement_percent": Metric("agreement with what was shown", "%"),
    "metres": Metric("metres driven"),
    "times_usual_distance": Metric("distance from the data (times the usual)"),
    "disc_accuracy": Metric("accuracy of the discriminator"),
    "q_data": Metric("mean Q on the data"),
    "q_promised": Metric("discounted return"),
    "q_true": Metric("discounted return"),
    "checks_held": Metric("checks held"),
    "longest": Metric("longest episode"),
    "long_percent": Metric("episodes over 10,000 steps", "%"),
    "envpool_times_plain": Metric("speed of 64 in EnvPool against a plain loop", "×"),
    "verified_percent": Metric("transitions that happen in a plain loop, too", "%"),
    "cost_ranks_returns": Metric("rank correlation of cost and return"),
    "log_std": Metric("log σ"),
    "approx_kl": Metric("divergence of an update"),
}


def words_for(metric: str) -> Metric:
    """The words for `metric`, measured along the way, at the end or at the end with
    the policy of the best evaluation."""
    name = metric.removeprefix("final_")
    if name.startswith("best_"):
        last = words_for(name.removeprefix("best_"))
        return Metric(f"{last.name} at its best", last.unit)
    return METRICS.get(name, Metric(name.replace("_", " ")))
