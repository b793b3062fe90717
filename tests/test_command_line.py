"""The command line as a person meets it: help, JSON, errors that say what to do."""

import errno
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rlnotes import paths
from rlnotes.__main__ import _json, main, parser
from rlnotes.algos.policy import Policy
from rlnotes.data import datasets
from rlnotes.data.catalogue import CARTPOLE_EXPERT
from rlnotes.experiments import ledger, registry
from rlnotes.experiments.base import World
from rlnotes.paths import Run
from rlnotes.runs import bench, store

COMMANDS = ["list", "run", "sweep", "evaluate", "doctor", "data", "drive", "bench"]
PENDULUM = Run("experts/pendulum", "half-trained", 0, "smoke")  # needs no dataset
LIST_KEYS = (
    "id, chapter, notes, bar, recorded, interval, verdict, cost_minutes, autopsy"
)
EVALUATE_KEYS = (
    "id, variant, train_seed, episodes, seed, returns, mean, iqm, success_rate,"
    " normalised"
)

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLNOTES_HOME", str(tmp_path))
    return tmp_path


def rlnotes(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rlnotes", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def record(run: Run, score: float = -150.0) -> None:
    torch.manual_seed(run.seed)
    policy = Policy((3,), [-2.0], [2.0], (8,), "gaussian")
    info = {"settings": {}, "wall_seconds": 60.0, "cpu": "x", "date": "2026-01-01"}
    rows = [(1, name, score) for name in ("return", "final_return")]
    store.write_seed(run, rows, info | {"revision": "abc"}, {"last": policy}, {})
    store.join(run)


def shown_json(captured: Captured, *arguments: str) -> Any:
    """What a command prints, strictly as JSON is defined."""
    assert main(list(arguments)) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(captured.readouterr().out, parse_constant=refuse)


# --- help


def test_there_are_no_other_commands() -> None:
    (sub,) = (a for a in parser()._actions if isinstance(a.choices, dict))
    assert list(sub.choices or ()) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_its_options(
    command: str, capsys: Captured
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "--json" in shown
    (choices,) = (a.choices for a in parser()._actions if isinstance(a.choices, dict))
    assert all(action.help for action in choices[command]._actions)


# --- list


def test_list_shows_47_rows_with_the_agreed_keys(capsys: Captured) -> None:
    rows = shown_json(capsys, "list", "--json")
    assert [row["id"] for row in rows] == [row.id for row in ledger.ROWS]
    assert len(rows) == 47
    assert all(", ".join(row) == LIST_KEYS for row in rows)
    assert {row["verdict"] for row in rows} == {"not recorded yet"}


def test_the_table_has_a_line_for_every_row(capsys: Captured) -> None:
    assert main(["list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("id ")
    assert [line.split()[0] for line in lines] == [row.id for row in ledger.ROWS]


def complete(experiment_id: str) -> Run:
    """Record every seed of every variant by hand; what the ledger reports of it."""
    experiment = registry.find(experiment_id)
    for variant in experiment.variants:
        for seed in range(experiment.seeds_for(variant)):
            record(Run(experiment_id, variant, seed))
    return Run(experiment_id, experiment.main_variant, 0)


def one_digit(run: Run) -> None:
    run.csv.write_text(run.csv.read_text().replace("-150.0", "-150.1", 1))


def null(run: Run) -> None:
    run.json.write_text("null")


def no_csv(run: Run) -> None:
    run.csv.unlink()


def whole(run: Run) -> None:
    (run.json.parent / "seed-0.bak").write_text("a stray file is no damage")


@pytest.mark.parametrize(
    ("damage", "verdict"),
    [
        (whole, "not reached"),
        (one_digit, "damaged record"),
        (null, "damaged record"),
        (no_csv, "damaged record"),
    ],
)
def test_list_goes_on_past_a_damaged_record(
    damage: Callable[[Run], None], verdict: str, capsys: Captured
) -> None:
    run = complete("td3bc/pendulum-no-bc")
    damage(run)
    assert main(["list", "--json"]) == 0
    shown = capsys.readouterr()
    found = {row["id"]: row["verdict"] for row in json.loads(shown.out)}
    assert found[run.id] == verdict
    others = {one for id, one in found.items() if id != run.id}
    assert others == {"not recorded yet"}
    assert shown.err.count("\n") == (verdict == "damaged record")
    assert (str(run.json) in shown.err) == (verdict == "damaged record")


def test_list_works_without_sb3_and_says_nothing_else() -> None:
    """PyBullet announces itself when it is imported, if one lets it."""
    code = """
import sys
sys.modules["stable_baselines3"] = None
from rlnotes.__main__ import main
sys.exit(main(["list"]))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("id ")
    assert len(done.stdout.splitlines()) == 48


def test_a_closed_pipe_is_not_an_error() -> None:
    shell = f"{sys.executable} -m rlnotes list | head -n 1"
    command = ["bash", "-c", f"set -o pipefail; {shell}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("id")
    assert done.stderr == ""


# --- run


def test_run_records_and_prints_its_last_metrics(capsys: Captured) -> None:
    arguments = ["run", PENDULUM.id, "--variant", PENDULUM.variant, "--quiet"]
    found = shown_json(capsys, *arguments, "--budget", "smoke", "--json")
    assert {name: found[name] for name in asdict(PENDULUM)} == asdict(PENDULUM)
    kept = store.read(PENDULUM)
    assert found["final_return"] == kept.last("final_return")
    assert main([*arguments, "--budget", "smoke"]) == 2
    assert "recorded already; --replace" in capsys.readouterr().err


def test_json_has_no_nan() -> None:
    value = {"a": math.nan, "b": [1.5, math.inf, (-math.inf, "NaN")], "c": {"d": 2}}
    expected = {"a": None, "b": [1.5, None, [None, "NaN"]], "c": {"d": 2}}
    assert json.loads(_json(value)) == expected
    assert "NaN" not in _json({"a": math.nan})
    assert _json({"a": "−1 ± 2"}) == '{"a": "−1 ± 2"}'


def test_run_prints_no_nan(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ((5, "return", 1.0), (9, "return", math.nan), (9, "loss", math.inf))
    kept = store.Record(PENDULUM, {}, rows)
    monkeypatch.setattr("rlnotes.runs.run.run", lambda *_, **__: kept)
    found = shown_json(capsys, "run", PENDULUM.id, "--json")
    assert (found["return"], found["loss"]) == (None, None)


def test_a_full_disk_is_one_sentence(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    arguments = ["run", PENDULUM.id, "--variant", PENDULUM.variant, "--quiet"]
    assert main([*arguments, "--budget", "smoke"]) == 2
    said = capsys.readouterr().err
    assert "No space left on device" in said
    assert len(said.splitlines()) == 1


def test_a_person_who_stops_it_is_told_what_remains(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rlnotes.runs.run.run", stopped)
    assert main(["run", PENDULUM.id]) == 130
    assert "start again to go on" in capsys.readouterr().err


# --- sweep


def test_sweep_counts_what_it_made_and_found(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[Run], int | None]] = []

    def pretend(
        runs: list[Run], cores: int | None, progress: bool
    ) -> tuple[list[Run], list[Run]]:
        asked.append((runs, cores))
        return runs[:2], runs[2:3]

    monkeypatch.setattr("rlnotes.runs.sweep.sweep", pretend)
    arguments = ["sweep", PENDULUM.id, "--seeds", "3", "--budget", "smoke", "--json"]
    assert main([*arguments, "--jobs", "1"]) == 1
    counts = json.loads(capsys.readouterr().out)
    assert counts == {"made": 2, "failed": 1, "already_there": 3}
    both = [
        Run(PENDULUM.id, v, s, "smoke")
        for v in ("sac", "half-trained")
        for s in range(3)
    ]
    assert asked == [(both, 1)]


def test_sweep_takes_a_variant_that_is_named_twice_once(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rlnotes.runs.sweep.sweep", lambda runs, *_, **__: (runs, []))
    named = ["--variant", "sac", "--variant", "sac"]
    found = shown_json(capsys, "sweep", PENDULUM.id, *named, "--json")
    assert found == {"made": 1, "failed": 0, "already_there": 0}


# --- evaluate


def test_evaluate_prints_one_object_with_the_agreed_keys(capsys: Captured) -> None:
    record(Run("experts/pendulum", "sac", 4))
    arguments = ["evaluate", "experts/pendulum", "--episodes", "3", "--seed", "7"]
    found = shown_json(capsys, *arguments, "--json")
    assert ", ".join(found) == EVALUATE_KEYS
    assert (found["variant"], found["train_seed"]) == ("sac", 4)
    assert (found["episodes"], found["seed"]) == (3, 7)
    assert len(found["returns"]) == 3
    assert found["mean"] == pytest.approx(sum(found["returns"]) / 3, abs=0.01)
    assert (found["success_rate"], found["normalised"]) == (None, None)
    assert main(arguments) == 0
    assert f"mean {found['mean']:.1f}" in capsys.readouterr().out


def test_evaluate_plays_what_is_scripted_and_counts_arrivals(capsys: Captured) -> None:
    arguments = ["--train-seed", "0", "--episodes", "2", "--json"]
    found = shown_json(capsys, "evaluate", "racecar/demos", *arguments)
    assert found["returns"] == [3.0, 3.0]
    assert found["success_rate"] == 1.0


# --- data and bench


@pytest.fixture
def dataset(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """One of the book's, as far as its name goes."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(home / "datasets"))
    world = World("CartPole-v1")
    episodes = world.play(lambda obs: np.zeros(len(obs), np.int64), [0, 1])
    datasets.create(
        CARTPOLE_EXPERT,
        world.make(),
        episodes,
        algorithm="falls to the left",
        description="two episodes",
        random_return=0.0,
        expert_return=1.0,
    )
    return CARTPOLE_EXPERT


def test_data_says_what_is_there(dataset: str, capsys: Captured) -> None:
    found = shown_json(capsys, "data", dataset, "--json")
    assert found == {dataset: "already there"}
    assert main(["data", dataset]) == 0
    assert capsys.readouterr().out == (
        f"{dataset}: already there, in {datasets.path(dataset)}\n"
    )


def test_a_damaged_dataset_is_named_and_left_alone(
    dataset: str, capsys: Captured
) -> None:
    (file,) = datasets.path(dataset).rglob("*.hdf5")
    file.write_bytes(file.read_bytes()[:500])
    assert main(["data", dataset]) == 2
    said = capsys.readouterr().err
    assert str(datasets.path(dataset)) in said
    assert f"python -m rlnotes data {dataset}" in said
    assert len(said.splitlines()) == 1
    assert file.stat().st_size == 500


def test_bench_prints_ratios(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROUNDS", 1)
    found = shown_json(capsys, "bench", "--budget", "smoke", "--json")
    assert all(value > 0 for value in found.values())
    assert {"racecar_steps_per_second", "times_deque_sampling"} <= set(found)


@pytest.fixture
def small_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    cartpole = bench.THROUGHPUT.variants["cartpole"]
    fewer = replace(cartpole, override={**cartpole.override, "backends": ("plain",)})
    only = replace(bench.THROUGHPUT, variants={"cartpole": fewer}, bars=())
    monkeypatch.setattr(bench, "THROUGHPUT", only)


@pytest.mark.usefixtures("small_bench")
def test_bench_parallel_prints_the_table(capsys: Captured) -> None:
    found = shown_json(capsys, "bench", "parallel", "--budget", "smoke", "--json")
    assert list(found["cartpole"]) == ["1", "4"]
    assert found["cartpole"]["4"]["plain_times_plain"] == 1.0
    assert main(["bench", "parallel", "--budget", "smoke"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading == "world |  | 1 | 4 | steps per second"
    assert row.startswith("CartPole | plain loop | 1.0 | 1.0 | ")


@pytest.fixture
def small_race(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = replace(bench.PPO_SPEED.settings.agent, num_steps=10, batch_size=20)
    few = replace(bench.PPO_SPEED.settings, agent=agent, num_envs=4, length=0.005)
    only = replace(bench.PPO_SPEED, settings=few)
    monkeypatch.setattr(bench, "PPO_SPEED", only)


@pytest.mark.usefixtures("small_race")
def test_bench_ppo_prints_the_race(capsys: Captured) -> None:
    found = shown_json(capsys, "bench", "ppo", "--budget", "smoke", "--json")
    assert found["ours_times_sb3"] > 0
    assert main(["bench", "ppo", "--budget", "smoke"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("PPO | steps per second | times SB3's best\nSB3, Subproc")
    assert "\n\npart | share of our time\ncollecting | " in shown


# --- bad input: exit code 2 and one line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "nope"], "td3bc/pendulum"),
        (["run", "td3bc/pendulum", "--variant", "nope"], "td3bc-expert"),
        (["run", "td3bc/pendulum", "--budget", "nope"], "smoke, ci, full"),
        (["bench", "--budget", "nope"], "smoke, ci, full"),
        (["bench", "parallel", "--budget", "nope"], "smoke, ci, full"),
        (["bench", "ppo", "--budget", "nope"], "smoke, ci, full"),
        (["bench", "pixels", "--budget", "nope"], "smoke, ci, full"),
        (["sweep", "nope"], "td3bc/pendulum"),
        (["sweep", "td3bc/pendulum", "--variant", "nope"], "td3bc-expert"),
        (["sweep", "td3bc/pendulum", "--budget", "nope"], "smoke, ci, full"),
        (["evaluate", "nope"], "td3bc/pendulum"),
        (["evaluate", "td3bc/pendulum", "--variant", "nope"], "td3bc-expert"),
        (["evaluate", "td3bc/pendulum"], "no such record. Make it with"),
        (["evaluate", "td3bc/pendulum", "--train-seed", "9"], "no such checkpoint"),
        (["data", "nope"], "rlnotes/pendulum/expert-v0"),
    ],
)
def test_what_cannot_be_done_is_one_message_and_exit_2(
    arguments: list[str], expected: str, capsys: Captured
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.startswith("rlnotes: ")
    assert len(shown.err.splitlines()) == 1
    assert shown.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "x", "--episodes", "0"],
        ["evaluate", "x", "--episodes", "many"],
        ["evaluate", "x", "--seed", "-1"],
        ["evaluate", "x", "--train-seed", "12345678901234567890123"],
        ["run", "x", "--seed", "-1"],
        ["run", "x", "--seed", "1.5"],
        ["run", "x", "--seed", "12345678901234567890123"],
        ["run", "x", "--save-every", "often"],
        ["sweep", "x", "--jobs", "0"],
        ["sweep", "x", "--seeds", "0"],
        ["drive", "--episodes", "0"],
        ["race"],
        ["pay-map"],
        ["dance"],
        [],
    ],
    ids=" ".join,
)
def test_senseless_options_are_refused_before_anything_runs(
    arguments: list[str], capsys: Captured
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("python -m rlnotes")


def flip_bit(run: Run) -> Path:
    content = bytearray(run.checkpoint.read_bytes())
    content[-3] ^= 1
    run.checkpoint.write_bytes(content)
    return run.checkpoint


def copy_over(run: Run) -> Path:
    other = Run(run.id, "half-trained", 0)
    record(other)
    run.checkpoint.write_bytes(other.checkpoint.read_bytes())
    return run.checkpoint


def lose(run: Run) -> Path:
    run.checkpoint.unlink()
    return run.checkpoint


def cut(run: Run) -> Path:
    run.json.write_text(run.json.read_text()[:50])
    return run.json


@pytest.mark.parametrize("damage", [flip_bit, copy_over, lose, cut])
def test_damaged_evidence_is_named_and_left_alone(
    damage: Callable[[Run], Path], home: Path, capsys: Captured
) -> None:
    run = Run("experts/pendulum", "sac", 0)
    record(run)
    file = damage(run)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for command in (
        ["evaluate", run.id, "--episodes", "1"],
        ["run", run.id, "--replace"],
        ["run", run.id, "--seed", "1"],
    ):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert str(file) in said
        assert "python -m rlnotes sweep experts/pendulum --variant sac" in said
        assert len(said.splitlines()) == 1
    after = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before


def test_run_without_its_dataset_names_the_command_that_makes_it(
    tmp_path: Path,
) -> None:
    done = rlnotes(
        "run", "td3bc/pendulum", "--budget", "smoke", MINARI_DATASETS_PATH=str(tmp_path)
    )
    assert done.returncode == 2
    assert "python -m rlnotes data rlnotes/pendulum/expert-v0" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_home_that_cannot_be_written_is_one_sentence(
    home: Path, capsys: Captured
) -> None:
    (home / "_runs").write_text("a file where a folder should be")
    assert main(["run", PENDULUM.id, "--budget", "smoke"]) == 2
    said = capsys.readouterr().err
    assert str(paths.in_flight("smoke")) in said
    assert len(said.splitlines()) == 1


def test_driving_into_a_dataset_that_exists_is_refused_before_anybody_drives(
    dataset: str, capsys: Captured
) -> None:
    assert main(["drive", "--dataset", dataset]) == 2
    said = capsys.readouterr().err
    assert str(datasets.path(dataset)) in said
    assert len(said.splitlines()) == 1


# --- doctor


def test_the_doctor_examines_a_world_and_writes_a_page(
    capsys: Captured, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    given = ("doctor", "--env", "CartPole-v1", "--believed", "2000", "--json")
    report = shown_json(capsys, *given, "--html", str(page))
    assert [one["check"] for one in report["findings"]] == ["misread-return"]
    assert report["not_examined"]["stale-copy"] == "this is a world, not a training"
    assert "data:image/png;base64," in page.read_text()


def test_the_doctor_examines_a_record(capsys: Captured) -> None:
    record(Run("experts/pendulum", "half-trained", 0))
    given = ("doctor", "experts/pendulum", "--variant", "half-trained", "--json")
    report = shown_json(capsys, *given)
    assert report["patient"] == "experts/pendulum half-trained seed 0"
    assert report["findings"] == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((), "say what to examine"),
        (("parallel/dqn", "--env", "CartPole-v1"), "say what to examine"),
        (("--env", "NoSuchWorld-v0"), "my_package:MyWorld-v0"),
        (("--env", "CartPole-v1", "--seed", "1"), "leave out --env"),
        (("parallel/dqn", "--believed", "5"), "say --env"),
        (("nope",), "unknown experiment 'nope'"),
        (("parallel/dqn", "--variant", "nope"), "unknown variant"),
        (("parallel/dqn",), "no such record. Make it with"),
        (("--env", "CartPole-v1", "--html", "/no/such/folder/x"), "cannot be written"),
    ],
)
def test_the_doctor_says_what_to_do(
    given: tuple[str, ...], says: str, capsys: Captured
) -> None:
    assert main(["doctor", *given]) == 2
    assert says in capsys.readouterr().err
