"""The index of symptoms: from what an agent's owner complains of to what it may be.

It is made of the doctor's checks, which are the autopsies' diagnostics.
"""

from collections.abc import Collection
from dataclasses import dataclass

from rlnotes.doctor.checks import CHECKS


@dataclass(frozen=True)
class Suspicion:
    """What may be behind a symptom, and the section of the book that shows it."""

    title: str
    chapter: str
    anchor: str


def index(chapters: Collection[str]) -> dict[str, list[Suspicion]]:
    """By symptom, in the order of the checks: causes before what follows from them. Of
    chapters that are written."""
    found: dict[str, list[Suspicion]] = {}
    for check in CHECKS.values():
        chapter, _, anchor = check.section.partition("#")
        if chapter in chapters:
            suspicion = Suspicion(check.title, chapter, anchor)
            found.setdefault(check.symptom, []).append(suspicion)
    return found
