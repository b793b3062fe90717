"""Sweep over a Ray cluster: the same records as from this machine's own processes.

Every run trains on some node, in a home of its own there (`remote`), and comes back as
data; this process alone writes records. Ray lives in another process (`ray_driver`),
which ends with this one and takes a cluster with it that it has started.
"""

import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from rlnotes import ray_local
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.settings import as_json
from rlnotes.paths import Run
from rlnotes.runs import store
from rlnotes.runs.store import Parcel
from rlnotes.runs.sweep import SWEEP, available_cores
from rlnotes.runs.sweep import sweep as sweep_with

PATIENCE = 30.0  # seconds, for Ray to end in good order
ONE_TRY = {"RAY_NUM_REDIS_GET_RETRIES": "1"}  # to reach a cluster: of half a minute

Outcome = Parcel | str | None  # a seed, a failure, or a seed that lies aside already


def sweep(
    runs: list[Run],
    cores: int | None = None,
    progress: bool = True,
    address: str | None = None,
) -> tuple[list[Run], list[Run]]:
    """As `sweep.sweep`, on the cluster at `address`, which is left running, or on one
    of this machine alone, which is started and stopped."""
    ray_local.require()
    if address is not None:
        _refuse_silence(address)
    elif cores is None:
        cores = available_cores()
    with ExitStack() as stack:
        cluster = Cluster(stack, address, cores)
        return sweep_with(runs, cores or math.inf, progress, cluster.start)


def _refuse_silence(address: str) -> None:
    """Ray itself would try for minutes."""
    if address == "auto":
        return
    try:
        parts = urlsplit(f"//{address.rpartition('//')[2]}")
        socket.create_connection((parts.hostname, parts.port), timeout=5).close()
    except (OSError, ValueError, TypeError) as problem:
        raise _no_cluster(address, str(problem)) from problem


def _no_cluster(address: str | None, reason: str) -> UserError:
    if address is None:
        return UserError(
            f"Ray does not start on this machine ({reason}). Mend that, or sweep"
            " without --engine ray"
        )
    return UserError(
        f"no Ray cluster answers at {address} ({reason}). Start one with `ray start"
        " --head`, with this machine among its nodes, or leave --address out"
    )


def _gone(address: str | None, said: str) -> UserError:
    where = "on this machine" if address is None else f"at {address}"
    last = " ".join(said.split())[-200:]
    return UserError(
        f"the Ray cluster {where} has gone away ({last}). What is recorded stays; when"
        " the cluster is back, start again to go on"
    )


class Cluster:
    """Ray, from the first run that is started until the end of a sweep."""

    def __init__(self, stack: ExitStack, address: str | None, cores: int | None):
        self.stack = stack  # closed at the end
        self.address = address
        self.cores = cores
        self.driver: Driver | None = None
        self.outcomes: dict[Run, Outcome] = {}

    def start(self, run: Run) -> "Task":
        lock = self.stack.enter_context(ExitStack())
        try:
            lock.enter_context(store.seed_lock(run))
            store.refuse_damage(run)
            if store.finished(run):
                self.outcomes[run] = None
        except UserError as problem:
            self.outcomes[run] = f"rlnotes: {problem}\n"
        if run not in self.outcomes:
            if self.driver is None:
                ready = driver(self.address, self.cores)
                self.driver = self.stack.enter_context(ready)
            self.driver.send(run)
        return Task(run, self, lock)

    def listen(self) -> None:
        """Note what has become of runs."""
        if self.driver is not None:
            self.outcomes |= self.driver.answers()


@dataclass
class Task:
    """A run on the cluster. No other process may train its seed meanwhile."""

    run: Run
    cluster: Cluster
    lock: ExitStack

    def ended(self) -> bool:
        self.cluster.listen()
        return self.run in self.cluster.outcomes

    def failure(self) -> str | None:
        outcome = self.cluster.outcomes.pop(self.run)
        if isinstance(outcome, str):
            return outcome
        with self.lock:
            try:
                if outcome is not None:
                    _refuse_other_settings(outcome)
                    store.unpack(outcome)
                store.join(self.run)
            except UserError as problem:
                return f"rlnotes: {problem}\n"
        return None

    def stop(self) -> None:
        self.lock.close()


def _refuse_other_settings(parcel: Parcel) -> None:
    run = parcel.record.run
    settings = registry.find(run.id).settings_for(run.variant, run.budget)
    if parcel.record.settings != as_json(settings):
        raise UserError(
            "the node that trained this run has other settings for it. Install the"
            " same version of this package on all nodes"
        )


@dataclass
class Driver:
    """The process that speaks with Ray, as seen from our end of the pipe."""

    pipe: "Connection[Any, Any]"
    address: str | None
    log: Path

    def send(self, message: Any) -> None:
        with self._alive():
            self.pipe.send(message)

    def receive(self) -> Any:
        with self._alive():
            return self.pipe.recv()

    def answers(self) -> dict[Run, Outcome]:
        """What has become of runs since we last asked."""
        found = {}
        while self.pipe.poll():
            run, outcome = self.receive()
            found[run] = outcome
        return found

    @contextmanager
    def _alive(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, ConnectionError) as problem:
            raise _gone(self.address, self.log.read_text(errors="replace")) from problem


@contextmanager
def driver(address: str | None, cores: int | None) -> Iterator[Driver]:
    """A process that has reached Ray, and waits for runs."""
    ours, theirs = Pipe()
    with ours, TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "driver.log"
        with theirs, log.open("wb") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "rlnotes.runs.ray_driver", str(theirs.fileno())],
                env=os.environ | {SWEEP: str(os.getpid())} | ONE_TRY,
                pass_fds=[theirs.fileno()],
                process_group=0,  # of its own: Ctrl-C is for us, who then end it
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        try:
            found = Driver(ours, address, log)
            found.send((address, cores, folder))
            reason = found.receive()
            if reason is not None:
                raise _no_cluster(address, reason)
            yield found
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """The driver stops what it has started; what is left after that is killed."""
    try:
        process.terminate()
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
