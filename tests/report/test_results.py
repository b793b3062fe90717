"""One object over an experiment's records: numbers, tables, figures, films, claims."""

import math
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
import pytest

from rlnotes.errors import UserError
from rlnotes.report import figures
from rlnotes.report.results import Fires, Results

mpl.use("agg")

Write = Callable[..., None]


@pytest.fixture
def results(write: Write) -> Results:
    """Seeds 0 and 1 of each variant; the second bad one never arrives."""
    for seed, (success, seconds) in enumerate([(96.0, 17.0), (98.0, 16.0)]):
        write("toy/task", "good", seed, success, seconds, {"length": 1.0})
    for seed, (success, seconds) in enumerate([(10.0, 30.0), (0.0, math.nan)]):
        write("toy/task", "bad", seed, success, seconds, {"length": 2.0})
    write("toy/expert", "expert", 0, 99.0, 15.0)
    return Results("toy/task")


def test_numbers(results: Results) -> None:
    assert results.values("good") == [96.0, 98.0]
    assert results.values("good", "return", "peak") == [4.0, 5.0]
    assert results.values("good", "return", "late") == [2.0, 3.0]
    assert results.values("toy/expert/expert", "final_success_percent") == [99.0]
    assert results.summary("good").iqm == 97.0
    assert results.number("good") == 97.0
    assert results.number("good/worst") == 96.0
    assert results.number("good/return/peak/max") == 5.0
    assert results.number("bad/final_seconds_to_finish") == 30.0
    assert results.number("good/seeds") == 2
    assert results.number("bad/settings.length") == 2.0


def test_an_unknown_variant_is_an_error(results: Results) -> None:
    with pytest.raises(UserError, match="variant of toy/task 'god'. Valid: good, bad"):
        results.number("god/worst")


def test_the_table_has_what_a_summary_has(results: Results) -> None:
    table = results.table(["good", "toy/expert/expert"], "final_success_percent")
    assert table.headings[:2] == ("", "IQM")
    assert table.headings[-2:] == ("best seed", "seeds")
    assert table.rows[0][:2] == ("the good one", "97.0")
    assert table.rows[0][4:] == ("96.0", "98.0", "2")
    assert table.rows[1][0] == "the expert"


def test_columns_are_addresses_or_functions(results: Results) -> None:
    slow = Fires(lambda seconds, length: seconds > 16.5 and length < 2, *FIRES)
    table = results.table(
        ["good", "bad"],
        columns={
            "arrive, %": "iqm:.0f",
            "best on the way": "return/peak",
            "seconds": "final_seconds_to_finish",
            "slow": slow,
        },
        labels={"good": "GOOD"},
    )
    assert table.rows[0] == ("GOOD", "97", "4.5", "16.5", "1 of 2", "2")
    assert table.rows[1] == ("the bad one", "5", "4.5", "30.0", "0 of 2", "2")


FIRES = ("final_seconds_to_finish", "settings.length")


def test_what_budgets_spend(results: Results) -> None:
    table = results.budgets()
    assert "dataset episodes" not in table.headings
    assert table.rows[1] == ("full", "50,000", "4", "5", "10")


def test_curves(results: Results) -> None:
    ax = results.curves(
        "return", ["good", "bad"], reference={"the expert": "toy/expert/expert/return"}
    )
    good, bad, expert = ax.get_lines()
    x, y = (np.asarray(data).tolist() for data in good.get_data())
    assert (x, y) == ([10_000, 20_000, 30_000, 40_000], [1.5, 4.5, 3.5, 2.5])
    assert (good.get_color(), bad.get_color()) == (figures.BLUE, figures.ORANGE)
    assert np.asarray(expert.get_ydata()).tolist() == [2.0, 2.0]
    assert ax.get_legend_handles_labels()[1] == [
        "the good one",
        "the bad one",
        "the expert",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps in the world", "return")
    ax.figure.canvas.draw()
    assert "20k" in [tick.get_text() for tick in ax.get_xticklabels()]


def test_intervals_leave_out_seeds_that_never_arrived(results: Results) -> None:
    ax = results.intervals(
        "final_seconds_to_finish", ["good", "bad"], colours={"good": figures.BLUE}
    )
    dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
    assert [list(np.asarray(line.get_xdata())) for line in dots] == [
        [30.0],
        [17.0, 16.0],
    ]
    assert [line.get_color() for line in dots] == [figures.GREY, figures.BLUE]
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels == ["the bad one", "the good one"]


def test_intervals_say_what_is_dotted(results: Results) -> None:
    ax = results.intervals(None, ["good"], reference={"the bar": 95.0})
    assert ax.get_xlabel() == "success, % (dotted: the bar)"
    assert ax.get_xlim() == (-3, 103)


def test_groups_go_across_experiments(results: Results) -> None:
    expert = "toy/expert/expert"
    groups = {"now": {"A": "good", "B": expert}, "then": {"A": "bad", "B": expert}}
    ax = results.grouped(groups, "final_success_percent", reference={"bar": 95})
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["now", "then"]
    assert ax.get_legend_handles_labels()[1] == ["A", "B", "bar"]


def test_policies_play_and_are_filmed(results: Results) -> None:
    (first, second) = results.play("good", 2)
    assert first.seed != second.seed
    assert np.array_equal(results.play("good", 1, seed=0)[0].actions, first.actions)
    film = results.film(["good"], 3, steps=4, extra={"left": left})
    assert "video/mp4" in film._repr_html_()
    with pytest.raises(UserError, match="no such checkpoint"):
        results.policy("bad")


def left(obs: np.ndarray) -> np.ndarray:
    return np.zeros(len(obs), int)


def test_claims_come_from_bars_and_addresses(results: Results) -> None:
    slow = Fires(lambda seconds: seconds > 16.5, "final_seconds_to_finish")
    claims = results.claims(
        results.claim("not as good as the expert", "good", "<=", "toy/expert/expert"),
        results.fires_on_none("quick", "good", slow),
        results.fires_on_every("not all are slow", "good", slow),
    )
    assert [claim.holds for claim in claims] == [True] * 5 + [False] * 2
    assert [claim.value for claim in claims] == [97.0, 96.0, 16.5, 10.0, 97.0, 1, 1]
    seconds = "bad/final_seconds_to_finish"
    assert not results.claim("all arrive in time", seconds, "<=", 99.0).holds
    assert {claim.seeds for claim in claims} == {2}
    assert all(claim.missed for claim in results.claims(missed=True))
