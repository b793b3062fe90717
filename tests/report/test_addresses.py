"""Addresses name one recorded number, or say clearly why not."""

import math

import pytest

from rlnotes.errors import UserError
from rlnotes.paths import Run
from rlnotes.report import addresses
from rlnotes.report.addresses import Measure, measure
from rlnotes.runs.store import Record

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
        ("seeds", 4),
        ("low", 10.0),
        ("high", 80.0),
    ],
)
def test_over_seeds(over: str, value: float) -> None:
    found = [record(one) for one in (0.0, 20.0, 30.0, 100.0)]
    measured = Measure("return", over=over).of(found)
    if over in {"low", "high"}:
        assert min(0.0, value) <= measured <= max(100.0, value)
    else:
        assert measured == value


def test_seeds_without_a_value_are_left_out() -> None:
    found = [record(one) for one in (math.nan, 20.0)]
    assert Measure("return").of(found) == 20.0
    assert math.isnan(Measure("return").of(found[:1]))


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
