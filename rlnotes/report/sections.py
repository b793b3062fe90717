"""A chapter's question and its sections: what they are called, and which one is about a
row."""

import json
import re
from functools import cache

from rlnotes import paths

LABEL = r"\(([\w-]+)\)="
CLAIMS = "\n## Claims"
QUESTION = r"^\*\*(?:The question\.|问题。)\*\* (.+)$"


@cache
def _cells(chapter: str) -> tuple[tuple[str, str], ...]:
    """Kind and source of each cell; of a chapter that is not written yet, none."""
    path = paths.root() / "book" / f"{chapter}.ipynb"
    if not path.exists():
        return ()
    cells = json.loads(path.read_text())["cells"]
    return tuple((cell["cell_type"], "".join(cell["source"])) for cell in cells)


@cache
def headings(chapter: str) -> dict[str, str]:
    """Of the sections of a chapter, by their labels and by what the site calls them."""
    text = "\n".join(source for kind, source in _cells(chapter) if kind != "code")
    found, heading, labels = {}, "", []
    for line in filter(None, text.splitlines()):
        if label := re.fullmatch(LABEL, line):
            labels.append(label[1])
            continue
        if title := re.fullmatch(r"#+ (.+)", line):
            heading = title[1]
            found[re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")] = heading
        found |= dict.fromkeys(labels, heading)  # of a note: the section it stands in
        labels.clear()
    return found


def about(chapter: str, id: str) -> str | None:
    """The label of the section that names an experiment most often, the first of equals
    (what comes before the first label is the opening, which names many, and so do the
    claims)."""
    text = "\n".join(source for _, source in _cells(chapter)).partition(CLAIMS)[0]
    _, *parts = re.split(f"^{LABEL}$", text, flags=re.MULTILINE)
    named = rf"(?<![\w/-]){re.escape(id)}(?![\w-])"
    found = {
        label: len(re.findall(named, section))
        for label, section in zip(parts[::2], parts[1::2], strict=True)
    }
    best = max(found, key=lambda label: found[label], default=None)
    return best if best and found[best] else None


def question(page: str) -> str:
    """With which it opens: a chapter, or a chapter's page in the Chinese edition."""
    (written,) = (paths.root() / "book").glob(f"{page}.*")
    text = written.read_text()
    if written.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    (found,) = re.findall(QUESTION, text, re.MULTILINE)
    return str(found)
