"""The built site: no warning, no dead link, no missing picture, nothing fetched from elsewhere."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built afresh, with warnings as errors, as `make book` does."""
    output = tmp_path_factory.mktemp("site")
    program = str(Path(sys.executable).with_name("jupyter-book"))
    command = [program, "build", str(ROOT), "--path-output", str(output), "-W", "-n", "--keep-going"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return output / "_build" / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, BeautifulSoup]:
    return {path: BeautifulSoup(path.read_text(), "html.parser") for path in sorted(site.rglob("*.html"))}


def is_remote(address: str) -> bool:
    return address.startswith("//") or urlsplit(address).scheme in {"http", "https"}


def test_every_chapter_has_a_page(site: Path) -> None:
    for name in ("intro", "worlds", "td3bc", "gail", "ledger", "bibliography"):
        assert (site / "book" / f"{name}.html").exists()
    assert (site / "index.html").exists()


def test_links_lead_somewhere(pages: dict[Path, BeautifulSoup]) -> None:
    dead = []
    for page, soup in pages.items():
        for link in soup.find_all("a", href=True):
            address = urlsplit(str(link["href"]))
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            anchor = unquote(address.fragment)
            if not target.exists() or (anchor and target in pages and not pages[target].find(id=anchor)):
                dead.append(f"{page.name} → {link['href']}")
    assert dead == []


def test_pictures_and_films_are_there(pages: dict[Path, BeautifulSoup]) -> None:
    missing = []
    for page, soup in pages.items():
        for tag in soup.find_all(["img", "video", "source"], src=True):
            address = str(tag["src"])
            if not address.startswith("data:") and not (page.parent / unquote(address)).exists():
                missing.append(f"{page.name} → {address}")
    assert missing == []
    for name in ("worlds", "td3bc"):
        chapter = next(soup for page, soup in pages.items() if page.name == f"{name}.html")
        assert len(chapter.find_all("img", src=lambda address: "_images" in str(address))) >= 4
        assert chapter.find("video")


def test_the_pages_need_no_network(pages: dict[Path, BeautifulSoup]) -> None:
    remote = []
    for page, soup in pages.items():
        for tag in soup.find_all(["script", "img", "iframe", "video", "source"], src=True):
            if is_remote(str(tag["src"])):
                remote.append(f"{page.name} → {tag['src']}")
        for tag in soup.find_all("link", href=True):
            if is_remote(str(tag["href"])) and "canonical" not in (tag.get("rel") or []):
                remote.append(f"{page.name} → {tag['href']}")
    assert remote == []


def test_no_output_is_an_error_or_a_raw_object(pages: dict[Path, BeautifulSoup]) -> None:
    for page, soup in pages.items():
        text = soup.get_text()
        assert "Traceback (most recent call last)" not in text, page
        assert "object at 0x" not in text, page
        assert "<IPython.core.display" not in text, page
