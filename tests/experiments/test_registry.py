"""The registry knows all 47 rows; every variant changes what it says, nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from rlnotes.errors import UserError
from rlnotes.experiments import ledger, recipes, registry
from rlnotes.experiments.base import Experiment, Variant
from rlnotes.experiments.settings import as_json, changed, differences

EXPERIMENTS = registry.EXPERIMENTS
BUDGETS = ["smoke", "ci", "full"]
BESIDE = {  # what rows of the ledger rest on
    "experts/pendulum",
    "experts/cartpole",
    "experts/acrobot",
    "gail/reward-map",
    "gail/race",
    "aggrevated/cartpole",
    "aggrevated/acrobot",
    "experts/bipedal",
    "experts/bipedal-critic",
    "aggrevated/soft-q",
    "gail/judges",
    "aggrevated/entropy",
    "parallel/orchard",
    "parallel/copies",
    "parallel/ppo-speed",
    "parallel/update-speed",
    "pixels/eyes",
    "pixels/ppo-speed",
    "doctor/cost",
    "doctor/sb3",
    "costs/memory",
}
each_experiment = pytest.mark.parametrize(
    "experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS)
)


def test_the_ledger_has_47_different_rows() -> None:
    assert len({row.id for row in ledger.ROWS}) == len(ledger.ROWS) == 47


def test_every_experiment_is_a_ledger_row_or_what_one_rests_on() -> None:
    rows = {row.id for row in ledger.ROWS}
    assert set(EXPERIMENTS) - rows == BESIDE
    assert [id for id, experiment in EXPERIMENTS.items() if id != experiment.id] == []


def test_a_row_of_the_ledger_that_is_built_has_a_bar() -> None:
    for row in ledger.ROWS:
        experiment = EXPERIMENTS.get(row.id)
        assert row.bar if experiment is None else experiment.bars


def test_unknown_and_unbuilt_ids_say_what_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = ledger.Row("some/day", "Later", "a heading only")
    monkeypatch.setattr(ledger, "ROWS", (*ledger.ROWS, later))
    with pytest.raises(UserError, match="unknown experiment 'nope'.*td3bc/pendulum"):
        registry.find("nope")
    with pytest.raises(UserError, match="not built yet. Built: td3bc/pendulum"):
        registry.find("some/day")
    with pytest.raises(UserError, match="unknown dataset 'nope'.*rlnotes/pendulum/exp"):
        recipes.find("nope")


@each_experiment
def test_every_budget_is_there_and_grows(experiment: Experiment[Any]) -> None:
    assert list(experiment.budgets) == BUDGETS
    smoke, ci, full = (experiment.budgets[name].steps for name in BUDGETS)
    assert 0 < smoke <= ci <= full


@each_experiment
def test_a_variant_changes_what_it_says_and_nothing_else(
    experiment: Experiment[Any],
) -> None:
    for name, variant in experiment.variants.items():
        for budget in BUDGETS:
            base = replace(experiment.settings, budget=experiment.budgets[budget])
            settings = experiment.settings_for(name, budget)
            found = differences(as_json(base), settings)
            for place in found:
                assert any(
                    place == said or place.startswith(f"{said}.")
                    for said in variant.override
                ), f"{name} changes {place} without saying so"
            assert changed(settings, variant.override) == settings


@each_experiment
def test_no_two_variants_are_the_same(experiment: Experiment[Any]) -> None:
    """Neither in their settings nor in their seeds."""
    made = {
        f"{as_json(experiment.settings_for(name, 'full'))} {variant.first_seed}"
        for name, variant in experiment.variants.items()
    }
    assert len(made) == len(experiment.variants)
    assert all(variant.label for variant in experiment.variants.values())


@each_experiment
def test_unknown_variant_and_budget_list_the_valid_ones(
    experiment: Experiment[Any],
) -> None:
    with pytest.raises(UserError, match=f"Valid: {experiment.main_variant}"):
        experiment.settings_for("nope", "ci")
    with pytest.raises(UserError, match="Valid: smoke, ci, full"):
        experiment.settings_for(experiment.main_variant, "nope")


@each_experiment
def test_bars_name_existing_variants(experiment: Experiment[Any]) -> None:
    for bar in experiment.bars:
        assert bar.variant in experiment.variants
        if isinstance(bar.against, str):
            id, _, variant = bar.against.rpartition("/")
            assert variant in registry.find(id or experiment.id).variants


def test_a_misspelt_override_is_refused_when_the_experiment_is_made() -> None:
    pendulum = registry.find("td3bc/pendulum")
    with pytest.raises(UserError, match="unknown setting 'agent.alhpa'. Valid: alpha"):
        replace(pendulum, variants={"wrong": Variant("wrong", {"agent.alhpa": 1.0})})


def test_a_misspelt_bar_is_refused_when_the_experiment_is_made() -> None:
    pendulum = registry.find("td3bc/pendulum")
    wrong = replace(pendulum.bars[0], variant="td3bc-exprt")
    with pytest.raises(ValueError, match="td3bc-exprt"):
        replace(pendulum, bars=(wrong,))


@each_experiment
def test_settings_can_be_recorded_and_compared(experiment: Experiment[Any]) -> None:
    for variant in experiment.variants:
        settings = experiment.settings_for(variant, "full")
        assert differences(as_json(settings), settings) == []
        longer = changed(settings, {"length": settings.length + 1.0})
        assert differences(as_json(settings), longer) == ["length"]
