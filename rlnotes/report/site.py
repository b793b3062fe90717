"""What the book's site has beyond Jupyter Book: a Sphinx extension.

- A figure has the words that its notebook keeps with it (`describe`) as alternative
  text, and the paragraph in italics that follows a figure or film is its caption.
- An equation names the function that is it, and the function its equations; all of
  them stand on the page with the directive `{equations}`.
- Works are listed under the names by which sentences cite them.
- The directive `{symptoms}` is the index from symptoms to sections, `{question}` and
  `{first-picture}` are the question and the picture with which another page opens.
- A page named `zh_` and the name of another one is its Chinese edition, `zh` that of
  the front page; a link at their heads switches between the two.
- Pages fit the screen and are readable in the dark (`assets/book.css`, `book.js`).
"""

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from pybtex.database import Entry, Person
from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style
from pybtex.style.labels import BaseLabelStyle
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from rlnotes.report import chinese, equations, sections, symptoms
from rlnotes.report.equations import Implementation
from rlnotes.report.symptoms import Suspicion

ASSETS = Path(__file__).parent / "assets"
HYPHEN = re.compile(r"-(?=\d)")

# --- figures


def move_words(app: Sphinx, docname: str, source: list[str]) -> None:
    """From the output of a cell, where a notebook keeps them, to where MyST-NB looks
    for the alternative text of its picture."""
    if '"alt":' not in source[0]:
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            words = output.get("metadata", {}).get("image/png", {}).get("alt")
            if words:
                options = cell["metadata"].setdefault("mystnb", {})
                options.setdefault("image", {})["alt"] = words
    source[0] = json.dumps(notebook)


class Figure(nodes.General, nodes.Element):
    """What a cell shows, with its caption."""


class Caption(nodes.General, nodes.TextElement):
    """In figcaption; may have references in it."""


class Captions(SphinxPostTransform):
    default_priority = 500  # after all numbers have come in

    def run(self, **options: Any) -> None:
        for cell in list(self.document.findall(_is_cell)):
            shown = [part for part in cell.findall(nodes.container) if _is_output(part)]
            caption = _caption(cell)
            if caption is not None and any(map(_is_picture, shown)):
                output = shown[0]
                caption.parent.remove(caption)
                emphasis = caption[0]
                figure = Figure("", *output.children)
                figure += Caption("", *emphasis.children)
                output.children = []
                output += figure


def _is_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def _is_output(node: nodes.container) -> bool:
    return node.get("nb_element") == "cell_code_output"


def _is_picture(output: nodes.container) -> bool:
    films = (raw for raw in output.findall(nodes.raw) if "<video" in raw.astext())
    return any(output.findall(nodes.image)) or any(films)


def _caption(cell: nodes.Node) -> nodes.paragraph | None:
    """The next thing to be seen, if it is a paragraph all in italics."""
    for after in cell.findall(descend=False, siblings=True):
        if after is cell or (_is_cell(after) and not after.astext().strip()):
            continue
        if isinstance(after, nodes.paragraph) and len(after) == 1:
            return after if isinstance(after[0], nodes.emphasis) else None
        return None
    return None


# --- numbers


class Minus(SphinxPostTransform):
    """Numbers in sentences have a true minus, as in tables."""

    default_priority = 500

    def run(self, **options: Any) -> None:
        for number in self.document.findall(_is_pasted):
            for text in list(number.findall(nodes.Text)):
                text.parent.replace(text, nodes.Text(HYPHEN.sub("−", text)))


def _is_pasted(node: nodes.Node) -> bool:
    return isinstance(node, nodes.inline) and "pasted-text" in node["classes"]


# --- equations


class Equations(Directive):
    """A table of the functions that are equations, of which and where these come from;
    then the functions themselves."""

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        keys = [key for path in env.config.bibtex_bibfiles for key in _keys(path, env)]
        found = nodes.container(classes=["equations"])
        lines = list(_page(equations.implementations(), keys))
        self.state.nested_parse(StringList(lines, __file__), 0, found)
        return found.children


def _keys(path: str, env: Any) -> list[str]:
    text = Path(env.srcdir, path).read_text()
    return [line.split("{")[1].strip(" ,") for line in text.splitlines() if "@" in line]


def _page(functions: list[Implementation], keys: list[str]) -> Iterator[str]:
    """Markdown: a row for each function, then their sources."""
    yield from ("| function | equation | from |", "|---|---|---|")
    for one in functions:
        works = [key for key in keys if one.work and key.startswith(one.work)]
        cited = ", ".join(f"{{cite:t}}`{key}`" for key in works)
        name = f"[`{one.short_name}`](#{one.anchor})"
        yield f"| {name} | {_references(one)} | {cited} |"
    for one in functions:
        path = f"/{one.path.relative_to(equations.PACKAGE.parent)}"
        title = f"`{one.short_name}` · equation {_references(one)}"
        yield from ("", f"({one.anchor})=", title, "")
        yield from (f"```{{literalinclude}} {path}", f":pyobject: {one.name}", "```")


def _references(one: Implementation) -> str:
    return ", ".join(f"{{eq}}`{label}`" for label in one.labels)


class EquationLinks(SphinxPostTransform):
    """Below an equation its function, beside the name of a function that a chapter
    shows its equations."""

    default_priority = 500

    def run(self, **options: Any) -> None:
        functions = equations.implementations()
        for block in list(self.document.findall(nodes.math_block)):
            those = [one for one in functions if block.get("label") in one.labels]
            if those:
                beside = nodes.paragraph(classes=["in-code"])
                beside += nodes.Text("in code: ")
                for number, one in enumerate(those):
                    beside += [nodes.Text(", ")] if number else []
                    beside += self._to_function(one)
                block.parent.insert(block.parent.index(block) + 1, beside)
        by_name = {one.full_name: one for one in functions}
        for title in list(self.document.findall(nodes.paragraph)):
            shown = by_name.get(title.astext())
            for label in shown.labels if shown else ():
                title.extend([nodes.Text(" · equation "), self._to_equation(label)])

    def _link(self, docname: str, id: str, child: nodes.Node) -> nodes.reference:
        here = self.env.docname
        page = self.app.builder.get_relative_uri(here, docname)
        uri = f"{'' if docname == here else page}#{id}"
        return nodes.reference("", "", child, internal=True, refuri=uri)

    def _to_function(self, one: Implementation) -> nodes.Node:
        name = nodes.literal(text=one.short_name)
        place = self.env.domains["std"].anonlabels.get(one.anchor)
        return self._link(*place, name) if place else name

    def _to_equation(self, label: str) -> nodes.Node:
        """As the role {eq} would: its number, linked."""
        given = self.env, self.env.docname, self.app.builder, "eq", label
        contents = addnodes.pending_xref(""), nodes.literal(text=label)
        return self.env.domains["math"].resolve_xref(*given, *contents) or contents[1]


# --- works


class AuthorYear(BaseLabelStyle):
    """Labels of works are what sentences call them by."""

    def format_labels(self, sorted_entries: Iterable[Entry]) -> Iterator[str]:
        for entry in sorted_entries:
            first, *others = map(_last_name, entry.persons["author"])
            more = "".join(f" and {name}" for name in others)
            names = f"{first} et al." if len(others) > 1 else f"{first}{more}"
            yield f"{names}, {entry.fields['year']}"


def _last_name(author: Person) -> str:
    return " ".join([*author.prelast_names, *author.last_names])


class Works(Style):
    default_label_style = AuthorYear


# --- symptoms


class Symptoms(SphinxDirective):
    """What is seen, and below it what it may be, linked to where it is told."""

    def run(self) -> list[nodes.Node]:
        chapters = {name.rpartition("/")[2] for name in self.env.found_docs}
        words = chinese.CHECKS if is_chinese(self.env.docname) else symptoms.ENGLISH
        found = nodes.definition_list(classes=["symptoms"])
        for seen, suspicions in symptoms.index(chapters, words).items():
            may_be = nodes.definition("", *map(self._link, suspicions))
            found += nodes.definition_list_item("", nodes.term(text=seen), may_be)
        return [found]

    def _link(self, one: Suspicion) -> nodes.Node:
        builder, here = self.env.app.builder, self.env.docname
        page = builder.get_relative_uri(here, f"book/{one.chapter}")
        uri = f"{page}#{one.anchor}"
        link = nodes.reference("", one.title, internal=True, refuri=uri)
        return nodes.paragraph("", "", link)


# --- what another page opens with


class Question(SphinxDirective):
    """Its argument is the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (page,) = self.arguments
        self.env.note_dependency(self.env.doc2path(f"book/{page}"))
        found = nodes.container()
        text = StringList([sections.question(page)], __file__)
        self.state.nested_parse(text, 0, found)
        return found.children


class FirstPicture(SphinxDirective):
    """The first picture of another page, as it is there: its argument is the page, its
    content the caption, which is also the picture's alternative text."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.srcdir, "book", f"{self.arguments[0]}.ipynb")
        self.env.note_dependency(str(path))
        cells = json.loads(path.read_text())["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        first = next(one for one in outputs if "image/png" in one.get("data", ()))
        about = first["metadata"]["image/png"]
        caption = escape("".join(self.content))
        image = (
            f'<img src="data:image/png;base64,{first["data"]["image/png"].strip()}"'
            f' width="{about["width"]}" height="{about["height"]}" alt="{caption}">'
        )
        html = f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
        return [nodes.raw("", html, format="html")]


# --- the Chinese edition


def is_chinese(docname: str) -> bool:
    return re.fullmatch(r"book/zh(_\w+)?", docname) is not None


def counterpart(docname: str) -> str:
    """The same page in the other language, whether there is one or not."""
    name = docname.rpartition("/")[2]
    if is_chinese(docname):
        return f"book/{name.removeprefix('zh').removeprefix('_') or 'intro'}"
    return "book/zh" if name == "intro" else f"book/zh_{name}"


class NoSpaceBetweenLines(SphinxPostTransform):
    """In Chinese the end of a line in the source is no space on the page."""

    default_priority = 500

    def run(self, **options: Any) -> None:
        if is_chinese(self.env.docname):
            for text in list(self.document.findall(nodes.Text)):
                if "\n" in text and not _is_code(text.parent):
                    text.parent.replace(text, nodes.Text(text.replace("\n", "")))


def _is_code(node: nodes.Node) -> bool:
    return isinstance(node, nodes.literal_block | nodes.raw | nodes.math_block)


def switch_language(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    here, there = ("zh", "en") if is_chinese(page) else ("en", "zh")
    context["language"] = here
    other = counterpart(page)
    if tree is not None and other in app.env.found_docs:
        link = (
            f'<a href="{context["pathto"](other)}" hreflang="{there}" lang="{there}">'
        )
        link += {"zh": "中文", "en": "English"}[there]
        context["body"] = f'<p class="language">{link}</a></p>{context["body"]}'


# --- the pages around


def without_thebe(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Jupyter Book loads it for code that runs in the browser, which ours does not; and
    twice, which is an error on every page."""
    for kind in ("script_files", "css_files"):
        context[kind] = [
            file
            for file in context[kind]
            if "thebe" not in f"{file} {getattr(file, 'attributes', '')}".lower()
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", move_words)
    app.connect("html-page-context", without_thebe, priority=900)
    app.connect("html-page-context", switch_language)
    app.connect(
        "builder-inited", lambda app: app.config.html_static_path.append(str(ASSETS))
    )
    app.add_css_file("book.css", priority=900)
    app.add_js_file("book.js", loading_method="defer")
    for node, tag in ((Figure, "figure"), (Caption, "figcaption")):
        app.add_node(node, html=(_open(tag), _close(tag)))
    register_plugin("pybtex.style.formatting", "works", Works)
    app.add_directive("equations", Equations)
    app.add_directive("symptoms", Symptoms)
    app.add_directive("question", Question)
    app.add_directive("first-picture", FirstPicture)
    app.add_post_transform(Captions)
    app.add_post_transform(Minus)
    app.add_post_transform(NoSpaceBetweenLines)
    app.add_post_transform(EquationLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _open(tag: str) -> Any:
    return lambda writer, node: writer.body.append(f"<{tag}>")


def _close(tag: str) -> Any:
    return lambda writer, node: writer.body.append(f"</{tag}>")
