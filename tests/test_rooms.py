"""Data flows one way: a module imports only from rooms to its left."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import rlnotes

ROOMS = [
    "envs",
    "data",
    "algos",
    "autopsies",
    "doctor",
    "experiments",
    "runs",
    "report",
    "__main__",
]
BOTTOM = ["paths", "errors", "seeding", "progress", "ray_local"]
FOREIGN = "foreign"  # runs in an environment of its own

PACKAGE = Path(rlnotes.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
OURS = [path for path in MODULES if path.parent.name != FOREIGN]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: str, module: str, is_package: bool = False) -> set[str]:
    """The dotted names of all that a module imports, whichever way it says so; what
    cannot be told is '?'."""
    package = module if is_package else module.rpartition(".")[0]
    return {
        name
        for node in ast.walk(ast.parse(source))
        for name in _imported_by(node, package)
    }


def _imported_by(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = _absolute("." * node.level + (node.module or ""), package)
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "rlnotes":
        yield f"rlnotes.{node.attr}"
    elif isinstance(node, ast.Call) and _imports(node.func):
        what = node.args[0] if node.args else None
        literal = what.value if isinstance(what, ast.Constant) else None
        yield _absolute(literal, package) if isinstance(literal, str) else "?"


def _imports(function: ast.expr) -> bool:
    return ast.unparse(function).rpartition(".")[2] in {"import_module", "__import__"}


def _absolute(name: str, package: str) -> str:
    bare = name.lstrip(".")
    level = len(name) - len(bare)
    if level == 0:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *filter(None, [bare])])


def imported_by(path: Path) -> set[str]:
    return imported(path.read_text(), module_name(path), path.stem == "__init__")


def rooms_of(names: set[str]) -> set[str]:
    """The parts of our package among the names."""
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "rlnotes" and len(part) > 1}


def faults(module: str, names: set[str]) -> set[str]:
    """What a module imports although it must not."""
    own = (*module.split("."), "")[1]
    allowed = set(BOTTOM)
    if own in ROOMS:
        allowed |= set(ROOMS[: ROOMS.index(own) + 1])
    elif module == "rlnotes":
        allowed |= {"envs"}
    wrong = {"?"} & names
    inside = set(ROOMS) | {FOREIGN}
    return wrong | {room for room in rooms_of(names) & inside if room not in allowed}


@pytest.mark.parametrize("path", OURS, ids=module_name)
def test_imports_point_left(path: Path) -> None:
    assert faults(module_name(path), imported_by(path)) == set()


def test_every_module_stands_in_a_room() -> None:
    found = rooms_of({module_name(path) for path in MODULES})
    assert found == {*ROOMS, *BOTTOM, FOREIGN}


def test_what_is_foreign_stands_alone() -> None:
    for path in set(MODULES) - set(OURS):
        assert not any(name.startswith("rlnotes") for name in imported_by(path))
    for path in OURS:
        assert FOREIGN not in rooms_of(imported_by(path))


# --- the control: the check sees every form of import

FORMS = {
    "import": "import rlnotes.report.claims",
    "import as": "import os, rlnotes.report as shown",
    "attribute": "import rlnotes\nrlnotes.report.claims.check()",
    "from": "from rlnotes.report import claims",
    "from the package": "from rlnotes import errors, report",
    "from within": "from rlnotes.report.claims import Claim",
    "relative": "from ..report import claims",
    "relative, by name": "from .. import report",
    "in a function": "def late():\n    from rlnotes.report import claims",
    "in a class": "class A:\n    import rlnotes.report",
    "for types only": "if TYPE_CHECKING:\n    from rlnotes.report import claims",
    "import_module": "importlib.import_module('rlnotes.report')",
    "bare import_module": "import_module('rlnotes.report.claims')",
    "relative import_module": "import_module('..report', 'rlnotes.algos')",
    "__import__": "__import__('rlnotes.report')",
    "builtins.__import__": "builtins.__import__('rlnotes.report')",
}


@pytest.mark.parametrize("source", FORMS.values(), ids=FORMS)
def test_every_form_of_import_is_seen(source: str) -> None:
    names = imported(source, "rlnotes.algos.ppo")
    assert rooms_of(names) - {"errors"} == {"report"}
    assert faults("rlnotes.algos.ppo", names) == {"report"}
    assert faults("rlnotes.report.tables", names) == set()


def test_a_package_is_its_own_home() -> None:
    assert imported("from . import ppo", "rlnotes.algos", True) == {
        "rlnotes.algos",
        "rlnotes.algos.ppo",
    }


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("rlnotes.envs.maze", "from rlnotes.data import rollouts", {"data"}),
        ("rlnotes.envs.maze", "from rlnotes.envs import puck", set()),
        ("rlnotes.data.rollouts", "from rlnotes import __main__", {"__main__"}),
        ("rlnotes.progress", "from rlnotes.envs import puck", {"envs"}),
        ("rlnotes.progress", "from rlnotes import paths", set()),
        ("rlnotes", "from rlnotes import envs, paths", set()),
        ("rlnotes", "from rlnotes import data", {"data"}),
        ("rlnotes.report.race", "import rlnotes.foreign.imitation_gail", {"foreign"}),
        ("rlnotes.report.race", "import_module(name)", {"?"}),
        ("rlnotes.__main__", "from rlnotes.report import ledger", set()),
    ],
)
def test_faults_are_found_and_the_rest_is_not(
    module: str, source: str, fault: set[str]
) -> None:
    assert faults(module, imported(source, module, module == "rlnotes")) == fault


# --- Ray is imported where it is used

RAY = {
    "rlnotes.algos.rllib",
    "rlnotes.algos.rllib_dqn",
    "rlnotes.experiments.scripted_runners",
    "rlnotes.runs.ray_driver",
}


@pytest.mark.slow(seconds=5)
def test_only_those_who_need_ray_import_it() -> None:
    """It takes seconds, starts threads and may not be installed."""
    others = {module_name(path) for path in OURS} - RAY
    code = f"""
import sys
from importlib import import_module
for module in {others - {"rlnotes.__main__"}}:
    import_module(module)
assert "ray" not in sys.modules
for module in {RAY}:
    import_module(module)
assert "ray" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# --- nothing is unpickled

PICKLES = {"pickle", "cloudpickle", "dill", "joblib", "shelve"}


def unpickled(source: str) -> set[str]:
    found = imported(source, "rlnotes.x") & PICKLES
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.load":
            found.add("torch.load")
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found.add("allow_pickle")
    return found


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_nothing_is_unpickled(path: Path) -> None:
    assert unpickled(path.read_text()) == set()


@pytest.mark.parametrize(
    "source",
    [
        "from pickle import loads",
        "import pickle",
        "x = torch.load(y)",
        "np.load(y, allow_pickle=True)",
        "import_module('joblib')",
    ],
)
def test_unpickling_would_be_seen(source: str) -> None:
    assert unpickled(source)


# --- what is imported is named as a dependency


def normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def distributions(names: set[str]) -> set[str]:
    """Of third-party modules: the packages to install."""
    tops = {name.split(".")[0] for name in names} - sys.stdlib_module_names
    known = packages_distributions()
    return {normal(known.get(top, [top])[0]) for top in tops - {"rlnotes", "?"}}


def test_every_imported_package_is_a_dependency() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["ray"]]
    named = {normal(re.split(r"[\[<>=!~ ;]", x)[0]) for x in wanted}
    needed = distributions({name for path in OURS for name in imported_by(path)})
    assert needed - named == set()
    assert {"torch", "stable-baselines3", "ipython"} <= needed  # in functions, too


def test_distributions_are_found_under_their_own_names() -> None:
    found = distributions({"PIL.Image", "os.path", "rlnotes.envs", "nowhere.to.be"})
    assert found == {"pillow", "nowhere"}
