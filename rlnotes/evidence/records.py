"""Run records: what a training run measured, and everything needed to run it again.

A record is a folder `<id>/<variant>/seed-<n>/` with `metrics.csv` (step, metric, value) and `run.json`
(settings, provenance, a checksum of the CSV). It is written aside and renamed into place, so it is
there whole or not at all; a reader checks it before use.
"""

import csv
import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlnotes import paths
from rlnotes.errors import UserError
from rlnotes.experiments.base import Settings

Row = tuple[int, str, float]


@dataclass(frozen=True)
class Run:
    """Names one run: where its record and its checkpoint are."""

    id: str
    variant: str
    seed: int
    budget: str = "full"

    @property
    def folder(self) -> Path:
        return paths.runs(self.budget) / self.id / self.variant / f"seed-{self.seed}"

    @property
    def checkpoint(self) -> Path:
        return paths.checkpoints(self.budget) / self.id / self.variant / f"seed-{self.seed}.safetensors"

    @property
    def command(self) -> str:
        return f"python -m rlnotes run {self.id} --variant {self.variant} --seed {self.seed} --budget {self.budget}"


@dataclass(frozen=True)
class Record:
    run: Run
    info: dict[str, Any]
    rows: tuple[Row, ...]

    def curve(self, metric: str) -> list[tuple[int, float]]:
        return [(step, value) for step, name, value in self.rows if name == metric]

    def last(self, metric: str) -> float:
        return self.curve(metric)[-1][1]

    def best(self, metric: str) -> float:
        return max(value for _, value in self.curve(metric))

    @property
    def settings(self) -> Settings:
        return self.info["settings"]

    @property
    def minutes(self) -> float:
        return self.info["wall_seconds"] / 60


def write(run: Run, rows: Iterable[Row], info: dict[str, Any], replace: bool = False) -> None:
    """Put the record in place in one rename. An existing record is kept unless `replace` is given."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["step", "metric", "value"])
    writer.writerows((step, metric, repr(value)) for step, metric, value in rows)
    content = text.getvalue().encode()

    run.folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".partial-", dir=run.folder.parent))
    try:
        (aside / "metrics.csv").write_bytes(content)
        info = info | {"metrics_sha256": hashlib.sha256(content).hexdigest()}
        (aside / "run.json").write_text(json.dumps(info, indent=2) + "\n")
        aside.chmod(0o755)
        if replace and run.folder.exists():
            os.rename(run.folder, aside / "replaced")
        try:
            os.rename(aside, run.folder)
        except OSError as problem:
            raise UserError(f"{run.folder}: this run is recorded already; --replace records it anew") from problem
        shutil.rmtree(run.folder / "replaced", ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def read(run: Run) -> Record:
    """The record, or a clear error naming the file and the command that makes it."""
    if not run.folder.exists():
        raise UserError(f"{run.folder}: no such record. Make it with: {run.command}")
    try:
        info = json.loads((run.folder / "run.json").read_text())
        content = (run.folder / "metrics.csv").read_bytes()
        if hashlib.sha256(content).hexdigest() != info["metrics_sha256"]:
            raise ValueError("metrics.csv does not match its checksum in run.json")
        named = (info["id"], info["variant"], info["seed"], info["budget"])
        if named != (run.id, run.variant, run.seed, run.budget):
            raise ValueError(f"run.json belongs to another run: {named}")
        lines = list(csv.reader(io.StringIO(content.decode())))
        rows = tuple((int(step), metric, float(value)) for step, metric, value in lines[1:])
    except (OSError, ValueError, KeyError) as problem:
        raise UserError(
            f"{run.folder}: damaged record ({problem}). Make it again with: {run.command} --replace"
        ) from problem
    return Record(run, info, rows)


def recorded_seeds(experiment_id: str, variant: str, budget: str = "full") -> list[int]:
    folder = paths.runs(budget) / experiment_id / variant
    return sorted(int(path.name.removeprefix("seed-")) for path in folder.glob("seed-*"))


def read_all(experiment_id: str, variant: str, budget: str = "full") -> list[Record]:
    """All recorded seeds of a variant; an error that says how to make them if there are none."""
    seeds = recorded_seeds(experiment_id, variant, budget)
    if not seeds:
        read(Run(experiment_id, variant, 0, budget))
    return [read(Run(experiment_id, variant, seed, budget)) for seed in seeds]


def finals(experiment_id: str, variant: str, metric: str = "final_return") -> list[float]:
    """The last value of `metric`, one per recorded training seed."""
    return [record.last(metric) for record in read_all(experiment_id, variant)]
