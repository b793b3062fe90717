"""The committed records belong to this code: complete, whole, and made with the settings it has now."""

import json

import pytest

from rlnotes.evidence import evaluation, ledger, records
from rlnotes.evidence.records import Run
from rlnotes.experiments import registry
from rlnotes.experiments.base import Experiment

VARIANTS = [(experiment, variant) for experiment in registry.EXPERIMENTS.values() for variant in experiment.variants]


@pytest.mark.parametrize(("experiment", "variant"), VARIANTS, ids=lambda value: getattr(value, "id", value))
def test_every_variant_is_recorded_with_the_settings_of_today(experiment: Experiment, variant: str) -> None:
    found = records.read_all(experiment.id, variant)
    assert len(found) >= experiment.seeds_for(variant)
    expected = json.loads(json.dumps(experiment.settings_for(variant, "full")))
    for record in found:
        assert record.settings == expected, f"made with other settings; record again: {record.run.command} --replace"
        assert record.info["wall_seconds"] > 0
        assert "+changes" not in record.info["revision"]
        if experiment.scripted is None:
            evaluation.recorded_policy(record.run)


def test_the_recorded_policy_earns_what_its_record_says() -> None:
    """Within the noise between CPUs: the pendulum's returns spread over hundreds."""
    record = records.read(Run("td3bc/pendulum", "td3bc-expert", 0))
    again = evaluation.evaluate("td3bc/pendulum", train_seed=0, episodes=record.settings["final_episodes"], seed=0)
    assert again.mean == pytest.approx(record.last("final_return"), abs=5)


def test_the_median_seed_is_neither_the_best_nor_the_worst() -> None:
    found = records.read_all("td3bc/pendulum", "td3bc-medium")
    ranked = sorted(record.last("final_return") for record in found)
    assert evaluation.median_record(found).last("final_return") == ranked[(len(ranked) - 1) // 2]


def test_no_record_is_left_that_no_experiment_knows() -> None:
    known = {(experiment.id, variant) for experiment, variant in VARIANTS}
    root = records.paths.runs("full")
    on_disk = {path.parent.relative_to(root) for path in root.rglob("seed-*")}
    assert {(path.parent.as_posix(), path.name) for path in on_disk} == known


def test_built_rows_have_a_verdict_and_a_cost() -> None:
    for entry in ledger.entries():
        if entry.id in registry.EXPERIMENTS:
            assert entry.verdict in {ledger.REACHED, ledger.NOT_REACHED}
            assert entry.recorded is not None
            assert entry.cost_minutes is not None
            assert entry.cost_minutes > 0
        else:
            assert entry.verdict == ledger.NOT_BUILT
