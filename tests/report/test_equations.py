"""Every numbered equation has a function, every function's equation and work exist."""

import re
from pathlib import Path

import pytest

from rlnotes.paths import PACKAGE
from rlnotes.report import equations

BOOK = PACKAGE.parent / "book"
MINE = '''
class A:
    def step(self):
        """Equations eq-one and eq-two-b, van Hasselt et al. (2016)."""

def plain():
    """As AIRL (Fu et al., 2018). Equation eq-one."""

def other():
    # eq-three
    pass
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "mine"
    (package / "algos").mkdir(parents=True)
    (package / "algos" / "toy.py").write_text(MINE)
    monkeypatch.setattr(equations, "PACKAGE", package)
    return package


def test_docstrings_are_read_and_comments_are_not(package: Path) -> None:
    step, plain = equations.implementations()
    assert (step.name, step.labels) == ("A.step", ("eq-one", "eq-two-b"))
    assert step.work == "vanhasselt2016"
    assert step.full_name == "mine.algos.toy.A.step"
    assert step.short_name == "toy.A.step"
    assert step.anchor == "mine-algos-toy-a-step"
    assert (plain.labels, plain.work) == (("eq-one",), "")


def labels_of_the_book() -> set[str]:
    found = set()
    for path in BOOK.glob("*.ipynb"):
        found |= set(re.findall(r"\$\$ \((eq-[a-z0-9-]+)\)", path.read_text()))
    return found


def test_every_equation_has_a_function_and_every_function_its_equation() -> None:
    named = {one for each in equations.implementations() for one in each.labels}
    assert len(named) > 10
    assert named == labels_of_the_book()


def test_every_work_that_a_function_names_is_in_the_bibliography() -> None:
    keys = re.findall(r"@\w+\{(\w+),", (BOOK / "references.bib").read_text())
    works = {one.work for one in equations.implementations() if one.work}
    assert len(works) > 5
    for work in works:
        assert sum(key.startswith(work) for key in keys) == 1, work
