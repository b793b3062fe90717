"""The built site: no warning, no dead link, no missing picture, nothing fetched from
elsewhere."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

# In one process, which builds the site once for all of them.
pytestmark = [pytest.mark.slow(seconds=15), pytest.mark.xdist_group("site")]

ROOT = Path(__file__).parents[1]
PAGES = ("intro", "worlds", "td3bc", "gail", "doctor", "ledger", "bibliography")
CHAPTERS = ("worlds", "td3bc", "gail")

Pages = dict[Path, BeautifulSoup]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built afresh, with warnings as errors, as `make book` does."""
    output = tmp_path_factory.mktemp("site")
    program = str(Path(sys.executable).with_name("jupyter-book"))
    command = [program, "build", str(ROOT), "--path-output", str(output)]
    command += ["-W", "-n", "--keep-going"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return output / "_build" / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> Pages:
    return {
        path: BeautifulSoup(path.read_text(), "html.parser")
        for path in sorted(site.rglob("*.html"))
    }


def is_remote(address: str) -> bool:
    return address.startswith("//") or urlsplit(address).scheme in {"http", "https"}


def test_every_chapter_has_a_page(site: Path) -> None:
    for name in PAGES:
        assert (site / "book" / f"{name}.html").exists()
    assert (site / "index.html").exists()


def is_dead(link: str, page: Path, pages: Pages) -> bool:
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return False
    path, anchor = unquote(address.path), unquote(address.fragment)
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return True
    return bool(anchor and target in pages and not pages[target].find(id=anchor))


def test_links_lead_somewhere(pages: Pages) -> None:
    dead = [
        f"{page.name} → {link['href']}"
        for page, soup in pages.items()
        for link in soup.find_all("a", href=True)
        if is_dead(str(link["href"]), page, pages)
    ]
    assert dead == []


def test_pictures_and_films_are_there(pages: Pages) -> None:
    missing = [
        f"{page.name} → {tag['src']}"
        for page, soup in pages.items()
        for tag in soup.find_all(["img", "video", "source"], src=True)
        if not str(tag["src"]).startswith("data:")
        and not (page.parent / unquote(str(tag["src"]))).exists()
    ]
    assert missing == []
    for name in CHAPTERS:
        (chapter,) = [soup for page, soup in pages.items() if page.stem == name]
        drawn = [str(image["src"]) for image in chapter.find_all("img", src=True)]
        assert len([address for address in drawn if "_images" in address]) >= 4
        assert chapter.find("video")


def test_the_pages_need_no_network(pages: Pages) -> None:
    remote = []
    loaded = ["script", "img", "iframe", "video", "source"]
    for page, soup in pages.items():
        addresses = [str(tag["src"]) for tag in soup.find_all(loaded, src=True)]
        addresses += [
            str(tag["href"])
            for tag in soup.find_all("link", href=True)
            if "canonical" not in (tag.get("rel") or [])
        ]
        remote += [f"{page.name} → {one}" for one in addresses if is_remote(one)]
    assert remote == []


def test_no_output_is_an_error_or_a_raw_object(pages: Pages) -> None:
    for page, soup in pages.items():
        text = soup.get_text()
        assert "Traceback (most recent call last)" not in text, page
        assert "object at 0x" not in text, page
        assert "<IPython.core.display" not in text, page


def test_answers_are_folded(pages: Pages) -> None:
    for name in CHAPTERS:
        (chapter,) = [soup for page, soup in pages.items() if page.stem == name]
        summaries = [tag.get_text() for tag in chapter.select("details > summary")]
        assert sum("Answer" in summary for summary in summaries) == 3
