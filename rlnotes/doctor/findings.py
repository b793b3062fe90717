"""What an examination says: findings in the order of their rank, what was quiet, and
what could not be examined and why."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

WIDTH = 88  # of a line in a terminal and on a page


@dataclass(frozen=True)
class Sign:
    """What one check saw: whether it fires, the number that it went by, the number that
    this must not pass, and both in a sentence."""

    fires: bool
    measured: float
    bound: float
    evidence: str


@dataclass(frozen=True)
class Finding:
    """A check that fired, and what to do."""

    check: str
    title: str
    evidence: str
    remedy: str
    read: str  # the section of the book
    measured: float
    bound: float

    def lines(self, number: int) -> list[str]:
        said = {"seen:": self.evidence, "do:": self.remedy, "read:": self.read}
        wrapped = (
            textwrap.wrap(
                text,
                WIDTH,
                initial_indent=f"   {name:6}",
                subsequent_indent=9 * " ",
                break_on_hyphens=False,
            )
            for name, text in said.items()
        )
        title = f"{number}. {self.title}  [{self.check}]"
        return [title, *(line for lines in wrapped for line in lines)]


@dataclass(frozen=True)
class Exhibit:
    """A number along a training, or several of one look, and the line that it must not
    pass."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    bound: float | None = None
    xlabel: str = "steps"
    kind: str = "curve"  # or "bars"

    @classmethod
    def of_curve(cls, name: str, curve: Sequence[tuple[int, float]]) -> Self:
        return cls(name, [step for step, _ in curve], [value for _, value in curve])


@dataclass(frozen=True)
class Report:
    """Of one patient. The first finding is the one to begin with: causes come before
    what follows from them."""

    patient: str
    findings: tuple[Finding, ...]
    quiet: dict[str, str] = field(default_factory=dict)  # check: what it saw
    unexamined: dict[str, str] = field(default_factory=dict)  # check: why
    facts: dict[str, str] = field(default_factory=dict)
    exhibits: tuple[Exhibit, ...] = ()

    @property
    def first(self) -> str | None:
        """The check that is ranked first."""
        return self.findings[0].check if self.findings else None

    @property
    def fired(self) -> list[str]:
        return [finding.check for finding in self.findings]

    def __str__(self) -> str:
        found = len(self.findings)
        lines = [
            f"{self.patient}: {found} finding{'' if found == 1 else 's'},"
            f" {len(self.quiet)} check{'' if len(self.quiet) == 1 else 's'} quiet,"
            f" {len(self.unexamined)} not examined"
        ]
        lines += [f"  {name}: {value}" for name, value in self.facts.items()]
        for number, finding in enumerate(self.findings, start=1):
            lines += ["", *finding.lines(number)]
        if self.quiet:
            lines += ["", "quiet:"]
            lines += [f"  {name}: {seen}" for name, seen in self.quiet.items()]
        if self.unexamined:
            lines += ["", "not examined:"]
            lines += [f"  {names}: {why}" for why, names in self._by_reason().items()]
        return "\n".join(lines)

    def _by_reason(self) -> dict[str, str]:
        names: dict[str, list[str]] = {}
        for name, reason in self.unexamined.items():
            names.setdefault(reason, []).append(name)
        return {reason: ", ".join(found) for reason, found in names.items()}

    def as_json(self) -> dict[str, Any]:
        return {
            "patient": self.patient,
            "facts": self.facts,
            "findings": [vars(finding) for finding in self.findings],
            "quiet": self.quiet,
            "not_examined": self.unexamined,
        }
