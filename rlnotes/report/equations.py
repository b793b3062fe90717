"""Which function is which equation of the book: the function's docstring says so.

It names the label of the equation, and the work it comes from, as in "Equation eq-ppo,
Schulman et al. (2017)". The site links the two in both directions (see `site`).
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlnotes.paths import PACKAGE

LABEL = re.compile(r"\beq-[a-z0-9]+(?:-[a-z0-9]+)*")
WORK = re.compile(r"((?:van )?[A-Z]\w+)(?: and [A-Z]\w+| et\s+al\.)? \((\d{4})\)")

Documented = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Implementation:
    """A function or a class that names equations."""

    path: Path
    name: str  # within its module
    labels: tuple[str, ...]
    work: str  # as the keys of the bibliography begin, such as ho2016

    @property
    def module(self) -> str:
        within = self.path.relative_to(PACKAGE.parent).with_suffix("")
        return ".".join(within.parts)

    @property
    def full_name(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def short_name(self) -> str:
        return f"{self.module.rpartition('.')[2]}.{self.name}"

    @property
    def anchor(self) -> str:
        """The label of its place on the page of equations."""
        return re.sub(r"[^a-z0-9]+", "-", self.full_name.lower())


def implementations() -> list[Implementation]:
    return [
        found
        for path in sorted(PACKAGE.rglob("*.py"))
        if (source := path.read_text()) and LABEL.search(source)
        for found in _within(path, ast.parse(source))
    ]


def _within(
    path: Path, tree: ast.Module | Documented, inside: str = ""
) -> Iterator[Implementation]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            words = " ".join((ast.get_docstring(node) or "").split())
            name = f"{inside}{node.name}"
            if labels := tuple(dict.fromkeys(LABEL.findall(words))):
                yield Implementation(path, name, labels, _work(words))
            if isinstance(node, ast.ClassDef):
                yield from _within(path, node, f"{name}.")


def _work(words: str) -> str:
    found = WORK.search(words)
    return f"{found[1].replace(' ', '').lower()}{found[2]}" if found else ""
