"""Where the project keeps its files, and what a run is called.

`RLNOTES_HOME` moves all of it, which the tests use.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from rlnotes.errors import UserError

PACKAGE = Path(__file__).resolve().parent
LARGEST_SEED = 2**32 - 1  # what NumPy, torch and Gymnasium all take


def root() -> Path:
    return Path(os.environ.get("RLNOTES_HOME", PACKAGE.parent))


def results(budget: str) -> Path:
    """Run records: `full` ones are the book's evidence, all others are local."""
    return _kept(budget) / "results"


def checkpoints(budget: str) -> Path:
    """Trained policies, beside the records of the runs that left them behind."""
    return _kept(budget) / "checkpoints"


def in_flight(budget: str) -> Path:
    """Seeds that are being trained, or wait to be joined to their variant's record."""
    return root() / "_runs" / budget / "in-flight"


def _kept(budget: str) -> Path:
    return root() / "book" if budget == "full" else root() / "_runs" / budget


@dataclass(frozen=True)
class Run:
    """Names one training run. Its record and its policy are kept with those of the
    variant's other seeds: one CSV, one JSON and one safetensors file."""

    id: str
    variant: str
    seed: int
    budget: str = "full"

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LARGEST_SEED:
            raise UserError(
                f"a training seed is a number from 0 to {LARGEST_SEED}, not {self.seed}"
            )

    def __str__(self) -> str:
        return f"{self.id} {self.variant} seed {self.seed}"

    @property
    def owner(self) -> str:
        """Whom the files of the variant belong to, as they say themselves."""
        return f"{self.id} {self.variant} {self.budget}"

    @property
    def csv(self) -> Path:
        return results(self.budget) / self.id / f"{self.variant}.csv"

    @property
    def json(self) -> Path:
        return results(self.budget) / self.id / f"{self.variant}.json"

    @property
    def checkpoint(self) -> Path:
        name = f"{self.variant}.safetensors"
        return checkpoints(self.budget) / self.id / name

    @property
    def in_flight(self) -> Path:
        """The folder of this seed alone, until it is joined."""
        return in_flight(self.budget) / self.id / self.variant / f"seed-{self.seed}"

    @property
    def command(self) -> str:
        return (
            f"python -m rlnotes run {self.id} --variant {self.variant}"
            f" --seed {self.seed} --budget {self.budget}"
        )
