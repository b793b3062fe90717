"""One run: repeatable, alone with its seed, with its origin on record; or live."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rlnotes import paths
from rlnotes.algos import sac, td3_bc
from rlnotes.algos.policy import policy_keys, policy_sha256
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.base import Budget, Experiment, Settings, Trial, Variant
from rlnotes.experiments.trials import OnlineSettings
from rlnotes.paths import Run
from rlnotes.runs import run as running
from rlnotes.runs import store
from rlnotes.runs.evaluate import recorded_policy

ID = "experts/pendulum"
SEED_0, SEED_1 = Run(ID, "sac", 0, "smoke"), Run(ID, "sac", 1, "smoke")


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> Experiment[Any]:
    """The pendulum's expert, small enough to learn in a moment."""
    agent = sac.Config(hidden=(8,), learning_starts=20, batch_size=16, buffer_size=100)
    budget = Budget(40, evaluations=2, curve_episodes=1, final_episodes=1)
    small = replace(
        registry.find(ID),
        settings=OnlineSettings(agent=agent),
        budgets={"smoke": budget, "ci": budget},
    )
    monkeypatch.setitem(registry.EXPERIMENTS, ID, small)
    return small


def everything(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


# --- recorded


def test_the_same_seed_gives_the_same_record_and_policies() -> None:
    first = running.run(SEED_0, progress=False)
    policies = SEED_0.checkpoint.read_bytes()
    second = running.run(SEED_0, replace=True, progress=False)
    assert first.rows == second.rows
    assert SEED_0.checkpoint.read_bytes() == policies
    torch.manual_seed(99)  # whatever happened before in this process
    assert running.train_live(ID, budget="smoke").record.rows == first.rows


def test_another_seed_gives_another_record() -> None:
    first, other = (running.run(one, progress=False) for one in (SEED_0, SEED_1))
    assert first.rows != other.rows
    assert store.read_all(ID, "sac", "smoke") == [first, other]


def test_a_recorded_run_is_not_run_again() -> None:
    running.run(SEED_0, progress=False)
    with pytest.raises(UserError, match="recorded already; --replace"):
        running.run(SEED_0, progress=False)


def test_the_policies_of_the_end_and_of_the_best_evaluation_are_kept(
    monkeypatch: pytest.MonkeyPatch, tiny: Experiment[Any]
) -> None:
    """Where the first evaluation was the best, they are two policies."""
    left: list[Trial] = []

    def start(settings: Any, seed: int) -> Trial:
        left.append(tiny.start(settings, seed))
        return left[-1]

    monkeypatch.setitem(registry.EXPERIMENTS, ID, replace(tiny, start=start))
    for seed in range(10):
        run = Run(ID, "sac", seed, "smoke")
        first, last = (x for _, x in running.run(run, progress=False).curve("return"))
        if first > last:
            break
    (trial,) = left[-1:]
    assert trial.policy is not None
    assert trial.best is not None
    found = [policy_sha256(recorded_policy(run, one)) for one in ("last", "best")]
    assert found == [policy_sha256(trial.policy), policy_sha256(trial.best)]
    assert found[0] != found[1]
    assert {f"seed-{seed}/best", f"seed-{seed}/last"} <= set(
        policy_keys(run.checkpoint)
    )


def test_the_record_says_how_to_run_it_again() -> None:
    info = running.run(SEED_0, progress=False).info
    command = "python -m rlnotes run experts/pendulum --variant sac --seed 0"
    assert info["command"] == f"{command} --budget smoke"
    assert info["settings"]["agent"]["learner"] == "sac"
    assert info["settings"]["agent"]["hidden"] == [8]
    assert info["settings"]["budget"]["steps"] == 40
    assert set(info["packages"]) == set(running.PACKAGES)
    assert info["packages"]["numpy"] == np.__version__
    assert info["wall_seconds"] > 0
    assert info["resumptions"] == 0
    assert 50 < info["peak_memory_mb"] < 50_000  # a process that has imported torch
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", info["date"])


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    command = ["git", "-C", str(folder), *who, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, content: str) -> str:
    folder.mkdir(exist_ok=True)
    git(folder, "init")
    (folder / "code.py").write_text(content)
    git(folder, "add", ".")
    git(folder, "commit", "-m", "all of it")
    return git(folder, "rev-parse", "HEAD")


def test_the_revision_is_that_of_the_code_wherever_the_records_go(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(home, "not the code that runs")
    code = tmp_path / "code"
    revision = commit(code, "the code that runs")
    monkeypatch.setattr(paths, "PACKAGE", code)
    assert running.provenance(SEED_0)["revision"] == revision
    (code / "code.py").write_text("changed")
    assert running.provenance(SEED_0)["revision"] == f"{revision}+changes"


def test_code_that_is_in_no_repository_has_no_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(paths, "PACKAGE", tmp_path)
    assert running.provenance(SEED_0)["revision"] == "unknown"


def test_the_revision_is_that_of_the_start(
    monkeypatch: pytest.MonkeyPatch, tiny: Experiment[Any]
) -> None:
    """Whoever commits while a run is going on does not change what it ran."""
    revision = ["of the start"]
    monkeypatch.setattr(running, "_revision", lambda: revision[0])

    def start(settings: Any, seed: int) -> Trial:
        revision[0] = "of a later commit"
        return tiny.start(settings, seed)

    monkeypatch.setitem(registry.EXPERIMENTS, ID, replace(tiny, start=start))
    assert running.run(SEED_0, progress=False).info["revision"] == "of the start"


def test_tensorboard_sees_what_the_record_holds(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    record = running.run(SEED_0, logdir=logs, progress=False)
    events = EventAccumulator(str(logs / ID / "sac" / "seed-0"))
    events.Reload()
    names = {name for _, name, _ in record.rows}
    assert set(events.Tags()["scalars"]) == names
    for name in names:
        logged = [(event.step, event.value) for event in events.Scalars(name)]
        expected = record.curve(name)
        assert logged == [(step, pytest.approx(value)) for step, value in expected]


def test_a_folder_for_logs_that_cannot_be_written_is_one_sentence(
    tmp_path: Path,
) -> None:
    (tmp_path / "logs").write_text("a file where a folder should be")
    with pytest.raises(UserError, match="logs.*cannot be written"):
        running.run(SEED_0, logdir=tmp_path / "logs", progress=False)


def test_a_damaged_checkpoint_is_noticed_before_training(
    monkeypatch: pytest.MonkeyPatch, tiny: Experiment[Any]
) -> None:
    running.run(SEED_0, progress=False)
    SEED_0.checkpoint.write_bytes(b"damaged")

    def start(settings: Any, seed: int) -> Trial:
        raise AssertionError("hours of training whose result cannot be joined")

    monkeypatch.setitem(registry.EXPERIMENTS, ID, replace(tiny, start=start))
    for run, again in ((SEED_1, False), (SEED_0, True)):
        with pytest.raises(UserError, match="damaged checkpoint"):
            running.run(run, replace=again, progress=False)


def test_a_seed_whose_joining_was_interrupted_is_not_trained_again(
    monkeypatch: pytest.MonkeyPatch, tiny: Experiment[Any]
) -> None:
    def interrupted(*_: object) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "write_variant", interrupted)
        with pytest.raises(KeyboardInterrupt):
            running.run(SEED_0, progress=False)
    assert store.recorded_seeds(ID, "sac", "smoke") == []
    monkeypatch.setitem(registry.EXPERIMENTS, ID, replace(tiny, start=interrupted))
    assert running.run(SEED_0, progress=False).last("final_return") < 0


# --- two runs of one seed


def hold(run: Run, ready: Any) -> None:
    with store.seed_lock(run):
        ready.set()
        signal.pause()


@contextmanager
def held(run: Run) -> Iterator[int]:
    fork = get_context("fork")
    ready = fork.Event()
    process = fork.Process(target=hold, args=(run, ready))
    process.start()
    assert ready.wait(20)
    assert process.pid is not None
    try:
        yield process.pid
    finally:
        process.kill()
        process.join()


def test_a_seed_is_trained_by_one_process_at_a_time(home: Path) -> None:
    with held(SEED_0) as first:
        before = everything(home)
        with pytest.raises(UserError, match=f"{SEED_0} is being trained by another"):
            running.run(SEED_0, progress=False)
        assert everything(home) == before
        assert running.run(SEED_1, progress=False).run == SEED_1  # others may
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
        assert running.run(SEED_0, progress=False).run == SEED_0


# --- live


def test_live_training_writes_nothing(home: Path) -> None:
    live = running.train_live(ID, budget="smoke", progress=False)
    assert everything(home) == []
    assert live.record.run == SEED_0
    assert live.record.last("final_return") < 0
    assert live.policy.hidden == (8,)


def test_the_reader_turns_the_knob_where_it_stands() -> None:
    live = running.train_live(
        ID, "sac", budget="smoke", steps=30, agent__gamma=0.5, hidden=(6, 5)
    )
    settings = live.record.settings
    assert (settings["budget"]["steps"], settings["agent"]["gamma"]) == (30, 0.5)
    assert live.policy.hidden == (6, 5)
    assert live.record.rows[-1][0] == 30


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ({"gama": 0.9}, "unknown setting 'gama'. Valid: .*agent.gamma, agent.tau"),
        ({"agent__gama": 0.9}, "unknown setting 'agent__gama'. Valid: .*agent.gamma"),
        ({"gamma": "0.9"}, "agent.gamma is of type float, which '0.9' is not"),
        ({"batch_size": 1.5}, "agent.batch_size is of type int, which 1.5 is not"),
        ({"batch_size": True}, "agent.batch_size is of type int, which True is not"),
        ({"hidden": [8]}, r"agent.hidden is .*, which \[8\] is not"),
        ({"hidden": (8, "8")}, "agent.hidden is .*is not"),
        ({"gamma": 1.5}, "gamma is a number from 0 to 1, not 1.5"),
    ],
)
def test_a_senseless_override_says_what_is_possible(
    override: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        running.train_live(ID, budget="smoke", progress=False, **override)


@dataclass(frozen=True, kw_only=True)
class Two(Settings):
    one: td3_bc.Config
    other: td3_bc.Config


def test_a_name_that_could_be_two_settings_must_be_written_out(
    monkeypatch: pytest.MonkeyPatch, tiny: Experiment[Any]
) -> None:
    variants = {"two": Variant("two")}
    settings = Two(one=td3_bc.Config(), other=td3_bc.Config())
    two = replace(tiny, settings=settings, variants=variants)
    monkeypatch.setitem(registry.EXPERIMENTS, ID, two)
    with pytest.raises(UserError, match="'alpha' could be one.alpha or other.alpha"):
        running.train_live(ID, budget="smoke", alpha=1.0)


def test_what_trains_nothing_cannot_be_trained_live() -> None:
    with pytest.raises(UserError, match="racecar/demos trains nothing"):
        running.train_live("racecar/demos", budget="smoke", progress=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope",), "unknown experiment 'nope'"),
        ((ID, "nope"), "unknown variant of experts/pendulum 'nope'. Valid: sac, half"),
        ((ID, "sac", 0, "nope"), "unknown budget 'nope'. Valid: smoke, ci"),
        ((ID, "sac", -1), "from 0 to 4294967295, not -1"),
    ],
)
def test_unknown_names_list_the_valid_ones(
    arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        running.train_live(*arguments)
