"""The command line as a person meets it: help, data as JSON, and errors that say what to do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlnotes.__main__ import main, parser

COMMANDS = ["list", "run", "sweep", "evaluate", "data", "drive", "bench", "race", "pay-map"]


def rlnotes(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rlnotes", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_its_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "--json" in shown
    (sub,) = (action for action in parser()._actions if isinstance(action.choices, dict))
    assert all(action.help for action in sub.choices[command]._actions)  # type: ignore[index]


def test_list_shows_42_rows_with_the_agreed_keys() -> None:
    rows = json.loads(rlnotes("list", "--json").stdout)
    assert len(rows) == 42
    keys = ["id", "chapter", "notes", "bar", "recorded", "interval", "verdict", "cost_minutes", "autopsy"]
    assert all(list(row) == keys for row in rows)
    assert {row["verdict"] for row in rows} <= {"reached", "not reached", "not recorded yet", "not built yet"}


def test_evaluate_prints_one_object_with_the_agreed_keys() -> None:
    result = json.loads(rlnotes("evaluate", "td3bc/pendulum", "--episodes", "3", "--seed", "7", "--json").stdout)
    keys = ["id", "variant", "train_seed", "episodes", "seed", "returns", "mean", "iqm", "success_rate", "normalised"]
    assert list(result) == keys
    assert (result["variant"], result["episodes"], result["seed"]) == ("td3bc-expert", 3, 7)
    assert len(result["returns"]) == 3
    assert result["mean"] == pytest.approx(sum(result["returns"]) / 3, abs=0.01)
    assert result["success_rate"] is None


@pytest.mark.parametrize("variant", ["clean", "keyboard"])
def test_evaluate_plays_what_is_scripted_and_counts_arrivals(variant: str) -> None:
    result = json.loads(rlnotes("evaluate", "racecar/demos", "--variant", variant, "--episodes", "2", "--json").stdout)
    assert result["returns"] == [3.0, 3.0]
    assert result["success_rate"] == 1.0


def test_evaluate_takes_the_seed_and_the_policy_it_is_given() -> None:
    first, again, other_start, other_policy = (
        json.loads(rlnotes("evaluate", "td3bc/pendulum", "--episodes", "2", "--json", *more).stdout)["returns"]
        for more in ([], [], ["--seed", "1"], ["--variant", "bc-medium", "--train-seed", "1"])
    )
    assert first == again
    assert first != other_start
    assert first != other_policy


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "nope"], "td3bc/pendulum"),
        (["run", "pong/ppo"], "not built yet"),
        (["run", "td3bc/pendulum", "--variant", "nope"], "td3bc-expert"),
        (["run", "td3bc/pendulum", "--budget", "nope"], "smoke, ci, full"),
        (["sweep", "nope"], "td3bc/pendulum"),
        (["sweep", "td3bc/pendulum", "--variant", "nope"], "td3bc-expert"),
        (["sweep", "td3bc/pendulum", "--budget", "nope"], "smoke, ci, full"),
        (["evaluate", "nope"], "td3bc/pendulum"),
        (["evaluate", "td3bc/pendulum", "--variant", "nope"], "td3bc-expert"),
        (["evaluate", "td3bc/pendulum", "--train-seed", "999"], "no such checkpoint"),
        (["data", "nope"], "rlnotes/pendulum/expert-v0"),
    ],
)
def test_what_cannot_be_done_is_one_message_and_exit_2(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert shown.out == ""


@pytest.mark.parametrize("arguments", [["evaluate", "x", "--episodes", "0"], ["run", "x", "--seed", "-1"], ["dance"]])
def test_senseless_options_are_refused_before_anything_runs(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def test_run_without_its_dataset_names_the_command_that_makes_it(tmp_path: Path) -> None:
    result = rlnotes(
        "run", "td3bc/pendulum", "--budget", "smoke", MINARI_DATASETS_PATH=str(tmp_path), RLNOTES_HOME=str(tmp_path)
    )
    assert result.returncode == 2
    assert "python -m rlnotes data rlnotes/pendulum/expert-v0" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_closed_pipe_is_not_an_error() -> None:
    shell = f"{sys.executable} -m rlnotes list | head -n 1"
    result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert result.stdout.startswith("id")
    assert "Traceback" not in result.stderr
