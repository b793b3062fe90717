"""Run many seeds side by side, each in a process of its own, and pick up where a killed
sweep stopped."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import IO, Any

from rlnotes.experiments import registry
from rlnotes.paths import Run
from rlnotes.progress import bar
from rlnotes.runs import store

SWEEP = "RLNOTES_SWEEP"  # in the environment of a run: the process that started it


def available_cores() -> int:
    return len(os.sched_getaffinity(0))


@dataclass
class _Child:
    process: "subprocess.Popen[bytes]"
    messages: IO[bytes]  # a file: a pipe that nobody reads would fill up and block it
    cores: int


def sweep(
    runs: list[Run], cores: int | None = None, progress: bool = True
) -> tuple[list[Run], list[Run]]:
    """Run what is not yet recorded, as many at once as `cores` hold; returns the runs
    made and failed.

    A run joins its own record when it is whole, and saves its state on the way. So a
    sweep killed at any moment loses little, and starting it again does only what is
    missing.
    """
    cores = cores or available_cores()
    runs = list(dict.fromkeys(runs))  # one process for each
    waiting = [run for run in runs if not _recorded(run)]
    made: list[Run] = []
    failed: list[Run] = []
    busy: dict[Run, _Child] = {}
    total, there = len(runs), len(runs) - len(waiting)
    shown = bar(total=total, initial=there, unit="run", show=progress)
    with _termination_as_exception():
        try:
            while waiting or busy:
                while waiting and _fits(waiting[0], busy, cores):
                    run = waiting.pop(0)
                    busy[run] = _start(run)
                    shown.set_postfix_str(f"{run.variant} seed {run.seed}")
                time.sleep(0.2)
                for run in [r for r, child in busy.items() if _ended(child)]:
                    child = busy.pop(run)
                    (failed if child.process.returncode else made).append(run)
                    if child.process.returncode:
                        said = f"failed: {run.command}\n{_said(child)}"
                        shown.write(said, file=sys.stderr)
                    child.messages.close()
                    shown.update()
        finally:
            for child in busy.values():
                child.process.kill()
                child.process.wait()
                child.messages.close()
            shown.close()
    return made, failed


def _recorded(run: Run) -> bool:
    return run.seed in store.recorded_seeds(run.id, run.variant, run.budget)


def _fits(run: Run, busy: dict[Run, _Child], cores: int) -> bool:
    """A run that needs more cores than there are still runs, alone."""
    taken = sum(child.cores for child in busy.values())
    return not busy or taken + registry.find(run.id).cores <= cores


def _start(run: Run) -> _Child:
    command = [sys.executable, "-m", *run.command.split()[2:], "--quiet"]
    messages = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the run has ended)
    process = subprocess.Popen(
        command,
        env=os.environ | {SWEEP: str(os.getpid())},
        stdout=subprocess.DEVNULL,
        stderr=messages,
    )
    return _Child(process, messages, registry.find(run.id).cores)


def die_with_sweep() -> None:
    """In the process of a run: to end with the sweep that started it, even where that
    is killed so that it cannot clean up (Linux)."""
    sweep = os.environ.get(SWEEP)
    if sweep is not None and sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != int(sweep):  # it was gone before we could say so
            raise SystemExit(1)


def _ended(child: _Child) -> bool:
    return child.process.poll() is not None


def _said(child: _Child, most: int = 4_000) -> str:
    child.messages.seek(0)
    return child.messages.read().decode(errors="replace")[-most:]


@contextmanager
def _termination_as_exception() -> Iterator[None]:
    """SIGTERM ends the sweep by way of its clean-up, as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> Any:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread: whoever started us takes care
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
