"""How walks end and how soon they are good, from hand-made records."""

import math
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.patches import Rectangle

from rlnotes.paths import Run
from rlnotes.report import walks
from rlnotes.report.results import Results
from rlnotes.runs import store

mpl.use("agg")

Write = Callable[..., None]


def write_ends(variant: str, seed: int, *shares: float) -> None:
    names = [metric for metric, _ in walks.ENDS.values()]
    rows = [(10, name, share) for name, share in zip(names, shares, strict=True)]
    rows += [(10, "final_return", 0.0)]
    store.write_seed(Run("toy/task", variant, seed), rows, {"settings": {}}, {}, {})
    store.join(Run("toy/task", variant, seed))


@pytest.mark.usefixtures("home")
def test_bars_are_shares_of_all_seeds() -> None:
    write_ends("good", 0, 100.0, 0.0, 0.0)
    write_ends("good", 1, 40.0, 20.0, 40.0)
    write_ends("bad", 0, 0.0, 100.0, 0.0)
    ax = walks.ends(Results("toy/task"), ["good", "bad"])
    bars = [bar for bar in ax.patches if isinstance(bar, Rectangle)]
    widths = np.array([bar.get_width() for bar in bars]).reshape(3, 2)
    assert widths.T.tolist() == [[70.0, 10.0, 20.0], [0.0, 100.0, 0.0]]
    starts = np.array([bar.get_x() for bar in bars]).reshape(3, 2)
    assert starts.T.tolist() == [[0.0, 70.0, 80.0], [0.0, 0.0, 100.0]]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["the good one", "the bad one"]
    assert (bars[0].get_y() > bars[1].get_y()) == (names[0] == "the good one")


def test_when_a_seed_is_first_as_good(write: Write) -> None:
    """Its curve is 1, 4, 3, 2, and one more for the second seed."""
    for seed in (0, 1):
        write("toy/task", "good", seed, 96.0, 17.0)
    records = store.read_all("toy/task", "good")
    assert [walks.steps_until(3.0)(one) for one in records] == [20_000, 20_000]
    assert [walks.steps_until(2.0)(one) for one in records] == [20_000, 10_000]
    assert math.isnan(walks.steps_until(5.0)(records[0]))
    assert walks.soon(2.0)(records) == "15,000 (2 of 2)"
    assert walks.soon(5.0)(records) == "20,000 (1 of 2)"
    assert walks.soon(9.0)(records) == "–"


@pytest.mark.usefixtures("home")
def test_who_begins_every_rollout_anew() -> None:
    """The first rollout begins so in any case."""
    for seed, shares in enumerate([(0.0, 0.0, 0.0), (0.0, 0.9, 0.8)]):
        curve = [(step, "continued_fraction", x) for step, x in enumerate(shares)]
        rows = [*curve, (3, "final_success_percent", 0.0)]
        run = Run("toy/task", "good", seed)
        store.write_seed(run, rows, {"settings": {}}, {}, {})
        store.join(run)
    assert walks.always_anew(store.read_all("toy/task", "good")) == "1 of 2"


def test_the_scatter_takes_the_mean_of_each_moment_away() -> None:
    """A critic that knows states, and nothing of actions."""
    earned = np.array([[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]])
    said = earned[:, ::-1]
    left, right = walks._scatter(said, earned).axes
    assert "(correlation 0.99)" in left.get_title()
    assert "(correlation −1.00)" in right.get_title()


@pytest.mark.parametrize("reports", [walks.EVEN_GROUND, walks.HARDCORE])
def test_what_others_report_is_a_row_each(reports: tuple[walks.Report, ...]) -> None:
    assert len(walks.reported(reports).rows) == len(reports)
