"""Settings are changed by name; a wrong name or a wrong type is refused at once."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from rlnotes.algos import bc, gail, ppo, td3_bc
from rlnotes.errors import UserError
from rlnotes.experiments.settings import (
    as_json,
    changed,
    differences,
    fits,
    full_names,
    names,
)


def twice(value: float) -> float:
    return 2 * value


def thrice(value: float) -> float:
    return 3 * value


@dataclass(frozen=True)
class Inner:
    rate: float = 0.1
    layers: tuple[int, ...] = (8, 8)
    function: Callable[[float], float] = twice


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    other: Inner = field(default_factory=Inner)
    agent: td3_bc.Config | bc.Config = field(default_factory=td3_bc.Config)
    count: int = 3
    size: float = 1.0
    limit: float | None = None
    flag: bool = False
    mode: Literal["slow", "fast"] = "slow"
    pair: tuple[float, float] = (0.0, 1.0)
    name: str = "x"


# --- changing


def test_named_settings_are_changed_and_no_others() -> None:
    new = changed(
        Outer(), {"count": 4, "inner.layers": (3,), "inner.rate": 1, "mode": "fast"}
    )
    inner = Inner(rate=1, layers=(3,))
    assert new == Outer(inner=inner, count=4, mode="fast")
    assert Outer() == replace(new, inner=Inner(), count=3, mode="slow")


def test_a_whole_part_can_be_exchanged_and_then_changed() -> None:
    new = changed(Outer(), {"agent": bc.Config(), "agent.batch_size": 7})
    assert new.agent == bc.Config(batch_size=7)
    with pytest.raises(UserError, match="unknown setting 'agent.alpha'"):
        changed(Outer(), {"agent": bc.Config(), "agent.alpha": 1.0})


def test_changes_reach_a_learner_within_a_learner() -> None:
    @dataclass(frozen=True)
    class Holder:
        agent: gail.Config

    holder = Holder(gail.Config())
    assert changed(holder, {"agent.generator.gamma": 0.5}) == Holder(
        gail.Config(generator=ppo.Config(gamma=0.5))
    )


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("cuont", "inner.rate, .*count, size"),
        ("inner.raet", "rate, layers, function"),
        ("inner.rate.deeper", "none below this name"),
        ("", "count"),
    ],
)
def test_an_unknown_name_lists_the_valid_ones(name: str, valid: str) -> None:
    with pytest.raises(UserError, match=f"unknown setting '{name}'. Valid: .*{valid}"):
        changed(Outer(), {name: 1})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", True, "of type int"),
        ("count", 1.0, "of type int"),
        ("count", "1", "of type int"),
        ("count", None, "of type int"),
        ("size", "1.0", "of type float"),
        ("size", False, "of type float"),
        ("limit", "none", r"of type float \| None"),
        ("flag", 1, "of type bool"),
        ("mode", "quick", "one of 'slow', 'fast'"),
        ("pair", (1.0,), "of type tuple"),
        ("pair", (1.0, 2.0, 3.0), "of type tuple"),
        ("pair", [1.0, 2.0], "of type tuple"),
        ("pair", (1.0, "2"), "of type tuple"),
        ("name", 3, "of type str"),
        ("inner", {"rate": 0.2}, "of type Inner"),
        ("inner.layers", (8, 8.0), "of type tuple"),
        ("inner.layers", (True,), "of type tuple"),
        ("inner.function", "twice", "a function"),
        ("agent", gail.Config(), "td3_bc.Config | .*bc.Config"),
        ("agent", td3_bc.Config, "td3_bc.Config | .*bc.Config"),
    ],
)
def test_a_wrong_type_says_which_is_right(name: str, value: Any, expected: str) -> None:
    with pytest.raises(UserError, match=f"the setting {name} is .*{expected}.* is not"):
        changed(Outer(), {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 3),  # a whole number is a float
        ("limit", None),
        ("limit", 5.0),
        ("flag", True),
        ("mode", "fast"),
        ("pair", (1, 2.0)),
        ("inner.layers", ()),
        ("inner.function", thrice),
        ("agent", bc.Config()),
    ],
)
def test_a_right_type_is_taken(name: str, value: Any) -> None:
    new: Any = changed(Outer(), {name: value})
    for part in name.split("."):
        new = getattr(new, part)
    assert new == value


def test_anything_fits_any() -> None:
    assert fits(object(), Any)


# --- names


def test_names_are_dotted_from_the_outside_in() -> None:
    found = names(Outer())
    assert found[:4] == ["inner.rate", "inner.layers", "inner.function", "other.rate"]
    assert "agent.bc_weight" in found
    assert "agent" not in found
    assert names(3) == []


def test_short_names_stand_for_dotted_ones() -> None:
    given = {"alpha": 1.0, "inner__rate": 0.5, "count": 4}
    assert full_names(Outer(), given) == {
        "agent.alpha": 1.0,
        "inner.rate": 0.5,
        "count": 4,
    }


def test_an_ambiguous_short_name_must_be_written_out() -> None:
    with pytest.raises(UserError, match="'rate' could be inner.rate or other.rate.*__"):
        full_names(Outer(), {"rate": 1.0})


def test_a_whole_name_is_meant_even_if_it_ends_others() -> None:
    @dataclass(frozen=True)
    class Both:
        rate: float = 1.0
        inner: Inner = field(default_factory=Inner)

    assert full_names(Both(), {"rate": 2.0}) == {"rate": 2.0}


def test_an_unknown_short_name_lists_all() -> None:
    with pytest.raises(UserError, match="'ate'. Valid: inner.rate, .*other.rate"):
        full_names(Outer(), {"ate": 1.0})  # the end of a name is not a name


# --- what a record keeps


def test_a_record_keeps_what_json_can_say() -> None:
    kept = as_json(Outer())
    assert json.loads(json.dumps(kept)) == kept
    assert kept["inner"]["layers"] == [8, 8]
    assert kept["inner"]["function"].endswith("test_settings.twice")
    assert kept["agent"]["learner"] == "td3_bc"
    assert kept["agent"]["alpha"] == 2.5
    assert "learner" not in kept["inner"]
    assert as_json(gail.gail_reward) == "algos.gail.gail_reward"


def test_equal_settings_do_not_differ() -> None:
    assert differences(as_json(Outer()), Outer()) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"count": 4}, ["count"]),
        ({"inner.rate": 0.2, "limit": 1.0}, ["inner.rate", "limit"]),
        ({"other.function": thrice}, ["other.function"]),
        ({"inner.layers": (8,)}, ["inner.layers"]),
    ],
)
def test_differences_are_named(change: dict[str, Any], expected: list[str]) -> None:
    assert differences(as_json(Outer()), changed(Outer(), change)) == expected


def test_another_learner_is_a_difference() -> None:
    found = differences(as_json(Outer()), Outer(agent=bc.Config()))
    assert "agent.learner" in found
    assert "agent.alpha" in found  # recorded, and unknown today


def test_a_field_newer_than_the_record_counts_with_its_default() -> None:
    """The record was made when there was nothing else."""
    kept = as_json(Outer())
    for name in ("count", "limit", "other"):
        del kept[name]
    del kept["inner"]["rate"]
    del kept["agent"]["policy_delay"]
    assert differences(kept, Outer()) == []
    today = changed(
        Outer(), {"count": 4, "inner.rate": 0.2, "agent.policy_delay": 1, "limit": 2.0}
    )
    found = differences(kept, today)
    assert sorted(found) == ["agent.policy_delay", "count", "inner.rate", "limit"]


def test_a_field_that_is_no_more_is_a_difference() -> None:
    kept = as_json(Outer()) | {"momentum": 0.9}
    kept["inner"]["bias"] = True
    assert differences(kept, Outer()) == ["momentum", "inner.bias"]
