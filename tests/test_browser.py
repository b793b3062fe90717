"""The built site in a browser, offline: no errors, nothing wider than the screen, every
figure in words, readable by contrast and usable by keyboard."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

# In the process that builds the site.
pytestmark = [pytest.mark.slow(seconds=14), pytest.mark.xdist_group("site")]

WIDTHS = (390, 768, 1400)  # of a phone, a tablet, a laptop
THEMES = ("light", "dark")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(reduced_motion="reduce") as context:
        context.set_default_timeout(180_000)  # on busy cores
        yield context.new_page()


@pytest.fixture
def pages(contents: list[str], address: str) -> list[str]:
    return [f"{address}/book/{name}.html" for name in contents]


def visit(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.evaluate("() => window.MathJax?.startup?.promise.then(() => null)")


def show(page: Page, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.wait_for_function(f"document.documentElement.dataset.theme == '{theme}'")
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(drawn))")
    page.wait_for_function(  # sidebars have slid to their places
        "document.getAnimations().every((one) => one.playState != 'running')"
    )


def test_no_page_has_an_error_or_asks_the_network(
    page: Page, pages: list[str], address: str
) -> None:
    found: list[str] = []
    page.on(
        "console",
        lambda said: found.append(said.text) if said.type == "error" else None,
    )
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on(
        "requestfailed",
        lambda asked: (
            None
            if "ABORTED" in str(asked.failure)  # the next page was asked for
            else found.append(asked.url)
        ),
    )
    page.on(
        "request",
        lambda asked: (
            None
            if asked.url.startswith((address, "data:", "blob:"))
            else found.append(asked.url)
        ),
    )
    said = {}
    for url in (*pages, f"{address}/genindex.html", f"{address}/search.html"):
        visit(page, url)
        said[url] = [text[:200] for text in found]
        found.clear()
    assert {url: errors for url, errors in said.items() if errors} == {}


# What lies outside the screen and in no box that scrolls by itself; and boxes that
# scroll, where nothing should.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth, found = [];
  const scrolls = (e) => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
  const inBox = (e) => {
    for (let p = e.parentElement; p; p = p.parentElement) if (scrolls(p)) return true;
    return false;
  };
  for (const e of document.querySelectorAll("article *")) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > width + 1 && !inBox(e)) found.push(e.outerHTML);
  }
  if (document.documentElement.scrollWidth > width) found.push("the page");
  const boxes = document.querySelectorAll("article :is(pre, .output, mjx-container)");
  const wide = [...boxes].filter(
    (e) => scrolls(e) && e.scrollWidth > e.clientWidth + 1);
  return [found.map((e) => e.slice(0, 120)), wide.map((e) => e.outerHTML.slice(0, 120)),
    wide.filter((e) => e.tabIndex < 0).length];
}"""


def test_nothing_is_wider_than_the_screen(page: Page, pages: list[str]) -> None:
    outside, scrolling, stuck = {}, {}, {}
    for url in pages:
        visit(page, url)
        for width in WIDTHS:
            for theme in THEMES:
                show(page, width, theme)
                view = url.rpartition("/")[2], width, theme
                outside[view], scrolling[view], stuck[view] = page.evaluate(TOO_WIDE)
    assert {view: these for view, these in outside.items() if these} == {}
    on_a_phone = min(WIDTHS)  # there code scrolls in its own frame
    assert {
        view: these
        for view, these in scrolling.items()
        if these and view[1] > on_a_phone
    } == {}
    assert {view: count for view, count in stuck.items() if count} == {}


SIZES = """(where) => [...document.querySelectorAll(`${where} > mjx-container`)].map(
  e => parseFloat(getComputedStyle(e).fontSize))"""


def test_equations_are_made_smaller_where_they_must_be(
    page: Page, address: str
) -> None:
    visit(page, f"{address}/book/gail.html")
    sizes = {}
    for width in WIDTHS:
        show(page, width, "light")
        sizes[width] = page.evaluate(SIZES, "div.math")
    usual = max(page.evaluate(SIZES, "section > p > span.math"))
    assert sizes[max(WIDTHS)] == [pytest.approx(usual)] * len(sizes[max(WIDTHS)])
    assert min(sizes[min(WIDTHS)]) < usual


PICTURES = """() => [...document.querySelectorAll("article :is(img, video)")].map(e => {
  const box = e.getBoundingClientRect();
  return {
    name: e.getAttribute("src")?.slice(-40) ?? "film",
    words: e.getAttribute(e.tagName == "IMG" ? "alt" : "aria-label") ?? "",
    caption: e.closest("figure")?.querySelector("figcaption")?.textContent ?? "",
    sized: Boolean(e.getAttribute("width") && e.getAttribute("height")
      || e.style.width && e.style.height),
    loaded: e.tagName == "IMG" ? e.naturalWidth > 0 : e.readyState > 0,
    shape: box.width / box.height,
  };
})"""


def test_figures_and_films_have_size_words_and_caption(
    page: Page, pages: list[str]
) -> None:
    seen, faults = 0, []
    for url in pages:
        visit(page, url)
        show(page, min(WIDTHS), "light")
        narrow = page.evaluate(PICTURES)
        show(page, max(WIDTHS), "light")
        for one, on_a_phone in zip(page.evaluate(PICTURES), narrow, strict=True):
            seen += 1
            wanted = ("words", "caption", "sized", "loaded")
            lacks = [what for what in wanted if not one[what]]
            if abs(one["shape"] / on_a_phone["shape"] - 1) > 0.03:
                lacks.append("its proportions on a phone")
            if lacks:
                faults.append(f"{url.rpartition('/')[2]} {one['name']}: {lacks}")
    assert faults == []
    assert seen > 50


RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
OF_CODE = "bibliography"  # the page where also code is looked at, word by word


def violations(page: Page, theme: str) -> list[str]:
    """What axe finds, by the rules of WCAG 2 AA. Code has thousands of coloured words,
    in the same few colours everywhere; and docutils gives the entries of a bibliography
    a role that has gone out of use."""
    left_out = [[".citation-list"]]
    left_out += [] if OF_CODE in page.url else [["pre"], ["mjx-container"]]
    options = {**RULES, "resultTypes": ["violations"]}
    found = Axe().run(page, context={"exclude": left_out}, options=options)
    return [
        f"{theme} {one['id']}: {node['target']} {node['html'][:150]}"
        for one in found.response["violations"]
        for node in one["nodes"][:5]
    ]


def test_contrast_and_structure_are_accessible(page: Page, pages: list[str]) -> None:
    found = {}
    for url in pages:
        visit(page, url)
        for theme in THEMES:
            show(page, max(WIDTHS), theme)
            found[url, theme] = violations(page, theme)
    assert {view: these for view, these in found.items() if these} == {}


def test_grey_on_grey_would_be_seen(page: Page) -> None:
    page.set_content("<html lang=en><title>x</title><p style='color:#bbb'>pale</p>")
    assert any("color-contrast" in one for one in violations(page, "light"))


def test_search_finds_truncation(page: Page, address: str) -> None:
    page.goto(f"{address}/search.html?q=truncation")
    page.wait_for_selector("#search-results ul.search li a")
    hits = page.locator("#search-results ul.search li a")
    targets = [str(hit.get_attribute("href")) for hit in hits.all()]
    assert any("book/glossary" in target for target in targets)
    assert any("book/parallel" in target for target in targets)


FOCUSED = """() => {
  const e = document.activeElement;  // a card has its ring after the link
  const styles = [getComputedStyle(e), getComputedStyle(e, "::after")];
  const ring = styles.some((s) => s.outlineStyle != "none" || s.boxShadow != "none");
  return [e.tagName, e.textContent.trim().slice(0, 30), ring, e.getAttribute("href")];
}"""


def test_pages_can_be_used_by_keyboard(page: Page, address: str) -> None:
    visit(page, f"{address}/book/intro.html")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED)[1] == "Skip to main content"
    page.keyboard.press("Enter")
    page.wait_for_url("**/intro.html#main-content")
    passed = []
    for _ in range(60):
        page.keyboard.press("Tab")
        passed.append(page.evaluate(FOCUSED))
    assert [one for one in passed if one[0] == "A" and not one[2]] == []
    links = {one[3] for one in passed if one[0] == "A"}
    assert {"worlds.html", "gail.html"} <= links


def test_what_is_folded_opens_by_keyboard(page: Page, address: str) -> None:
    visit(page, f"{address}/book/gail.html")
    folded = page.locator("article details").first
    assert folded.get_attribute("open") is None
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    assert folded.get_attribute("open") is not None
