"""chapter.txt → a notebook without outputs.

    python build.py [chapter.txt [aggrevated.ipynb]]

RLNOTES_HOME says where the records are.

Lines of chapter.txt that begin with %% are directives:

    %% md                 a Markdown cell begins
    %% code [tag ...]     a code cell begins
    %% SECTION id ...     what follows, up to %% END, is left out unless every variant
                          of these experiments (or the variant named by id/variant) has
                          a record
    %% END                may not be nested; both may stand inside a cell, too
    %% CHECK: ...         a note for whoever edits; dropped, and listed if its section
                          is kept
"""

import re
import sys
from pathlib import Path

import nbformat

from rlnotes.experiments import registry
from rlnotes.report import addresses
from rlnotes.runs import store

here = Path(__file__).parent
source = Path(sys.argv[1]) if len(sys.argv) > 1 else here / "chapter.txt"
target = Path(sys.argv[2]) if len(sys.argv) > 2 else here / "aggrevated.ipynb"


def missing(name: str) -> list[str]:
    if name in registry.EXPERIMENTS:
        variants = registry.find(name).variants
        wanted = [(name, v) for v, one in variants.items() if not one.planned]
    else:
        id, variant, _ = addresses.split(name, "")
        wanted = [(id, variant)]
    return [f"{id}/{v}" for id, v in wanted if not store.recorded_seeds(id, v)]


cells, kept, checks, dropped = [], True, [], {}
for number, line in enumerate(source.read_text().splitlines(), 1):
    if not line.startswith("%%"):
        if kept and cells:
            cells[-1][2].append(line)
        continue
    word, *rest = line[2:].split()
    if word == "SECTION":
        lacking = [x for name in rest for x in missing(name)]
        kept = not lacking
        if lacking:
            dropped[number] = lacking
    elif word == "END":
        kept = True
    elif word == "CHECK:":
        if kept:
            checks.append((number, " ".join(rest)))
    elif word in ("md", "code"):
        if kept:
            cells.append((word, rest, []))
    else:
        raise SystemExit(f"{source}:{number}: {line}")

made = []
for kind, tags, lines in cells:
    most = "\n\n\n" if kind == "code" else "\n\n"
    text = re.sub(r"\n{3,}", most, "\n".join(lines).strip("\n"))
    if not text:
        continue
    make = nbformat.v4.new_markdown_cell if kind == "md" else nbformat.v4.new_code_cell
    cell = make(text)
    cell["id"] = f"cell-{len(made):02d}"
    if tags:
        cell.metadata["tags"] = tags
    made.append(cell)
book = nbformat.v4.new_notebook(cells=made)
book.metadata = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
nbformat.write(book, target)
sources = [cell.source for cell in made if cell.cell_type == "code"]
code = [line for one in sources for line in one.splitlines() if line.strip()]
print(f"{target}: {len(made)} cells, {len(code)} lines of code (at most 240)")
for number, lacking in dropped.items():
    more = " …" if len(lacking) > 4 else ""
    print(f"left out, line {number}: no record of {', '.join(lacking[:4])}{more}")
for number, note in checks:
    print(f"to check, line {number}: {note}")
