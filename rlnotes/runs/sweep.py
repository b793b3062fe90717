"""Run many seeds side by side, each in a process of its own, and pick up where a killed
sweep stopped. The processes are on this machine, or wherever `cluster` starts them."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from rlnotes.experiments import registry
from rlnotes.paths import Run
from rlnotes.progress import bar
from rlnotes.runs import store

SWEEP = "RLNOTES_SWEEP"  # in the environment of a run: the process that started it
LONGEST_MESSAGE = 4_000  # characters


def available_cores() -> int:
    return len(os.sched_getaffinity(0))


class Job(Protocol):
    """A run that was started somewhere."""

    def ended(self) -> bool: ...

    def failure(self) -> str | None:
        """Of one that has ended: what it said, if it failed. Asked once."""

    def stop(self) -> None: ...


class Process:
    """A command of this package in a process that ends with ours (`die_with_sweep`)."""

    def __init__(self, words: list[str], **environment: str) -> None:
        # A file: a pipe that nobody reads would fill up and block it.
        self.messages = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it ended)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rlnotes", *words],
            env=os.environ | {SWEEP: str(os.getpid())} | environment,
            stdout=subprocess.DEVNULL,
            stderr=self.messages,
        )

    def ended(self) -> bool:
        return self.process.poll() is not None

    def failure(self) -> str | None:
        self.messages.seek(0)
        said = self.messages.read().decode(errors="replace")
        self.messages.close()
        return said[-LONGEST_MESSAGE:] if self.process.returncode else None

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.messages.close()


def words(run: Run) -> list[str]:
    """The command of a run, after `python -m rlnotes`."""
    return [*run.command.split()[3:], "--quiet"]


def start(run: Run) -> Process:
    return Process(words(run))


def sweep(
    runs: list[Run],
    cores: float | None = None,
    progress: bool = True,
    start: Callable[[Run], Job] = start,
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
    busy: dict[Run, Job] = {}
    total, there = len(runs), len(runs) - len(waiting)
    shown = bar(total=total, initial=there, unit="run", show=progress)
    with termination_as_exception():
        try:
            while waiting or busy:
                while waiting and _fits(waiting[0], busy, cores):
                    run = waiting.pop(0)
                    busy[run] = start(run)
                    shown.set_postfix_str(f"{run.variant} seed {run.seed}")
                time.sleep(0.2)
                for run in [run for run, job in busy.items() if job.ended()]:
                    said = busy.pop(run).failure()
                    (made if said is None else failed).append(run)
                    if said is not None:
                        shown.write(f"failed: {run.command}\n{said}", file=sys.stderr)
                    shown.update()
        finally:
            for job in busy.values():
                job.stop()
            shown.close()
    return made, failed


def _recorded(run: Run) -> bool:
    return run.seed in store.recorded_seeds(run.id, run.variant, run.budget)


def _fits(run: Run, busy: Iterable[Run], cores: float) -> bool:
    """A run that needs more cores than there are still runs, alone."""
    taken = sum(registry.find(other.id).cores for other in busy)
    return not taken or taken + registry.find(run.id).cores <= cores


def die_with_sweep(by: signal.Signals = signal.SIGKILL) -> None:
    """In a process of a sweep: to end with the one that started it, even where that is
    killed so that it cannot clean up (Linux)."""
    sweep = os.environ.get(SWEEP)
    if sweep is not None and sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, by)  # PR_SET_PDEATHSIG
        if os.getppid() != int(sweep):  # it was gone before we could say so
            raise SystemExit(1)


@contextmanager
def termination_as_exception() -> Iterator[None]:
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
