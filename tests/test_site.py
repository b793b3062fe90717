"""The built site: no warning, no dead link, no missing picture, nothing fetched from
elsewhere."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

# In one process, which builds the site once for all of them.
pytestmark = [pytest.mark.slow(seconds=15), pytest.mark.xdist_group("site")]

# Where policies play.
FILMED = ("worlds", "td3bc", "gail", "aggrevated", "pixels", "parallel")
CHAPTERS = (*FILMED, "doctor")

Pages = dict[Path, BeautifulSoup]


@pytest.fixture(scope="module")
def pages(site: Path) -> Pages:
    return {
        path: BeautifulSoup(path.read_text(), "html.parser")
        for path in sorted(site.rglob("*.html"))
    }


def is_remote(address: str) -> bool:
    return address.startswith("//") or urlsplit(address).scheme in {"http", "https"}


def test_every_page_of_the_contents_is_there(site: Path, contents: list[str]) -> None:
    assert {*CHAPTERS, "intro", "ledger", "costs", "glossary"} <= set(contents)
    for name in contents:
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
    for name in FILMED:
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
        assert "<Axes: " not in text, page


def test_answers_are_folded(pages: Pages) -> None:
    for name in CHAPTERS:
        (chapter,) = [soup for page, soup in pages.items() if page.stem == name]
        summaries = [tag.get_text() for tag in chapter.select("details > summary")]
        assert sum("Answer" in summary for summary in summaries) == 3


def page_named(name: str, pages: Pages) -> BeautifulSoup:
    (found,) = [soup for page, soup in pages.items() if page.stem == name]
    return found


def test_equations_lead_to_their_functions_and_back(pages: Pages) -> None:
    """Where the links lead is there: see `test_links_lead_somewhere`."""
    chapter, code = page_named("td3bc", pages), page_named("bibliography", pages)
    there = "bibliography.html#rlnotes-algos-td3-bc-critic-target"
    assert chapter.select(f'p.in-code a[href="{there}"]')
    assert code.select('a[href="td3bc.html#equation-eq-target"]')
    assert "def critic_target(" in code.get_text()
    shown = [p for p in chapter.find_all("p") if "td3_bc.critic_target" in p.get_text()]
    links = [a for p in shown for a in p.select('a[href="#equation-eq-target"]')]
    numbered = chapter.select_one("#equation-eq-target .eqno")
    assert links
    assert numbered
    assert all(link.get_text() in numbered.get_text() for link in links)


def test_what_follows_a_figure_in_italics_is_its_caption(pages: Pages) -> None:
    chapter = page_named("worlds", pages)
    captions = [tag.get_text() for tag in chapter.select("figure > figcaption")]
    assert any(text.startswith("Which suspect costs what?") for text in captions)
    assert any(text.startswith("What does a stale copy cost?") for text in captions)
    paragraphs = [tag.get_text() for tag in chapter.select("p > em")]
    assert not any(text.startswith("Which suspect costs what?") for text in paragraphs)


FIRST_WORDS = ".admonition p:not(.admonition-title)"


@pytest.mark.parametrize(("front", "edition"), [("intro", ""), ("zh", "zh_")])
def test_the_front_page_asks_what_each_chapter_asks(
    front: str, edition: str, pages: Pages
) -> None:
    cards = [card.get_text() for card in page_named(front, pages).select(".sd-card")]
    for name in CHAPTERS:
        opening = page_named(f"{edition}{name}", pages).select_one(FIRST_WORDS)
        assert opening is not None
        _, question = re.split("[.。] ", opening.get_text(), maxsplit=1)
        assert any(question in card for card in cards), question


def test_the_front_page_leads_from_symptoms_to_sections(pages: Pages) -> None:
    index = page_named("intro", pages).select_one("dl.symptoms")
    assert index is not None
    seen, links = index.find_all("dt"), index.find_all("a")
    assert len(links) >= len(seen) > 10
    assert all("#" in str(link["href"]) for link in links)


def test_pages_lead_to_their_chinese_edition_and_back(
    pages: Pages, contents: list[str]
) -> None:
    chinese = [name for name in contents if name.startswith("zh")]
    assert {"zh", "zh_worlds", "zh_td3bc", "zh_gail", "zh_parallel"} <= set(chinese)
    for name in chinese:
        english = name.removeprefix("zh").removeprefix("_") or "intro"
        for here, there, language in ((name, english, "zh"), (english, name, "en")):
            page = page_named(here, pages)
            assert page.html is not None
            assert page.html["lang"] == language
            (link,) = page.select("p.language a")
            assert link["href"] == f"{there}.html"


def test_every_autopsy_is_told_in_chinese(pages: Pages) -> None:
    for name in CHAPTERS:
        boxes = [
            [box for box in page.select(".admonition-title") if title in box.get_text()]
            for page, title in (
                (page_named(name, pages), "Symptom, cause"),
                (page_named(f"zh_{name}", pages), "症状、原因"),
            )
        ]
        assert len(boxes[0]) == len(boxes[1])
        assert boxes[0] or name == "doctor"  # who has none of its own


def test_numbers_in_sentences_have_a_true_minus(pages: Pages) -> None:
    spans = [tag for soup in pages.values() for tag in soup.select(".pasted-text")]
    numbers = [tag.get_text() for tag in spans]
    assert any(number.startswith("−") for number in numbers)
    assert [number for number in numbers if re.match(r"-\d", number)] == []
