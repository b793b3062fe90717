"""Imported before any test: `rlnotes` sets one thread per process, which torch must not
precede. Long tests are started first, so that both cores are busy to the end."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

import rlnotes

assert rlnotes

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = "no Chromium, so no page was looked at: apt-get install chromium"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: -seconds(item))


def seconds(item: pytest.Item) -> float:
    """What a test is marked with, or nothing: it is quick."""
    marker = item.get_closest_marker("slow")
    return 0.0 if marker is None else float(marker.kwargs.get("seconds", 1))


@pytest.fixture(scope="session")
def contents() -> list[str]:
    """The book's pages in their order."""
    toc = (ROOT / "_toc.yml").read_text()
    return re.findall(r"^(?:root|\s+- file): book/(\w+)$", toc, re.MULTILINE)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built afresh, with warnings as errors, as `make book` does. Tests that ask for it
    are in one group, so that one process builds it once."""
    output = tmp_path_factory.mktemp("site")
    program = str(Path(sys.executable).with_name("jupyter-book"))
    command = [program, "build", str(ROOT), "--path-output", str(output)]
    command += ["-W", "-n", "--keep-going"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return output / "_build" / "html"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Where there is none the tests say so, and in CI they fail."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NO_BROWSER)
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()
