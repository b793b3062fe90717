"""Where the project keeps its files. `RLNOTES_HOME` moves all of it, which the tests use."""

import os
from pathlib import Path


def root() -> Path:
    return Path(os.environ.get("RLNOTES_HOME", Path(__file__).resolve().parents[1]))


def runs(budget: str) -> Path:
    """Run records: `full` runs are the book's evidence, all others are local and not committed."""
    return root() / "book" / "results" if budget == "full" else root() / "_runs" / budget / "results"


def checkpoints(budget: str) -> Path:
    """Trained policies, beside the records of the runs that wrote them."""
    return root() / "book" / "checkpoints" if budget == "full" else root() / "_runs" / budget / "checkpoints"
