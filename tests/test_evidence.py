"""The committed records belong to this code: complete, whole, made with the settings it
has now; and moving them into their present form changed no number."""

import csv
import hashlib
import io
import subprocess

import pytest

from rlnotes import paths
from rlnotes.experiments import registry
from rlnotes.experiments.base import Experiment, keeps_all_policies
from rlnotes.experiments.settings import differences
from rlnotes.paths import Run
from rlnotes.report import ledger
from rlnotes.runs import evaluate, store
from rlnotes.runs.store import Record

VARIANTS = [
    (experiment, variant)
    for experiment in registry.EXPERIMENTS.values()
    for variant in experiment.on_record
]
each_variant = pytest.mark.parametrize(
    ("experiment", "variant"), VARIANTS, ids=lambda value: getattr(value, "id", value)
)


@each_variant
def test_every_variant_is_recorded_with_the_settings_of_today(
    experiment: Experiment, variant: str
) -> None:
    found = store.read_all(experiment.id, variant)
    assert len(found) >= experiment.seeds_for(variant)
    today = experiment.settings_for(variant, "full")
    for record in found:
        assert differences(record.settings, today) == [], f"{record.run}: record again"
        assert record.minutes > 0 or "migrated" in record.info
        assert "+changes" not in record.info["revision"]


def test_what_is_planned_is_not_on_record() -> None:
    """Once it is, the experiment says so, and the tests above look at it."""
    for experiment in registry.EXPERIMENTS.values():
        for variant in experiment.variants.keys() - set(experiment.on_record):
            assert not store.recorded_seeds(experiment.id, variant), variant


def old_csv(record: Record) -> bytes:
    """A record's rows as they stood in a file of their own, under their old names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["step", "metric", "value"])
    names = record.info["migrated"]["metric_names"]
    for step, name, value in record.rows:
        number = int(value) if name == "checks_held" else value  # these were counted
        writer.writerow([step, names.get(name, name), repr(number)])
    return text.getvalue().encode()


MOVED = [
    record
    for experiment, variant in VARIANTS
    for record in store.read_all(experiment.id, variant)
    if "metrics_sha256" in record.info.get("migrated", {})
]


def test_moving_the_records_changed_no_number() -> None:
    """The checksum of the file that each came from is kept with it."""
    assert MOVED
    for record in MOVED:
        before = record.info["migrated"]["metrics_sha256"]
        assert hashlib.sha256(old_csv(record)).hexdigest() == before, record.run


@each_variant
def test_the_policies_that_are_kept_can_be_played(
    experiment: Experiment, variant: str
) -> None:
    """All seeds of main variants and of what a chapter replays, else the median's."""
    seeds = store.recorded_seeds(experiment.id, variant)
    nothing_trained = not Run(experiment.id, variant, seeds[0]).checkpoint.exists()
    if nothing_trained or experiment.id == "gail/reward-map":
        return
    if not keeps_all_policies(experiment, variant):
        seeds = [evaluate.median_record(experiment.id, variant).run.seed]
    for seed in seeds:
        evaluate.recorded_policy(Run(experiment.id, variant, seed))


def test_the_recorded_policy_earns_what_its_record_says() -> None:
    """Within the noise between CPUs: the pendulum's returns spread over hundreds."""
    record = store.read(Run("td3bc/pendulum", "td3bc-expert", 0))
    again = evaluate.evaluate("td3bc/pendulum", train_seed=0, episodes=100, seed=0)
    assert again.mean == pytest.approx(record.last("final_return"), abs=5)


def test_the_median_seed_is_neither_the_best_nor_the_worst() -> None:
    found = store.read_all("td3bc/pendulum", "td3bc-medium")
    ranked = sorted(record.last("final_return") for record in found)
    median = evaluate.median_record("td3bc/pendulum", "td3bc-medium")
    assert median.last("final_return") == ranked[(len(ranked) - 1) // 2]


def test_nothing_is_left_that_no_experiment_knows() -> None:
    known = {f"{experiment.id}/{variant}" for experiment, variant in VARIANTS}
    for root, endings in (
        (paths.results("full"), {".csv", ".json"}),
        (paths.checkpoints("full"), {".safetensors"}),
    ):
        files = [path for path in root.rglob("*") if path.is_file()]
        assert {path.suffix for path in files} == endings
        names = {path.relative_to(root).with_suffix("").as_posix() for path in files}
        assert names <= known


def test_the_evidence_stays_small_enough_to_look_at() -> None:
    weights = sum(
        path.stat().st_size for path in paths.checkpoints("full").rglob("*.safetensors")
    )
    assert weights < 90e6  # eyes take megabytes
    words = ["git", "ls-files", "book/results", "book/checkpoints"]
    tracked = subprocess.run(
        words, cwd=paths.root(), capture_output=True, text=True, check=True
    )
    assert len(tracked.stdout.split()) <= 3 * len(VARIANTS)


def test_built_rows_have_a_verdict_and_a_cost() -> None:
    for entry in ledger.entries():
        experiment = registry.EXPERIMENTS.get(entry.id)
        if experiment and experiment.main_variant in experiment.on_record:
            assert entry.verdict in {ledger.REACHED, ledger.NOT_REACHED}
            assert entry.recorded is not None
            assert entry.cost_minutes is not None
            assert entry.cost_minutes > 0
        else:
            waiting = ledger.NOT_RECORDED if experiment else ledger.NOT_BUILT
            assert entry.verdict == waiting
