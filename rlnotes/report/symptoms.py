"""The index of symptoms: from what an agent's owner complains of to what it may be.

It is made of the doctor's checks, which are the autopsies' diagnostics.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rlnotes.doctor.checks import CHECKS


class Words(NamedTuple):
    """Of a check, in some language."""

    symptom: str
    title: str


ENGLISH = {name: Words(check.symptom, check.title) for name, check in CHECKS.items()}


@dataclass(frozen=True)
class Suspicion:
    """What may be behind a symptom, and the section of the book that shows it."""

    title: str
    chapter: str
    anchor: str


def index(
    chapters: Collection[str], words: Mapping[str, Words] = ENGLISH
) -> dict[str, list[Suspicion]]:
    """By symptom, in the order of the checks: causes before what follows from them. Of
    chapters that are written."""
    found: dict[str, list[Suspicion]] = {}
    for name, check in CHECKS.items():
        chapter, _, anchor = check.section.partition("#")
        if chapter in chapters:
            symptom, title = words[name]
            found.setdefault(symptom, []).append(Suspicion(title, chapter, anchor))
    return found
