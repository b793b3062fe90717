"""Runs are repeatable; a sweep killed with SIGKILL resumes and loses only what was in flight."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rlnotes.algos.policy import Policy
from rlnotes.errors import UserError
from rlnotes.evidence import records, runner
from rlnotes.evidence.records import Run

ONLINE = Run("td3bc/pendulum", "online-half", 0, "smoke")  # needs no dataset


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLNOTES_HOME", str(tmp_path))
    return tmp_path


def test_the_same_seed_gives_the_same_record_and_policy() -> None:
    first = runner.run(ONLINE, progress=False)
    policy = Policy.load(ONLINE.checkpoint, "")
    second = runner.run(ONLINE, replace=True, progress=False)
    assert first.rows == second.rows
    again = Policy.load(ONLINE.checkpoint, "")
    assert all(torch.equal(one, other) for one, other in zip(policy.parameters(), again.parameters(), strict=True))


def test_another_seed_gives_another_record() -> None:
    other = Run(ONLINE.id, ONLINE.variant, 1, "smoke")
    assert runner.run(ONLINE, progress=False).rows != runner.run(other, progress=False).rows


def test_a_recorded_run_is_not_run_again() -> None:
    runner.run(ONLINE, progress=False)
    with pytest.raises(UserError, match="recorded already"):
        runner.run(ONLINE, progress=False)


def test_the_record_says_how_to_run_it_again() -> None:
    info = runner.run(ONLINE, progress=False).info
    assert info["command"] == "python -m rlnotes run td3bc/pendulum --variant online-half --seed 0 --budget smoke"
    assert info["settings"]["learner"] == "sac-online"
    assert set(info["packages"]) == set(runner.PACKAGES)
    assert info["wall_seconds"] > 0


def test_tensorboard_sees_what_the_record_holds(tmp_path: Path) -> None:
    record = runner.run(ONLINE, logdir=tmp_path / "logs", progress=False)
    events = EventAccumulator(str(tmp_path / "logs" / ONLINE.id / ONLINE.variant / "seed-0"))
    events.Reload()
    logged = [(event.step, event.value) for event in events.Scalars("return")]
    assert logged == [(step, pytest.approx(value)) for step, value in record.curve("return")]


def start_sweep(seeds: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "rlnotes", "sweep", ONLINE.id, "--variant", ONLINE.variant]
    command += ["--budget", "smoke", "--seeds", str(seeds), "--jobs", "1", "--quiet", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)


def test_a_sweep_killed_in_the_middle_resumes() -> None:
    seeds = 3
    sweep = start_sweep(seeds)
    deadline = time.monotonic() + 240
    while not records.recorded_seeds(ONLINE.id, ONLINE.variant, "smoke"):
        assert time.monotonic() < deadline, "no run was ever recorded"
        time.sleep(0.05)
    os.killpg(sweep.pid, signal.SIGKILL)
    sweep.wait()

    survived = records.recorded_seeds(ONLINE.id, ONLINE.variant, "smoke")
    assert 1 <= len(survived) < seeds
    before = {seed: records.read(Run(ONLINE.id, ONLINE.variant, seed, "smoke")).rows for seed in survived}

    resumed = start_sweep(seeds)
    output, _ = resumed.communicate()
    assert json.loads(output) == {"made": seeds - len(survived), "failed": 0, "already_there": len(survived)}
    assert records.recorded_seeds(ONLINE.id, ONLINE.variant, "smoke") == [0, 1, 2]
    for seed, rows in before.items():
        assert records.read(Run(ONLINE.id, ONLINE.variant, seed, "smoke")).rows == rows


def test_a_failing_run_is_reported_and_does_not_stop_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    without_dataset = Run("td3bc/pendulum", "bc-expert", 0, "smoke")
    os.environ["MINARI_DATASETS_PATH"], kept = str(ONLINE.folder), os.environ["MINARI_DATASETS_PATH"]
    try:
        made, failed = runner.sweep([without_dataset, ONLINE], jobs=1, progress=False)
    finally:
        os.environ["MINARI_DATASETS_PATH"] = kept
    assert (made, failed) == ([ONLINE], [without_dataset])
    assert "no such dataset" in capfd.readouterr().err
