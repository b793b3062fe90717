"""What an experiment needs at least is measured in a process of its own."""

import os

import pytest

from rlnotes.experiments import memory
from rlnotes.experiments.memory import MEMORY, least_memory_mb, measured
from rlnotes.experiments.registry import EXPERIMENTS


def test_every_experiment_is_measured_but_those_elsewhere() -> None:
    left_out = EXPERIMENTS.keys() - set(measured())
    assert left_out == {"parallel/copies", "gail/race", "costs/memory"}


def test_each_has_a_row_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "measured", lambda: ["one", "other", "third"])
    monkeypatch.setattr(memory, "least_memory_mb", lambda id: float(len(id)))
    trial = MEMORY.trial(MEMORY.settings_for("smoke", "ci"), seed=0)
    assert list(trial.stream) == [(1, {"one": 3.0}), (2, {"other": 5.0})]
    assert trial.steps == 2


@pytest.mark.slow(seconds=20)
def test_a_run_is_measured_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as part of a sweep, which its process does not belong to."""
    monkeypatch.setenv("RLNOTES_SWEEP", str(os.getpid() + 1))
    runs = memory.paths.root() / "_runs" / "smoke" / "results" / "parallel"
    before = sorted(runs.rglob("*"))
    assert 100 < least_memory_mb("parallel/unlimited") < 10_000
    assert sorted(runs.rglob("*")) == before
