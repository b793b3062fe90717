"""Run an experiment and record it; run many, two at a time, and pick up where a killed sweep stopped."""

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rlnotes import paths
from rlnotes.algos.policy import Policy
from rlnotes.evidence import records
from rlnotes.evidence.records import Row, Run
from rlnotes.experiments import registry
from rlnotes.experiments.base import Trial

PACKAGES = (
    "torch",
    "gymnasium",
    "gymnasium-robotics",
    "numpy",
    "minari",
    "scipy",
    "pybullet",
    "mujoco",
    "stable-baselines3",
)


def run(run: Run, logdir: Path | None = None, replace: bool = False, progress: bool = True) -> records.Record:
    """Train, save the policy, write the record. The record comes last: where it is, all is there."""
    experiment = registry.find(run.id)
    settings = experiment.settings_for(run.variant, run.budget)
    if run.folder.exists() and not replace:
        raise records.UserError(f"{run.folder}: this run is recorded already; --replace records it anew")
    started = time.perf_counter()
    trial = experiment.start(settings, run.seed)
    rows = list(watch(trial, f"{run.id} {run.variant} seed-{run.seed}", logdir, progress))
    if trial.policy is not None:
        trial.policy.save(run.checkpoint)
    info = provenance(run) | {"settings": settings, "wall_seconds": round(time.perf_counter() - started, 1)}
    records.write(run, rows, info, replace)
    return records.read(run)


def live(run: Run, progress: bool = True) -> tuple[records.Record, Policy]:
    """Train as `run` does, but keep the result in memory: for a notebook that shows learning happen."""
    settings = registry.find(run.id).settings_for(run.variant, run.budget)
    trial = registry.find(run.id).start(settings, run.seed)
    rows = tuple(watch(trial, f"{run.id} {run.variant}", progress=progress))
    assert trial.policy is not None, f"{run.id} trains nothing"
    return records.Record(run, {"settings": settings}, rows), trial.policy


def watch(trial: Trial, name: str, logdir: Path | None = None, progress: bool = True) -> Iterator[Row]:
    """Consume a trial's stream into rows, feeding a progress bar and, if wanted, TensorBoard."""
    with tqdm(total=trial.steps, desc=name, disable=not progress) as bar, _tensorboard(logdir, name) as board:
        for step, metrics in trial.stream:
            bar.update(step - bar.n)
            if "return" in metrics:
                bar.set_postfix_str(f"return {metrics['return']:.0f}")
            for metric, value in metrics.items():
                if board is not None:
                    board.add_scalar(metric, value, step)
                yield step, metric, value


def _tensorboard(logdir: Path | None, name: str) -> Any:
    if logdir is None:
        return nullcontext()
    from torch.utils.tensorboard import SummaryWriter  # slow to import, and rarely wanted

    return SummaryWriter(str(logdir / name.replace(" ", "/")))


def provenance(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "variant": run.variant,
        "seed": run.seed,
        "budget": run.budget,
        "command": run.command,
        "revision": _revision(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "cpu": _cpu(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _revision() -> str:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=paths.root(), capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "rlnotes")
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def sweep(runs: list[Run], jobs: int = 2, progress: bool = True) -> tuple[list[Run], list[Run]]:
    """Run what is not yet recorded, each in a process of its own; returns the runs made and failed.

    A run writes its own record when it is whole, so a sweep killed at any moment loses at most the
    runs in flight, and starting it again does only what is missing.
    """
    waiting = [run for run in runs if not run.folder.exists()]
    made: list[Run] = []
    failed: list[Run] = []
    busy: dict[Run, subprocess.Popen[str]] = {}
    bar = tqdm(total=len(runs), initial=len(runs) - len(waiting), unit="run", disable=not progress)
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                run = waiting.pop(0)
                busy[run] = _start(run)
                bar.set_postfix_str(f"{run.variant} seed {run.seed}")
            time.sleep(0.2)
            for run in [run for run, process in busy.items() if process.poll() is not None]:
                process = busy.pop(run)
                (made if process.returncode == 0 else failed).append(run)
                if process.returncode != 0:
                    tqdm.write(f"failed: {run.command}\n{process.communicate()[1]}", file=sys.stderr)
                bar.update()
    finally:
        for process in busy.values():
            process.kill()
        bar.close()
    return made, failed


def _start(run: Run) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", *run.command.split()[2:], "--quiet"]
    return subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
