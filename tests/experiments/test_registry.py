"""The registry knows all 42 rows; every variant changes what it says and nothing
else."""

import pytest

from rlnotes.errors import UserError
from rlnotes.experiments import ledger, recipes, registry
from rlnotes.experiments.base import BUDGETS, Experiment

EXPERIMENTS = list(registry.EXPERIMENTS.values())


def test_the_ledger_has_42_different_rows() -> None:
    assert len({row.id for row in ledger.ROWS}) == len(ledger.ROWS) == 42


def test_every_experiment_is_a_ledger_row() -> None:
    assert set(registry.EXPERIMENTS) <= {row.id for row in ledger.ROWS}


def test_unknown_and_unbuilt_ids_say_what_is_there() -> None:
    with pytest.raises(UserError, match="unknown experiment 'nope'.*td3bc/pendulum"):
        registry.find("nope")
    with pytest.raises(UserError, match="not built yet"):
        registry.find("pong/ppo")
    with pytest.raises(
        UserError, match="unknown dataset 'nope'.*rlnotes/pendulum/expert-v0"
    ):
        recipes.find("nope")


@pytest.mark.parametrize(
    "experiment", EXPERIMENTS, ids=lambda experiment: experiment.id
)
def test_variants_override_only_existing_settings(experiment: Experiment) -> None:
    for variant, override in experiment.variants.items():
        for budget in BUDGETS:
            settings = experiment.settings_for(variant, budget)
            assert {name: settings[name] for name in override} == override


@pytest.mark.parametrize(
    "experiment", EXPERIMENTS, ids=lambda experiment: experiment.id
)
def test_unknown_variant_and_budget_list_the_valid_ones(experiment: Experiment) -> None:
    with pytest.raises(UserError, match=experiment.main_variant):
        experiment.settings_for("nope", "ci")
    with pytest.raises(UserError, match="smoke, ci, full"):
        experiment.settings_for(experiment.main_variant, "nope")


def test_a_misspelt_override_is_refused() -> None:
    pendulum = registry.find("td3bc/pendulum")
    wrong = Experiment(**{**vars(pendulum), "variants": {"wrong": {"alhpa": 1.0}}})
    with pytest.raises(ValueError, match="alhpa"):
        wrong.settings_for("wrong", "ci")


@pytest.mark.parametrize(
    "experiment", EXPERIMENTS, ids=lambda experiment: experiment.id
)
def test_bars_name_existing_variants(experiment: Experiment) -> None:
    assert experiment.bars
    for bar in experiment.bars:
        assert bar.variant in experiment.variants
        assert not isinstance(bar.against, str) or bar.against in experiment.variants
