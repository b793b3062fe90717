"""The Makefile's own messages, and that the README names no target that it lacks."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def make(
    *arguments: str, path: str | None = None
) -> "subprocess.CompletedProcess[str]":
    program = shutil.which("make")
    assert program
    # As from a shell of its own, also when these tests are themselves run by make.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MAKE")
    }
    environment |= {"PATH": path} if path else {}
    return subprocess.run(
        [program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def test_without_python_311_there_is_one_clear_line_and_exit_2(tmp_path: Path) -> None:
    for name in ("bash", "sh"):
        program = shutil.which(name)
        assert program
        (tmp_path / name).symlink_to(program)
    result = make("book", path=str(tmp_path))
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "Python 3.11 is needed" in result.stderr


def test_help_names_every_target_and_the_documents_name_no_other() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    targets = set(phony.split())
    helped = set(re.findall(r"^make (\w+)", make("help").stdout, re.MULTILINE))
    assert helped == targets - {"help", "lint"}  # `check` and `test` begin with `lint`
    for name in ("README.md", "CONTRIBUTING.md", "book/intro.ipynb"):
        named = set(re.findall(r"`make (\w+)", (ROOT / name).read_text()))
        assert named, name
        assert named <= targets, name


def test_a_chapter_that_does_not_exist_is_answered_with_those_that_do() -> None:
    result = make("--old-file=.venv/ready", "--old-file=data", "run", "CHAPTER=nope")
    assert result.returncode == 2
    assert "td3bc" in result.stdout
