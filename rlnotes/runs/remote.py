"""What a node of a cluster does for a sweep: train a run in a home of its own, and hand
what it left behind back as data.

A node needs this package, and nothing else. Recorded policies come with the run; a
dataset that is not there is made by its recipe, once for the node.
"""

import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from rlnotes import paths
from rlnotes.data import datasets
from rlnotes.experiments import recipes, registry
from rlnotes.paths import Run
from rlnotes.runs import store
from rlnotes.runs.store import Parcel
from rlnotes.runs.sweep import Process, words


def train(
    run: Run,
    checkpoints: dict[str, bytes],
    environment: dict[str, str],
    folder: str | None,
) -> Parcel | str:
    """The record, or what the run said when it failed. Raises where the node is to
    blame: then it is worth another try."""
    with _home_in(folder):
        environment = environment | {"PYTHONPATH": _python_path()}
        for name, content in checkpoints.items():
            path = paths.checkpoints("full") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        said = _make_dataset(run, environment) or _failure(words(run), environment)
        if said is not None:
            return f"on {platform.node()}: {said}"
        return store.pack(run)


def recorded_policies() -> dict[str, bytes]:
    """All that a run may ask for, by the names of their files."""
    folder = paths.checkpoints("full")
    files = folder.rglob("*.safetensors")
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@contextmanager
def _home_in(folder: str | None) -> Iterator[None]:
    before = os.environ.get("RLNOTES_HOME")
    try:
        with tempfile.TemporaryDirectory(prefix="rlnotes-", dir=folder) as home:
            os.environ["RLNOTES_HOME"] = home
            yield
    finally:
        os.environ.pop("RLNOTES_HOME")
        if before is not None:
            os.environ["RLNOTES_HOME"] = before


def _python_path() -> str:
    """So that it is this copy of the package that trains."""
    before = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join(filter(None, [str(paths.PACKAGE.parent), before]))


def _make_dataset(run: Run, environment: dict[str, str]) -> str | None:
    settings = registry.find(run.id).settings_for(run.variant, run.budget)
    needed = getattr(settings, "dataset", None)
    if needed not in recipes.RECIPES:
        return None
    with store.locked(datasets.path("") / ".making.lock"):  # by one run of the node
        if datasets.path(needed).exists():
            return None
        return _failure(["data", needed], environment)


def _failure(command: list[str], environment: dict[str, str]) -> str | None:
    """What the command said, if it failed."""
    process = Process(command, **environment)
    try:
        process.process.wait()
        said = process.failure()
    finally:
        process.stop()
    if process.process.returncode < 0:
        raise RuntimeError(f"killed on {platform.node()}: {' '.join(command)}")
    return said
