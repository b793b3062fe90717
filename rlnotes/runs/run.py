"""Run one seed of an experiment: recorded, or live in a notebook."""

import importlib.metadata
import platform
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from rlnotes import paths
from rlnotes.algos.policy import Policy
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.base import Experiment, Trial, keep_stages, kept_policies
from rlnotes.experiments.settings import as_json, full_names
from rlnotes.paths import Run
from rlnotes.progress import bar
from rlnotes.runs import resume, store
from rlnotes.runs.store import Record, Row

PACKAGES = (
    "torch",
    "gymnasium",
    "gymnasium-robotics",
    "numpy",
    "minari",
    "scipy",
    "pybullet",
    "box2d",
    "envpool",
    "ale-py",
    "mujoco",
    "stable-baselines3",
    "ray",
)
SAVE_EVERY = 300.0  # seconds


def run(
    run: Run,
    logdir: Path | None = None,
    replace: bool = False,
    progress: bool = True,
    save_every: float = SAVE_EVERY,
) -> Record:
    """Train, and keep what was measured and learnt; go on where an earlier try
    stopped."""
    experiment = registry.find(run.id)
    settings = experiment.settings_for(run.variant, run.budget)
    with store.seed_lock(run):
        seeds = store.recorded_seeds(run.id, run.variant, run.budget)
        if run.seed in seeds and not replace:
            raise UserError(f"{run} is recorded already; --replace records it anew")
        store.refuse_damage(run)
        if not store.finished(run):
            _train(run, experiment, settings, logdir, progress, save_every)
        return store.join(run, replace)


def _train(
    run: Run,
    experiment: Experiment[Any],
    settings: Any,
    logdir: Path | None,
    progress: bool,
    save_every: float,
) -> None:
    info = provenance(run) | {"settings": as_json(settings)}  # of now, not of the end
    trial = experiment.trial(settings, run.seed)
    state = run.in_flight / "state.safetensors"
    so_far = resume.Progress([], info)
    if trial.agent is not None and state.exists():
        so_far = resume.restore(state, trial, info["settings"])
    before, started = so_far.wall_seconds, time.perf_counter()
    saved = started
    for step, metrics in log_stream(trial, str(run), logdir, progress):
        so_far.rows += [(step, metric, value) for metric, value in metrics.items()]
        keep_stages(experiment.variants[run.variant], trial)
        now = time.perf_counter()
        due = now - saved >= save_every and not trial.ended
        if trial.agent is not None and due:
            so_far.wall_seconds = before + now - started
            resume.save(state, trial, so_far)
            saved = now
    seconds = round(before + time.perf_counter() - started, 1)
    spent = {
        "wall_seconds": seconds,
        "resumptions": so_far.resumptions,
        "peak_memory_mb": peak_memory_mb(),
    }
    policies = kept_policies(experiment, run.variant, trial)
    arrays = {name: torch.as_tensor(array) for name, array in trial.arrays.items()}
    store.write_seed(run, so_far.rows, so_far.info | spent, policies, arrays)
    state.unlink(missing_ok=True)  # or tidying up, interrupted, could leave it alone


@dataclass(frozen=True)
class Live:
    """What was trained just now, and is kept nowhere."""

    record: Record
    policy: Policy


def train_live(
    experiment_id: str,
    variant: str | None = None,
    seed: int = 0,
    budget: str = "ci",
    progress: bool = True,
    **overrides: Any,
) -> Live:
    """Train as `run` does, but keep the result in memory: for a notebook that shows
    learning happen. `overrides` change settings by name: `gradient_penalty=0.3`."""
    experiment = registry.find(experiment_id)
    named = Run(experiment_id, variant or experiment.main_variant, seed, budget)
    settings = experiment.settings_for(named.variant, budget)
    more = full_names(settings, overrides)
    settings = experiment.settings_for(named.variant, budget, more)
    record, trial = run_live(named, settings, progress)
    if trial.policy is None:
        raise UserError(f"{experiment_id} trains nothing")
    return Live(record, trial.policy)


def run_live(run: Run, settings: Any, progress: bool = True) -> tuple[Record, Trial]:
    """A run that is recorded in memory only."""
    trial = registry.find(run.id).trial(settings, run.seed)
    rows: list[Row] = []
    for step, metrics in log_stream(trial, str(run), progress=progress):
        rows += [(step, metric, value) for metric, value in metrics.items()]
    return Record(run, {"settings": as_json(settings)}, tuple(rows)), trial


def log_stream(
    trial: Trial, name: str, logdir: Path | None = None, progress: bool = True
) -> Iterator[tuple[int, dict[str, float]]]:
    """Pass a trial's stream on, feeding a progress bar (where somebody can see it) and,
    if wanted, TensorBoard."""
    with (
        bar(total=trial.steps, desc=name, show=progress) as shown,
        _tensorboard(logdir, name) as board,
    ):
        for step, metrics in trial.stream:
            shown.update(step - shown.n)
            if "return" in metrics:
                shown.set_postfix_str(f"return {metrics['return']:.0f}")
            for metric, value in metrics.items() if board is not None else ():
                board.add_scalar(metric, value, step)
            yield step, metrics


def _tensorboard(logdir: Path | None, name: str) -> Any:
    if logdir is None:
        return nullcontext()
    from torch.utils.tensorboard import SummaryWriter  # slow to import, rarely wanted

    folder = logdir / name.replace(" seed ", "/seed-").replace(" ", "/")
    with store.writing(folder):
        return SummaryWriter(str(folder))


def provenance(run: Run) -> dict[str, Any]:
    return {
        "command": run.command,
        "revision": _revision(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "cpu": _cpu(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def peak_memory_mb() -> int:
    """The most that this process has held, and the largest of those it started."""
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(resource.getrusage(one).ru_maxrss for one in who) // 1024


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _revision() -> str:
    """Of the code that runs, wherever its records go."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=paths.PACKAGE,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", ".")
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
