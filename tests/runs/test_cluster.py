"""A sweep over a Ray cluster: the same records, wherever they were trained, and no
process left behind."""

import json
import os
import platform
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from rlnotes import paths
from rlnotes.__main__ import main
from rlnotes.data import datasets
from rlnotes.data.catalogue import PENDULUM_EXPERT
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.settings import as_json
from rlnotes.paths import Run
from rlnotes.runs import cluster, remote, store
from rlnotes.runs import run as running

ID, VARIANT = "experts/pendulum", "half-trained"  # needs no dataset
PATIENCE = 300.0  # seconds, on a busy machine: Ray is half a dozen processes


def named(seed: int, budget: str = "smoke") -> Run:
    return Run(ID, VARIANT, seed, budget)


def wait_until(happens: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < deadline, f"{what} never happened"
        time.sleep(0.1)


def below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def trainings(pid: int) -> list[psutil.Process]:
    """The processes below this one that train a run."""
    found = []
    for process in below(pid):
        with suppress(psutil.Error):  # it may just have ended
            if process.cmdline()[1:4] == ["-m", "rlnotes", "run"]:
                found.append(process)
    return found


def first_training(sweeping: "subprocess.Popen[str]", pid: int) -> psutil.Process:
    wait_until(lambda: trainings(pid) or sweeping.poll() is not None, "a run")
    assert sweeping.poll() is None, sweeping.communicate()
    return trainings(pid)[0]


def gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


# --- with somebody else in the place of Ray


@dataclass
class Pretender:
    """Answers as the driver does, and notes what it was asked."""

    outcomes: dict[Run, cluster.Outcome]
    asked: list[Run] = field(default_factory=list)

    def send(self, run: Run) -> None:
        self.asked.append(run)

    def answers(self) -> dict[Run, cluster.Outcome]:
        return {
            run: self.outcomes.pop(run) for run in self.asked if run in self.outcomes
        }


Pretend = Callable[..., Pretender]


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    def answer(*outcomes: store.Parcel | str) -> Pretender:
        """Of the seeds 0, 1, …"""
        pretender = Pretender({named(s): found for s, found in enumerate(outcomes)})
        ready = nullcontext(pretender)
        monkeypatch.setattr(cluster, "driver", lambda address, cores: ready)
        return pretender

    return answer


def parcel(seed: int, **more: Any) -> store.Parcel:
    """What a run on some node leaves behind."""
    settings = registry.find(ID).settings_for(VARIANT, "smoke")
    info = {"settings": as_json(settings), "wall_seconds": 1.0} | more
    rows = ((1, "final_return", float(seed)),)
    return store.Parcel(store.Record(named(seed), info, rows), None)


def test_what_comes_back_is_recorded_and_what_failed_is_told(
    pretend: Pretend, capfd: pytest.CaptureFixture[str]
) -> None:
    runs = [named(seed) for seed in range(3)]
    pretender = pretend(parcel(0), "on a node: no such thing\n", parcel(2))
    made, failed = cluster.sweep(runs, 3, progress=False)
    assert (set(made), failed) == ({named(0), named(2)}, [named(1)])
    assert pretender.asked == runs
    records = store.read_all(ID, VARIANT, "smoke")
    assert records == [parcel(0).record, parcel(2).record]
    said = capfd.readouterr().err
    assert said == f"failed: {named(1).command}\non a node: no such thing\n\n"
    with store.seed_lock(named(0)), store.seed_lock(named(1)):
        pass  # all seeds are free again


def test_a_node_with_another_version_is_found_out(
    pretend: Pretend, capfd: pytest.CaptureFixture[str]
) -> None:
    pretend(parcel(0, settings={"length": 0.18}))
    assert cluster.sweep([named(0)], 1, progress=False) == ([], [named(0)])
    assert "the same version of this package on all nodes" in capfd.readouterr().err
    assert store.recorded_seeds(ID, VARIANT, "smoke") == []


def test_a_seed_in_other_hands_is_not_trained(
    pretend: Pretend, capfd: pytest.CaptureFixture[str]
) -> None:
    pretender = pretend()
    with store.seed_lock(named(0)):
        assert cluster.sweep([named(0)], 1, progress=False) == ([], [named(0)])
    assert "is being trained by another process" in capfd.readouterr().err
    assert pretender.asked == []


def test_what_is_recorded_or_lies_aside_needs_no_ray(pretend: Pretend) -> None:
    pretender = pretend()
    store.unpack(parcel(0))
    store.join(named(0))
    store.unpack(parcel(1))  # its sweep was killed before it could join it
    made, failed = cluster.sweep([named(0), named(1)], 1, progress=False)
    assert (made, failed, pretender.asked) == ([named(1)], [], [])
    assert store.recorded_seeds(ID, VARIANT, "smoke") == [0, 1]


# --- with programs in the place of the driver, and of what a node runs


@pytest.fixture
def program(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def put(code: str) -> None:
        file = home / "program"
        file.write_text(f"#!{sys.executable} -S\nimport os, sys\n{code}")
        file.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(file))

    return put


DRIVER = """
from multiprocessing.connection import Connection
pipe = Connection(int(sys.argv[-1]))
address, cores, folder = pipe.recv()
"""


# They make folders of Ray, and look for those that were left.
on_ray = pytest.mark.xdist_group("ray")


@on_ray
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "sys.exit('no luck')",
            "the Ray cluster on this machine has gone away (no luck",
        ),
        (
            f"{DRIVER}pipe.send('no room')",
            "Ray does not start on this machine (no room",
        ),
        (f"{DRIVER}pipe.send(None)", "the Ray cluster on this machine has gone away ("),
    ],
    ids=["dies at once", "cannot start Ray", "dies when it has started"],
)
def test_a_driver_that_fails_is_one_sentence(
    code: str, said: str, program: Callable[[str], None]
) -> None:
    program(code)
    with pytest.raises(UserError) as problem:
        cluster.sweep([named(0)], 1, progress=False)
    assert str(problem.value).startswith(said)
    assert "\n" not in str(problem.value)
    with store.seed_lock(named(0)):
        pass


def test_a_driver_that_does_not_end_is_ended(
    program: Callable[[str], None], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    program(
        f"""
import pathlib, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{DRIVER}
child = subprocess.Popen(["sleep", "1000"])
pathlib.Path({str(home / "pids")!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
pipe.send("but I stay")
time.sleep(1000)
"""
    )
    with pytest.raises(UserError, match="but I stay"):
        cluster.sweep([named(0)], 1, progress=False)
    pids = [int(pid) for pid in (home / "pids").read_text().split()]
    wait_until(lambda: not any(map(psutil.pid_exists, pids)), "their end")


def train(run: Run, policies: dict[str, bytes] | None = None) -> store.Parcel | str:
    return remote.train(run, policies or {}, {"OMP_NUM_THREADS": "1"}, None)


def test_a_node_says_who_it_is_when_a_run_fails(program: Callable[[str], None]) -> None:
    program("sys.exit('no such thing')")
    assert train(named(0)) == f"on {platform.node()}: no such thing\n"


def test_a_run_that_is_killed_is_worth_another_try(
    program: Callable[[str], None],
) -> None:
    program("os.kill(os.getpid(), 9)")
    with pytest.raises(RuntimeError, match=f"killed on {platform.node()}: run {ID}"):
        train(named(0))


TELL = """
import pathlib
home, told = pathlib.Path(os.environ["RLNOTES_HOME"]), pathlib.Path(__file__ + ".told")
with told.open("a") as file:
    print(*sys.argv[3:5], file=file)
    for path in home.rglob("*.safetensors"):
        print(path.relative_to(home), path.read_text(), file=file)
    print(os.environ["PYTHONPATH"].split(os.pathsep)[0], file=file)
    print(home.parent, file=file)
sys.exit(sys.argv[3] == "run")
"""


@pytest.mark.parametrize("there", [True, False])
def test_a_node_makes_the_dataset_that_it_lacks(
    there: bool,
    program: Callable[[str], None],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(home / "datasets"))
    if there:
        datasets.path(PENDULUM_EXPERT).mkdir(parents=True)
    program(TELL)
    run = Run("td3bc/pendulum", "td3bc-expert", 0, "smoke")
    assert train(run, {"experts/a.safetensors": b"some policy"}) is not None
    told = (home / "program.told").read_text().splitlines()
    both = [told[:4], told[4:]] if not there else [[], told]
    same = [
        "book/checkpoints/experts/a.safetensors some policy",
        str(paths.PACKAGE.parent),
        tempfile.gettempdir(),
    ]
    assert both[0] == ([] if there else [f"data {PENDULUM_EXPERT}", *same])
    assert both[1] == ["run td3bc/pendulum", *same]
    assert os.environ["RLNOTES_HOME"] == str(home)


def test_all_recorded_policies_go_along(home: Path) -> None:
    assert remote.recorded_policies() == {}
    file = Run("experts/cartpole", "dqn", 0).checkpoint
    file.parent.mkdir(parents=True)
    file.write_bytes(b"a policy")
    assert remote.recorded_policies() == {
        "experts/cartpole/dqn.safetensors": b"a policy"
    }


@pytest.mark.slow(seconds=10)
def test_a_node_trains_what_this_machine_would(home: Path) -> None:
    sent = train(named(3))
    assert isinstance(sent, store.Parcel)
    here = running.run(named(3), progress=False)
    assert sent.record.rows == here.rows
    measured = {"wall_seconds": 0, "peak_memory_mb": 0}
    assert sent.record.info | measured == here.info | measured
    assert sent.policies == named(3).checkpoint.read_bytes()


# --- addresses


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--engine", "ray", "--address", "127.0.0.1:{port}"],
            "no Ray cluster answers",
        ),
        (
            ["--engine", "ray", "--address", "nowhere.invalid:1"],
            "no Ray cluster answers",
        ),
        (["--engine", "ray", "--address", "127.0.0.1:abc"], "no Ray cluster answers"),
        (["--address", "127.0.0.1:{port}"], "say --engine ray"),
    ],
)
def test_an_address_without_a_cluster_is_one_sentence(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    given = [option.format(port=port) for option in options]
    assert main(["sweep", ID, "--budget", "smoke", *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_without_ray_the_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["sweep", ID, "--budget", "smoke", "--engine", "ray"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rlnotes: Ray is not installed. Install it with: pip")


# --- with Ray: slow, and one cluster at a time

Sweep = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start_sweep() -> Iterator[Sweep]:
    with ExitStack() as stack:

        def start(
            seeds: int, *more: str, budget: str = "smoke", **environment: str
        ) -> "subprocess.Popen[str]":
            command = [sys.executable, "-m", "rlnotes", "sweep", ID]
            command += ["--variant", VARIANT, "--seeds", str(seeds), "--budget", budget]
            process = subprocess.Popen(
                [*command, "--quiet", "--json", *more],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | environment,
            )
            stack.callback(process.kill)
            return process

        yield start


def kept(home: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """A home's numbers and policies, byte by byte, and how they were made."""
    files = {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.suffix in {".csv", ".safetensors"}
    }
    (record,) = home.rglob(f"{VARIANT}.json")
    infos = json.loads(record.read_text())["seeds"]
    for info in infos.values():
        assert info.pop("wall_seconds") > 0
        assert info.pop("peak_memory_mb") > 0
    return files, infos


@on_ray
@pytest.mark.slow(seconds=60)
def test_the_records_are_those_of_this_machine_though_a_worker_is_killed(
    start_sweep: Sweep, home: Path
) -> None:
    here, there = home / "local", home / "ray"
    options = ["--engine", "ray", "--jobs", "1"]
    sweeping = start_sweep(2, *options, RLNOTES_HOME=str(there))
    training = first_training(sweeping, sweeping.pid)
    everything = below(sweeping.pid)
    worker = training.parent()
    assert worker is not None
    assert "ray::" in worker.cmdline()[0]
    worker.kill()
    wait_until(lambda: gone(training), "the end of what it had started")
    output, said = sweeping.communicate()
    assert said == ""
    assert json.loads(output) == {"made": 2, "failed": 0, "already_there": 0}
    wait_until(lambda: all(map(gone, everything)), "the end of Ray")

    assert start_sweep(2, RLNOTES_HOME=str(here)).wait(PATIENCE) == 0
    files, infos = kept(there)
    assert len(files) == len(infos) == 2
    assert (files, infos) == kept(here)


@on_ray
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.slow(seconds=30)
def test_nothing_outlives_the_sweep(number: signal.Signals, start_sweep: Sweep) -> None:
    sweeping = start_sweep(1, "--engine", "ray", "--jobs", "1", budget="full")
    first_training(sweeping, sweeping.pid)
    everything = below(sweeping.pid)
    sweeping.send_signal(number)
    left = {signal.SIGKILL: -number}.get(number, 128 + number)
    assert sweeping.wait(PATIENCE) == left
    wait_until(lambda: all(map(gone, everything)), "the end of Ray")
    assert store.recorded_seeds(ID, VARIANT, "full") == []
    with store.seed_lock(named(0, "full")):
        pass  # and the seed is free


# As lean as Ray allows: it gives a node half a minute to start, on a busy machine too.
NODES = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster()
for folder in sys.argv[1:]:
    here = {"TMPDIR": folder}
    cluster.add_node(include_dashboard=False, no_monitor=True, env_vars=here)
print("address", cluster.address, flush=True)
sys.stdin.read()
"""


@contextmanager
def nodes(folders: list[Path]) -> Iterator[tuple[psutil.Process, str]]:
    """A cluster with as many nodes, each with what is temporary there in its folder."""
    command = [sys.executable, "-c", NODES, *map(str, folders)]
    home = {"RAY_TMPDIR": str(folders[0])}
    with subprocess.Popen(
        command,
        env=os.environ | home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = iter(process.stdout)
        address = next(line.split()[1] for line in said if line.startswith("address"))
        yield psutil.Process(process.pid), address
        kill(process.pid)


def kill(pid: int) -> None:
    """With all that is below, as a power cut would."""
    for process in [*below(pid), psutil.Process(pid)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


@on_ray
@pytest.mark.slow(seconds=120)
def test_a_cluster_of_two_nodes_is_used_and_left_and_missed_when_it_goes(
    start_sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
    }.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as stack:
        # Short names: a socket's path has at most 107 characters.
        folders = [
            Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
            for _ in range(2)
        ]
        there, address = stack.enter_context(nodes(folders))
        options = ["--engine", "ray", "--address", address]
        sweeping, homes = start_sweep(3, *options), set()
        while sweeping.poll() is None:
            for process in trainings(there.pid):
                with suppress(psutil.Error):  # it may just have ended
                    homes.add(Path(process.environ()["RLNOTES_HOME"]).parent)
            time.sleep(0.1)
        output, said = sweeping.communicate()
        assert (json.loads(output)["made"], said) == (3, "")
        assert store.recorded_seeds(ID, VARIANT, "smoke") == [0, 1, 2]
        assert homes == set(folders)
        assert not [home for folder in folders for home in folder.glob("rlnotes-*")]

        sweeping = start_sweep(1, *options, budget="full")
        training = first_training(sweeping, there.pid)
        kill(there.pid)
        output, said = sweeping.communicate(timeout=PATIENCE)
        assert (sweeping.returncode, output) == (2, "")
        assert said.startswith(f"rlnotes: the Ray cluster at {address} has gone away (")
        assert len(said.splitlines()) == 1
        assert store.recorded_seeds(ID, VARIANT, "smoke") == [0, 1, 2]
        wait_until(lambda: gone(training), "the end of the run")
