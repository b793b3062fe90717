"""One object over an experiment's records: numbers, tables, figures, films, claims."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import myst_nb
import numpy as np
import pytest
from matplotlib.axes import Axes
from myst_nb.core.variables import format_plain_text

from rlnotes.algos.policy import Policy
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.pendulum import PENDULUM
from rlnotes.paths import Run
from rlnotes.report import addresses, clips, figures
from rlnotes.report.addresses import Measure, measure
from rlnotes.report.claims import ClaimFailed, check
from rlnotes.report.live import live_claim, live_curves, live_table
from rlnotes.report.prose import glue_numbers
from rlnotes.report.results import Fires, Results
from rlnotes.runs import evaluate
from rlnotes.runs.run import Live
from rlnotes.runs.store import Record

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
    assert math.isnan(results.number("bad/final_seconds_to_finish"))
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
    assert table.rows[0][2:] == ("–", "–", "96.0", "98.0", "2")
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
    some = "30.0 (1 of 2)"  # the other one never arrived
    assert table.rows[1] == ("the bad one", "5", "4.5", some, "0 of 2", "2")


def test_a_diagnostic_may_be_asked_early(results: Results) -> None:
    low = [Fires(lambda x: x < 1.5, "return", along=one) for one in ("first", "final")]
    assert [one(results.records("good")) for one in low] == ["1 of 2", "0 of 2"]


def test_where_no_seed_has_a_value_there_is_a_dash(
    results: Results, write: Write
) -> None:
    write("toy/task", "bad", 0, 0.0, math.nan, replace=True)
    table = results.table(["bad"], "final_seconds_to_finish")
    assert table.rows[0] == ("the bad one", *"–––––", "2")


FIRES = ("final_seconds_to_finish", "settings.length")


def test_what_budgets_spend(results: Results) -> None:
    table = results.budgets()
    assert "dataset episodes" not in table.headings
    assert table.rows[1] == ("full", "50,000", "4", "5", "10")


def test_curves(results: Results) -> None:
    ax = results.curves(
        "return", ["good", "bad"], reference={"the expert": "toy/expert/expert/return"}
    )
    good, bad, expert = (ax.get_lines()[place] for place in (0, 3, 6))
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


def test_steps_are_written_short() -> None:
    written = [figures.short(steps) for steps in (0, 500, 2_500, 400_000, 1_500_000)]
    assert written == ["0", "500", "2.5k", "400k", "1.5M"]


def test_a_curve_has_a_band_or_its_seeds(results: Results, write: Write) -> None:
    """Two seeds are too few for an interval, five are enough."""
    few = results.curves("return", ["good"])
    _, first, second = few.get_lines()
    assert np.asarray(first.get_ydata()).tolist() == [1.0, 4.0, 3.0, 2.0]
    assert np.asarray(second.get_ydata()).tolist() == [2.0, 5.0, 4.0, 3.0]
    assert not few.collections
    for seed in (2, 3, 4):
        write("toy/task", "good", seed, 97.0, 17.0)
    enough = results.curves("return", ["good"])
    assert len(enough.get_lines()) == 1
    (band,) = enough.collections
    ends = band.get_paths()[0].get_extents()
    assert (ends.ymin, ends.ymax) == (1.0, 8.0)


def test_seeds_with_strides_of_their_own_are_compared_in_turn() -> None:
    seeds = [[(10.0 + seed, 1.0), (22.0 + seed, 3.0)] for seed in range(3)]
    ax = figures.axes()
    figures.curve(ax, seeds, "uneven", figures.BLUE)
    x, y = (np.asarray(data).tolist() for data in ax.get_lines()[0].get_data())
    assert (x, y) == ([11.0, 23.0], [1.0, 3.0])


def test_curves_over_minutes(results: Results) -> None:
    """The two seeds end with returns of 2 and 3; taken for steps per second, that is
    150 a minute."""
    ax = results.curves("return", ["good"], minutes="return")
    assert ax.get_xlabel() == "minutes of one core"
    places = np.asarray(ax.get_lines()[0].get_xdata(), float)
    assert places == pytest.approx(np.array([1, 2, 3, 4]) * 10_000 / 150)


def drawn(ax: Axes, marker: str) -> list[list[float]]:
    """Where the marks of each row are."""
    found = [line for line in ax.get_lines() if line.get_marker() == marker]
    places = [np.asarray(line.get_xdata(), float) for line in found]
    return [place[~np.isnan(place)].tolist() for place in places]


def test_a_row_with_a_seed_that_never_arrived_has_dots_only(results: Results) -> None:
    ax = results.intervals(
        "final_seconds_to_finish", ["good", "bad"], colours={"good": figures.BLUE}
    )
    assert drawn(ax, "o") == [[30.0], [17.0, 16.0]]
    assert drawn(ax, "|") == [[], [16.5]]
    dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
    assert [line.get_color() for line in dots] == [figures.GREY, figures.BLUE]
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels == ["the bad one", "the good one"]


def test_a_row_has_an_interval_from_five_seeds_on(
    results: Results, write: Write
) -> None:
    assert drawn(results.intervals(None, ["good"]), "None") == [[]]
    for seed, success in enumerate((97.0, 99.0, 95.0)):
        write("toy/task", "good", seed + 2, success, 17.0)
    assert drawn(results.intervals(None, ["good"]), "None") == [[95.0, 99.0]]


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


def test_stages_are_filmed_in_their_order(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with how many steps it had learnt from."""
    good = replace(results.experiment.variants["good"], stages=(1, 3))
    variants = {**results.experiment.variants, "good": good}
    staged = replace(results.experiment, variants=variants)
    monkeypatch.setitem(registry.EXPERIMENTS, staged.id, staged)
    policy = results.policy("good")
    asked: list[str] = []

    def kept(run: Run, which: str) -> Policy:
        asked.append(which)
        return policy

    shown: list[str] = []

    def film(players: dict[str, Any], *more: Any) -> str:
        shown.extend(players)
        return "a film"

    monkeypatch.setattr(evaluate, "recorded_policy", kept)
    monkeypatch.setattr(clips, "side_by_side", film)
    assert Results(staged.id).film_stages("good", 3) == "a film"
    assert asked == ["stage-1", "stage-3", "last"]
    assert shown == [f"after {n}0,000 steps" for n in (1, 3, 4)]


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
    metrics = [bar.metric for bar in results.experiment.all_bars]
    missed = [claim.missed for claim in results.claims(missed=metrics[0])]
    assert missed == [metric == metrics[0] for metric in metrics]
    assert {True, False} == set(missed)


# --- What was trained just now is shown as something that varies; its settings ar

mpl.use("agg")

ROWS = (
    (500, "return", 10.0),
    (1_000, "return", 30.0),
    (1_000, "final_success_percent", 40.0),
    (1_000, "steps_to_goal", 12.0),
)
INFO = {"settings": {"agent": {"alpha": 2.5}}}
RECORD = Record(Run("toy/task", "good", 0, "ci"), INFO, ROWS)
LIVE = Live(RECORD, Policy((4,), (), (), (8,), "argmax", num_actions=2))


def test_a_line_for_each() -> None:
    ax = live_curves({"one": LIVE, "two": LIVE})
    one, two = ax.get_lines()
    assert np.asarray(one.get_ydata()).tolist() == [10.0, 30.0]
    assert one.get_color() != two.get_color()
    assert "just now" in ax.get_title()
    assert ax.get_xlabel() == "steps in the world"


def test_learners_without_a_world_count_updates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "EXPERIMENTS", {"toy/task": PENDULUM})
    assert live_curves({"one": LIVE}).get_xlabel() == "updates"
    assert live_curves({"one": LIVE}, xlabel="years").get_xlabel() == "years"


def test_only_measurements_are_marked() -> None:
    table = live_table(
        {"α = 2.5": LIVE},
        {
            "updates": "steps",
            "α": "settings.agent.alpha",
            "arrived, %": "",
            "return at best": "return/peak:.0f",
            "to the goal": "steps_to_goal",
        },
    )
    assert table.rows == [("α = 2.5", "1,000", "2.5", "⟨40.0⟩", "⟨30⟩", "⟨12.0⟩")]


def test_a_claim_about_what_the_ledger_reports() -> None:
    assert "⟨40.0⟩" in repr(check(live_claim("it arrives", LIVE, ">=", 30.0)))
    with pytest.raises(ClaimFailed, match="it learns"):
        check(live_claim("it learns", LIVE, ">=", 50.0, "return"))


# --- Addresses name one recorded number, or say clearly why not

RETURNS = (9.0, 40.0, 10.0, 20.0, 30.0)


def record(*returns: float, seed: int = 0) -> Record:
    curve = [((i + 1) * 100, "return", value) for i, value in enumerate(returns)]
    rows = (*curve, (100 * len(returns), "final_return", returns[-1] + 1))
    info = {"settings": {"agent": {"gamma": 0.99}, "budget": {"steps": 500}}}
    return Record(Run("toy/task", "good", seed), info, rows)


def test_words_are_metric_then_along_then_over() -> None:
    assert measure("", "final_return") == Measure("final_return", "final", "iqm")
    assert measure("worst", "final_return") == Measure("final_return", "final", "worst")
    assert measure("metres", "final_return") == Measure("metres", "final", "iqm")
    assert measure("metres/late/max", "x") == Measure("metres", "late", "max")
    assert measure("late", "final_return") == Measure("return", "late", "iqm")


def test_too_many_words_are_an_error_that_lists_the_statistics() -> None:
    with pytest.raises(UserError, match="'return/iqn' is not .*late.*median"):
        measure("return/iqn", "final_return")


@pytest.mark.parametrize(
    ("along", "value"),
    [("final", 30.0), ("first", 9.0), ("peak", 40.0), ("late", 20.0)],
)
def test_along_a_curve(along: str, value: float) -> None:
    """The last quarter of five evaluations is two."""
    assert addresses.value(record(*RETURNS), "return", along) == value


@pytest.mark.parametrize(
    ("over", "value"),
    [
        ("iqm", 25.0),
        ("worst", 0.0),
        ("best", 100.0),
        ("median", 25.0),
        ("seeds", 5),
        ("low", 0.0),
        ("high", 100.0),
    ],
)
def test_over_seeds(over: str, value: float) -> None:
    found = [record(one) for one in (0.0, 20.0, 25.0, 30.0, 100.0)]
    assert Measure("return", over=over).of(found) == value


@pytest.mark.parametrize("over", addresses.OVER)
def test_where_a_seed_has_no_value_there_is_no_statistic(over: str) -> None:
    seeds = [record(one) for one in (3.0, 20.0, 7.0, 1.0, 5.0, math.nan)]
    for found in (seeds, seeds[::-1]):
        assert math.isnan(Measure("return", over=over).of(found))
    assert Measure("return", over=over).known(seeds) == seeds[:-1]


@pytest.mark.parametrize("along", ["peak", "late"])
@pytest.mark.parametrize("hole", [(math.nan, 1.0), (1.0, math.nan)])
def test_a_curve_with_a_hole_has_no_extremes(
    along: str, hole: tuple[float, float]
) -> None:
    curve = record(9.0, 9.0, 9.0, *hole)
    assert math.isnan(addresses.value(curve, "return", along))


def test_settings_and_the_length_of_training() -> None:
    assert measure("settings.agent.gamma", "x").of([record(1.0)]) == 0.99
    assert measure("steps", "x").of([record(1.0, 2.0)]) == 200
    with pytest.raises(UserError, match="toy/task good seed 0: no setting agent.alpha"):
        measure("settings.agent.alpha", "x").of([record(1.0)])


def test_an_unknown_metric_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="'metres'. Recorded: final_return, return"):
        addresses.value(record(1.0), "metres")


def test_an_address_is_split_at_the_id_and_the_variant() -> None:
    assert addresses.split("good/worst", "toy/task") == ("toy/task", "good", "worst")
    there = addresses.split("toy/copy/copy/return/late", "toy/task")
    assert there == ("toy/copy", "copy", "return/late")
    with pytest.raises(UserError, match="variant of toy/copy 'god'. Valid: copy"):
        addresses.split("toy/copy/god", "toy/task")
    assert addresses.experiment_of("toy/task/good") == "toy/task"
    assert addresses.experiment_of("toy/tasks/good") is None


def test_the_format_is_cut_off() -> None:
    assert addresses.formatted("good/worst:.0%") == ("good/worst", ".0%")
    assert addresses.formatted("good/worst") == ("good/worst", None)


# --- Addresses in a chapter's sentences are glued, other keys are left alone


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
        ("toy/task/good/low", "good/low has no value over all seeds"),
    ],
)
def test_a_wrong_address_is_a_clear_error(
    here: Path, glued: dict[str, Any], key: str, sentence: str
) -> None:
    chapter(here, f"{{glue:text}}`{key}:.0f`")
    with pytest.raises(UserError, match=sentence):
        glue_numbers("page")
