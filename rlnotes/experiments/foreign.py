"""Libraries that cannot share our environment get one of their own, made on first use,
in which a script of `rlnotes/foreign` is run."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlnotes import paths
from rlnotes.errors import UserError

SCRIPTS = paths.PACKAGE / "foreign"


def folder(name: str) -> Path:
    """Where the environment of this name is, and what is handed to its scripts."""
    return paths.root() / "_runs" / name


def run(
    name: str, packages: Sequence[str], script: str, *arguments: Any
) -> list[dict[str, Any]]:
    """The JSON objects that a script prints, on one thread."""
    words = [library_python(folder(name), packages), SCRIPTS / script, *arguments]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(word) for word in words],
        check=False,
        capture_output=True,
        text=True,
        env=one_thread,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        tail = done.stderr.strip()[-500:]
        raise UserError(f"{script} with {', '.join(packages)} failed: {tail}")
    return [json.loads(line) for line in lines]


def library_python(folder: Path, packages: Sequence[str]) -> Path:
    """The interpreter that has the packages; what an interrupted installation left is
    thrown away and made again."""
    python, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists() and ready.read_text() == " ".join(packages):
        return python
    print(
        f"installing {', '.join(packages)} in an environment of its own ...",
        file=sys.stderr,
    )
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    install = [str(python), "-m", "pip", "install", "-q", *packages]
    made = subprocess.run(install, check=False, capture_output=True, text=True)
    if made.returncode:
        tail = made.stderr.strip()[-500:]
        raise UserError(f"could not install {', '.join(packages)}: {tail}")
    ready.write_text(" ".join(packages))
    return python
