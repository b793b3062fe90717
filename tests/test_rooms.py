"""Data flows one way: a module imports only from rooms to its left."""

import ast
from pathlib import Path

import pytest

import rlnotes

ROOMS = ["envs", "data", "algos", "autopsies", "experiments", "evidence"]
PACKAGE = Path(rlnotes.__file__).parent
MODULES = sorted(path for room in ROOMS for path in (PACKAGE / room).glob("*.py"))


def rooms_imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rlnotes"):
            assert node.module
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {name.split(".")[1] for name in names if name.count(".")}
    return found & set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_imports_point_left(path: Path) -> None:
    own = ROOMS.index(path.parent.name)
    assert all(ROOMS.index(room) <= own for room in rooms_imported(path)), rooms_imported(path)


def test_the_check_sees_imports() -> None:
    assert rooms_imported(PACKAGE / "experiments" / "td3bc.py") == {"algos", "autopsies", "data", "experiments"}


def test_nothing_is_unpickled() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                name = ast.unparse(node)
                assert name not in {"torch.load", "pickle.load", "pickle.loads"}, f"{path} calls {name}"
