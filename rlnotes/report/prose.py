"""Numbers in sentences: a chapter names them by address, nobody types them."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

from rlnotes import paths
from rlnotes.errors import UserError
from rlnotes.report import addresses
from rlnotes.report.results import Results

ROLE = re.compile(r"\{glue:text\}`([^`]+)`")


def glue_numbers(chapter: str) -> None:
    """Glue what the chapter's sentences name, as in {glue:text}`gail/cartpole/ten:.0f`.

    Keys that begin with no experiment's id are left to calls of `glue`. What is glued
    has six digits, so that it is the same text on every CPU and can be compared.
    """
    from myst_nb import glue  # part of the book's tools, not of the package's

    found: dict[str, Results] = {}
    for key in dict.fromkeys(_keys(chapter)):
        if id := addresses.experiment_of(key):
            results = found.setdefault(id, Results(id))
            value = results.number(key)
            if isinstance(value, float):
                if math.isnan(value):
                    raise UserError(f"{chapter}: {key} has no value over all seeds")
                value = float(f"{value:.6g}")
            glue(key, value, display=False)


def _keys(chapter: str) -> Iterator[str]:
    """Of all roles in the Markdown; those that name another page are that page's."""
    here = Path(f"{chapter}.ipynb")
    path = here if here.exists() else paths.root() / "book" / here
    try:
        cells = json.loads(path.read_text())["cells"]
    except OSError as problem:
        raise UserError(f"{path}: there is no such chapter") from problem
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for role in ROLE.findall("".join(cell["source"])):
                if "::" not in role:
                    yield addresses.formatted(role)[0]
