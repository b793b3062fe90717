"""A sweep survives any death: it leaves no process behind, and goes on where it was."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rlnotes.experiments import registry
from rlnotes.paths import Run
from rlnotes.runs import store, sweep

ID, VARIANT = "experts/pendulum", "half-trained"  # needs no dataset
PATIENCE = 120.0  # seconds, on a busy machine


def named(seed: int, budget: str = "smoke", variant: str = VARIANT) -> Run:
    return Run(ID, variant, seed, budget)


def recorded() -> list[int]:
    return store.recorded_seeds(ID, VARIANT, "smoke")


def start_sweep(seeds: int, budget: str = "smoke") -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "rlnotes", "sweep", ID, "--variant", VARIANT]
    command += ["--budget", budget, "--seeds", str(seeds), "--jobs", "1"]
    return subprocess.Popen([*command, "--quiet", "--json"], stdout=subprocess.PIPE)


def wait_until(happens: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < deadline, f"{what} never happened"
        time.sleep(0.02)


def status(pid: int) -> tuple[str, int] | None:
    """The state and the parent of a process, if there is one."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent = text.rpartition(")")[2].split()[:2]
    return state, int(parent)


def children(parent: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if (status(pid) or ("", 0))[1] == parent]


def gone(pid: int) -> bool:
    found = status(pid)
    return found is None or found[0] == "Z"  # dead, and not yet buried by whoever must


@pytest.mark.slow(seconds=14)
def test_a_sweep_killed_in_the_middle_goes_on() -> None:
    first = start_sweep(2)
    wait_until(recorded, "a record")
    wait_until(lambda: children(first.pid), "the next run")
    training = children(first.pid)
    first.kill()
    first.wait()
    wait_until(lambda: all(map(gone, training)), "the end of the run in flight")

    assert recorded() == [0]
    survived = store.read(named(0))
    output, _ = start_sweep(2).communicate()
    assert json.loads(output) == {"made": 1, "failed": 0, "already_there": 1}
    assert recorded() == [0, 1]
    assert store.read(named(0)) == survived


@pytest.mark.parametrize(
    ("number", "early"),
    [(signal.SIGTERM, False), (signal.SIGKILL, True), (signal.SIGKILL, False)],
    ids=["SIGTERM", "SIGKILL as it starts", "SIGKILL as it trains"],
)
@pytest.mark.slow(seconds=5)
def test_no_training_outlives_its_sweep(number: signal.Signals, early: bool) -> None:
    sweeping = start_sweep(1, "full")
    lock = named(0, "full").in_flight.with_name(".seed-0.lock")
    wait_until(lambda: children(sweeping.pid), "a run")
    training = children(sweeping.pid)
    if not early:
        wait_until(lock.exists, "its training")
    assert not any(map(gone, training))
    sweeping.send_signal(number)
    assert sweeping.wait(PATIENCE) != 0
    wait_until(lambda: all(map(gone, training)), "its end")
    assert store.recorded_seeds(ID, VARIANT, "full") == []  # it did not just finish
    with store.seed_lock(named(0, "full")):
        pass  # and the seed is free


# --- with programs in the place of runs


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def put(code: str) -> None:
        file = tmp_path / "program"
        file.write_text(f"#!{sys.executable} -S\n{code}")
        file.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(file))

    return put


def test_a_run_that_says_a_lot_is_reported_in_short(
    program: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    """A pipe holds 64 kB: whoever writes more waits until somebody reads."""
    program("import sys; sys.stderr.write('x' * 200_000 + ' the reason'); sys.exit(1)")
    started = time.monotonic()
    assert sweep.sweep([named(0)], 1, progress=False) == ([], [named(0)])
    assert time.monotonic() - started < PATIENCE
    said = capfd.readouterr().err
    assert said.startswith(f"failed: {named(0).command}\n")
    assert said.endswith("x the reason\n")
    assert len(said) < 5_000


def test_a_run_that_fails_does_not_stop_the_others(
    program: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    program("import sys; '1' in sys.argv and sys.exit('no such dataset')")
    runs = [named(seed) for seed in range(3)]
    assert sweep.sweep(runs, 1, progress=False) == ([named(0), named(2)], [named(1)])
    said = capfd.readouterr().err
    assert said == f"failed: {named(1).command}\nno such dataset\n\n"


def test_what_is_recorded_is_not_run_again(program: Callable[[str], None]) -> None:
    info = {"settings": {}, "wall_seconds": 1.0}
    store.write_seed(named(1), [(1, "final_return", 0.0)], info, {}, {})
    store.join(named(1))
    program("")
    made, _ = sweep.sweep([named(seed) for seed in range(3)], 1, progress=False)
    assert made == [named(0), named(2)]


DIARY = """
import pathlib, sys, time
seed = sys.argv[sys.argv.index("--seed") + 1]
with pathlib.Path(__file__).with_name("diary").open("a") as diary:
    print("starts", seed, file=diary, flush=True)
    time.sleep(1)
    print("ends", seed, file=diary, flush=True)
"""


def diary_of(
    runs: list[Run], cores: int, program: Callable[[str], None], home: Path
) -> list[str]:
    program(DIARY)
    made, failed = sweep.sweep(runs, cores, progress=False)
    assert (set(made), failed) == (set(runs), [])
    return (home / "diary").read_text().splitlines()


def needs(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = replace(registry.find(ID), cores=cores)
    monkeypatch.setitem(registry.EXPERIMENTS, ID, experiment)


def test_as_many_run_at_once_as_there_are_cores(
    program: Callable[[str], None], home: Path
) -> None:
    diary = diary_of([named(seed) for seed in range(3)], 2, program, home)
    assert {line.split()[0] for line in diary[:2]} == {"starts"}
    assert diary[2].startswith("ends")


@pytest.mark.parametrize("cores", [2, 5], ids=["all that there are", "more than that"])
def test_a_run_that_needs_all_cores_runs_alone(
    cores: int,
    program: Callable[[str], None],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs(cores, monkeypatch)
    diary = diary_of([named(0), named(1)], 2, program, home)
    assert diary == ["starts 0", "ends 0", "starts 1", "ends 1"]


def test_it_does_not_start_beside_a_smaller_one(
    program: Callable[[str], None], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(2, monkeypatch)
    other = Run("experts/cartpole", "dqn", 7, "smoke")
    diary = diary_of([other, named(0)], 2, program, home)
    assert diary == ["starts 7", "ends 7", "starts 0", "ends 0"]


def test_a_run_that_is_asked_for_twice_is_run_once(
    program: Callable[[str], None], home: Path
) -> None:
    assert diary_of([named(0), named(0)], 2, program, home) == ["starts 0", "ends 0"]
