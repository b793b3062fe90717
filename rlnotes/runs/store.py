"""Run records: what training runs measured, and all that is needed to run them again.

A variant has three files with all of its seeds: a CSV (seed, step, metric, value), a
JSON (per seed: settings and provenance) and, where something is trained, a safetensors
file of policies. The JSON carries the checksums of the other two and one of its own, so
a changed digit, setting or weight is noticed.

A seed is first written aside and then joined to its variant under a lock. Joining
writes the new CSV and policies beside the old ones and puts them in force by replacing
the JSON in one step: at every moment the JSON and the files that it names are there.
"""

import csv
import fcntl
import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
from torch import Tensor

from rlnotes.algos.policy import Policy, in_order, save_policies
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.base import keeps_all_policies
from rlnotes.paths import Run

Row = tuple[int, str, float]

FORMAT = "rlnotes-record-2"
HEADINGS = ["seed", "step", "metric", "value"]
DAMAGES = (OSError, ValueError, KeyError, TypeError, AttributeError)


@dataclass(frozen=True)
class Record:
    """What one seed left behind."""

    run: Run
    info: dict[str, Any]
    rows: tuple[Row, ...]

    def curve(self, metric: str) -> list[tuple[int, float]]:
        found = [(step, value) for step, name, value in self.rows if name == metric]
        if not found:
            names = sorted({name for _, name, _ in self.rows})
            raise UserError(
                f"{self.run} has no metric '{metric}'. Recorded: {', '.join(names)}"
            )
        return found

    def last(self, metric: str) -> float:
        return self.curve(metric)[-1][1]

    def best(self, metric: str) -> float:
        return max(value for _, value in self.curve(metric))

    @property
    def settings(self) -> dict[str, Any]:
        return self.info["settings"]

    @property
    def minutes(self) -> float:
        """NaN for the few whose time was not kept."""
        seconds = self.info["wall_seconds"]
        return float("nan") if seconds is None else seconds / 60

    @property
    def steps_per_second(self) -> float:
        """In the world, or updates where there is none; evaluations included."""
        return self.rows[-1][0] / (60 * self.minutes)

    @property
    def peak_memory_mb(self) -> float:
        """NaN for those who did not keep it."""
        return float(self.info.get("peak_memory_mb", "nan"))


@dataclass(frozen=True)
class Variant:
    """All seeds of a variant, as its files have them."""

    infos: dict[int, dict[str, Any]]
    rows: dict[int, tuple[Row, ...]]
    checkpoint_sha256: str | None = None

    def record(self, run: Run) -> Record:
        return Record(run, self.infos[run.seed], self.rows[run.seed])


# --- reading


def read(run: Run) -> Record:
    """The record, or a clear error naming the file and the command that makes it."""
    found = _read_variant(run)
    if found is None or run.seed not in found.infos:
        raise UserError(f"{run.json}: no record of {run}. Make it with: {run.command}")
    return found.record(run)


def read_all(experiment_id: str, variant: str, budget: str = "full") -> list[Record]:
    """All recorded seeds of a variant; where there are none, how to make them."""
    first = Run(experiment_id, variant, 0, budget)
    found = _read_variant(first)
    if found is None:
        raise UserError(f"{first.json}: no such record. Make it with: {first.command}")
    runs = [Run(experiment_id, variant, seed, budget) for seed in found.infos]
    return [found.record(run) for run in runs]


def recorded_seeds(experiment_id: str, variant: str, budget: str = "full") -> list[int]:
    found = _read_variant(Run(experiment_id, variant, 0, budget))
    return [] if found is None else list(found.infos)


def finals(
    experiment_id: str, variant: str, metric: str = "final_return"
) -> list[float]:
    """The last value of `metric`, one per recorded training seed."""
    return [record.last(metric) for record in read_all(experiment_id, variant)]


def arrays(run: Run) -> dict[str, np.ndarray]:
    """What a run kept besides numbers, such as maps."""
    checkpoint = verified_checkpoint(run)
    prefix = f"seed-{run.seed}/arrays/"
    with safetensors.safe_open(checkpoint, framework="numpy") as file:
        names = [name for name in list(file.keys()) if name.startswith(prefix)]
        return {name.removeprefix(prefix): file.get_tensor(name) for name in names}


def verified_checkpoint(run: Run) -> Path:
    """The file of the variant's policies, if it is the one that its record names."""
    found = _read_variant(run)
    if found is None or found.checkpoint_sha256 is None:
        raise UserError(
            f"{run.checkpoint}: no such checkpoint. Make it with: {run.command}"
        )
    path = _in_force(run.checkpoint, found.checkpoint_sha256)
    if path is None:
        lost = "lost" if not run.checkpoint.exists() else "damaged"
        reason = f"{lost} checkpoint (it is not the file that {run.json.name} names)"
        raise _damaged(run.checkpoint, reason, run)
    return path


def refuse_damage(run: Run) -> None:
    """Before hours of training: whether its result could be joined at all."""
    found = _read_variant(run)
    if found is not None and found.checkpoint_sha256 is not None:
        verified_checkpoint(run)


def _read_variant(run: Run) -> Variant | None:
    first = Run(run.id, run.variant, 0, run.budget)
    stamps = _stamp(run.json), _stamp(run.csv)
    while stamps[0] is not None:
        try:
            return _parsed(first, run.json, stamps)
        except UserError:
            before, stamps = stamps, (_stamp(run.json), _stamp(run.csv))
            if stamps == before:  # else somebody joined a seed between two reads
                raise
    return None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Another one whenever the file is replaced or changed."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise UserError(f"{path}: cannot be read ({problem})") from problem
    return found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=512)
def _parsed(run: Run, path: Path, stamps: tuple[Any, Any]) -> Variant:
    """Read and checked once for each time that the files were written."""
    try:
        kept = json.loads(path.read_text())
        if kept["format"] != FORMAT:
            raise ValueError(f"its format is {kept['format']!r}, not {FORMAT!r}")
        named = " ".join((kept["id"], kept["variant"], kept["budget"]))
        if named != run.owner:
            raise ValueError(f"it belongs to {named}")
        if kept["sha256"] != _own_sha256(kept):
            raise ValueError("it does not match its own checksum")
        csv_path = _in_force(run.csv, kept["csv_sha256"])
        if csv_path is None:
            raise ValueError(f"{run.csv.name} does not match its checksum")
        infos = {int(seed): info for seed, info in kept["seeds"].items()}
        rows = _rows(csv_path.read_text(), infos)
        return Variant(infos, rows, kept["checkpoint_sha256"])
    except DAMAGES as problem:
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise _damaged(path, f"damaged record ({reason})", run) from problem


def _damaged(path: Path, what: str, run: Run) -> UserError:
    return UserError(
        f"{path}: {what}. Bring back the file as it was, or remove the variant's files"
        f" and make them again: python -m rlnotes sweep {run.id} --variant"
        f" {run.variant} --budget {run.budget}"
    )


def _rows(text: str, seeds: Iterable[int]) -> dict[int, tuple[Row, ...]]:
    rows: dict[int, list[Row]] = {seed: [] for seed in seeds}
    lines = csv.reader(io.StringIO(text))
    if next(lines) != HEADINGS:
        raise ValueError("the CSV has other columns")
    for seed, step, metric, value in lines:
        rows[int(seed)].append((int(step), metric, float(value)))
    return {seed: tuple(found) for seed, found in rows.items()}


def _in_force(path: Path, sha256: str) -> Path | None:
    """`path`, or the next one if writing was interrupted between the JSON and it."""
    for candidate in (path, _next(path)):
        if candidate.exists() and _sha256(candidate.read_bytes()) == sha256:
            return candidate
    return None


def _next(path: Path) -> Path:
    return path.with_name(f".{path.name}.next")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _own_sha256(kept: dict[str, Any]) -> str:
    rest = {name: value for name, value in kept.items() if name != "sha256"}
    return _sha256(json.dumps(rest, sort_keys=True).encode())


# --- writing


def write_seed(
    run: Run,
    rows: Sequence[Row],
    info: dict[str, Any],
    policies: dict[str, Policy],
    arrays: dict[str, Tensor],
) -> None:
    """Put a finished seed aside, whole or not at all, to be joined."""
    with _aside(run, rows, info) as path:
        if policies or arrays:
            named = {f"seed-{run.seed}/{name}": p for name, p in policies.items()}
            save_policies(path, named, run.owner)
            if arrays:
                prefix = f"seed-{run.seed}/arrays"
                _add_tensors(
                    path,
                    {f"{prefix}/{name}": tensor for name, tensor in arrays.items()},
                )


@contextmanager
def _aside(run: Run, rows: Sequence[Row], info: dict[str, Any]) -> Iterator[Path]:
    """Write a seed's files; where its policies go is for the caller to fill."""
    folder = run.in_flight
    with writing(folder):
        _replace_with(folder / "metrics.csv", _csv_text({run.seed: rows}).encode())
        yield folder / "policies.safetensors"
        text = json.dumps(info, indent=2, allow_nan=False)
        _replace_with(folder / "run.json", text.encode())  # last: now it is whole


@dataclass(frozen=True)
class Parcel:
    """A seed as data, on its way from the home where it was trained to another."""

    record: Record
    policies: bytes | None


def pack(run: Run) -> Parcel:
    """A seed that is alone in its variant."""
    found = _read_variant(run)
    trained = found is not None and found.checkpoint_sha256 is not None
    return Parcel(read(run), verified_checkpoint(run).read_bytes() if trained else None)


def unpack(parcel: Parcel) -> None:
    """Put the seed aside, to be joined."""
    record = parcel.record
    with _aside(record.run, record.rows, record.info) as path:
        if parcel.policies is not None:
            _replace_with(path, parcel.policies)


def finished(run: Run) -> bool:
    """Whether this seed lies aside, whole, because joining it was interrupted. If only
    the tidying up was, that is made good."""
    aside = run.in_flight / "run.json"
    if not aside.exists():
        return False
    found = _read_variant(run)
    recorded = None if found is None else found.infos.get(run.seed)
    if recorded != json.loads(aside.read_text()):
        return True
    shutil.rmtree(run.in_flight)
    return False


def join(run: Run, replace: bool = False) -> Record:
    """Move a seed that lies aside into its variant's files."""
    folder = run.in_flight
    info = json.loads((folder / "run.json").read_text())
    new_rows = _rows((folder / "metrics.csv").read_text(), [run.seed])[run.seed]
    with variant_lock(run):
        there = _read_variant(run) or Variant({}, {})
        if run.seed in there.infos and not replace:
            raise UserError(f"{run} is recorded already; --replace records it anew")
        _finish_interrupted(run, there)
        infos = dict(sorted({**there.infos, run.seed: info}.items()))
        rows = {seed: {**there.rows, run.seed: new_rows}[seed] for seed in infos}
        tensors, header = _joined_policies(run, folder, there, infos, rows)
        write_variant(run, infos, rows, tensors, header)
    shutil.rmtree(folder, ignore_errors=True)
    return read(run)


def write_variant(
    run: Run,
    infos: dict[int, dict[str, Any]],
    rows: dict[int, tuple[Row, ...]],
    tensors: dict[str, Tensor],
    header: dict[str, str],
) -> None:
    """Replace a variant's files. Until the JSON is replaced, the old ones are in
    force."""
    content = _csv_text(rows).encode()
    weights = None
    if tensors:  # sorted, so that the order in which seeds were joined does not matter
        weights = in_order(safetensors.torch.save(tensors, header))
    kept: dict[str, Any] = {
        "format": FORMAT,
        "id": run.id,
        "variant": run.variant,
        "budget": run.budget,
        "csv_sha256": _sha256(content),
        "checkpoint_sha256": None if weights is None else _sha256(weights),
        "seeds": {str(seed): info for seed, info in infos.items()},
    }
    kept["sha256"] = _own_sha256(kept)
    with writing(run.json.parent):
        _replace_with(_next(run.csv), content)
        if weights is not None:
            run.checkpoint.parent.mkdir(parents=True, exist_ok=True)
            _replace_with(_next(run.checkpoint), weights)
        text = json.dumps(kept, indent=1, allow_nan=False) + "\n"
        _replace_with(run.json, text.encode())
        os.replace(_next(run.csv), run.csv)
        if weights is not None:
            os.replace(_next(run.checkpoint), run.checkpoint)


def _finish_interrupted(run: Run, there: Variant) -> None:
    """A join that died after its JSON was in force left files to be renamed."""
    if not run.json.exists():
        return
    sha256 = {
        run.csv: json.loads(run.json.read_text())["csv_sha256"],
        run.checkpoint: there.checkpoint_sha256,
    }
    for path, expected in sha256.items():
        if expected is not None and _in_force(path, expected) == _next(path):
            os.replace(_next(path), path)


def _joined_policies(
    run: Run,
    folder: Path,
    there: Variant,
    infos: dict[int, Any],
    rows: dict[int, tuple[Row, ...]],
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of all seeds; of a variant that is complete and that no chapter
    replays, only those of the median seed."""
    tensors: dict[str, Tensor] = {}
    header: dict[str, str] = {}
    if there.checkpoint_sha256 is not None:
        tensors, header = _content(verified_checkpoint(run))
        stale = f"seed-{run.seed}/"
        tensors = {n: x for n, x in tensors.items() if not _of_seed(n, stale)}
        header = {n: x for n, x in header.items() if not _of_seed(n, stale)}
    new = folder / "policies.safetensors"
    if new.exists():
        more_tensors, more_header = _content(new)
        tensors, header = tensors | more_tensors, header | more_header
    experiment = registry.find(run.id)
    complete = len(infos) >= experiment.seeds_for(run.variant)
    if (
        run.budget == "full"
        and tensors
        and complete
        and not keeps_all_policies(experiment, run.variant)
    ):
        records = [
            Record(Run(run.id, run.variant, s, run.budget), {}, rows[s]) for s in infos
        ]
        median = f"seed-{median_of(records, experiment.metric).run.seed}/"
        if any(name.startswith(median) for name in tensors):
            return only(median, tensors, header)
    return tensors, header


def only(
    prefix: str, tensors: dict[str, Tensor], header: dict[str, str]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """What belongs to one seed, and what the file says of itself."""
    kept = {name: x for name, x in tensors.items() if _of_seed(name, prefix)}
    own = {n: x for n, x in header.items() if "/" not in n or _of_seed(n, prefix)}
    return kept, own


def _of_seed(name: str, prefix: str) -> bool:
    """`seed-1/last/net.0.weight` among the tensors, `policy/seed-1/last` in the
    header."""
    return f"/{prefix}" in f"/{name}"


def _content(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with safetensors.safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        return tensors, file.metadata() or {}


def median_of(records: Sequence[Record], metric: str) -> Record:
    """The median training seed's (the lower one of two): neither best nor worst."""
    ranked = sorted(records, key=lambda record: record.last(metric))
    return ranked[(len(ranked) - 1) // 2]


def _csv_text(rows: dict[int, Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADINGS)
    for seed, found in rows.items():
        writer.writerows(
            (seed, step, name, repr(float(x)))  # NumPy's repr names its type
            for step, name, x in found
        )
    return text.getvalue()


def _add_tensors(path: Path, more: dict[str, Tensor]) -> None:
    there, header = _content(path)
    _replace_with(path, safetensors.torch.save(there | more, header))


def _replace_with(path: Path, content: bytes) -> None:
    """The old file or the whole new one, also after a power cut."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """A full or read-only disk is one sentence, and what was there before still is."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as problem:
        raise UserError(
            f"{folder}: cannot be written ({problem.strerror or problem}). What was"
            " there before is unchanged; make room, or mend the folder, and run again"
        ) from problem


@contextmanager
def variant_lock(run: Run) -> Iterator[None]:
    """Only one process at a time changes the files of a variant."""
    with locked(run.in_flight.parent / ".join.lock"):
        yield


@contextmanager
def seed_lock(run: Run) -> Iterator[None]:
    """Only one process at a time trains a seed; the lock dies with its process."""
    path = run.in_flight.with_name(f".{run.in_flight.name}.lock")
    try:
        with locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            yield
    except BlockingIOError as problem:
        raise UserError(
            f"{run} is being trained by another process; wait for it, or stop it"
        ) from problem


@contextmanager
def locked(path: Path, how: int = fcntl.LOCK_EX) -> Iterator[None]:
    with writing(path.parent):
        file = path.open("w")
    with file:
        fcntl.flock(file, how)
        yield
