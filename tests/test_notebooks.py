"""Every chapter runs, its outputs are compared, its cells are short, and its prose has
one sentence per line and no typed-in results."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat
import papermill
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from rlnotes.envs.atari import AtariEnv
from rlnotes.envs.cartpole import BulletCartPoleEnv
from rlnotes.envs.maze import UMazeEnv
from rlnotes.envs.pixel_cartpole import PixelCartPoleEnv
from rlnotes.envs.plate import BalancingPlateEnv
from rlnotes.envs.racecar import RaceCarEnv
from rlnotes.report import ledger

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
ABOUT = {"intro", "ledger", "costs", "reproducibility"}  # pages that are no chapters
CHAPTERS = [path for path in NOTEBOOKS if path.stem not in ABOUT]
PARAMETERS = {"BUDGET", "SEED"}
WIDEST, LONGEST_CELL, ALL_LINES = 88, 25, 280

# Measured on two busy cores, at the budgets smoke and ci: the longest are run first.
SECONDS = {
    "aggrevated": (60, 120),
    "costs": (10, 10),
    "doctor": (40, 50),
    "gail": (60, 120),
    "intro": (20, 20),
    "ledger": (10, 15),
    "parallel": (60, 120),
    "pixels": (60, 160),
    "reproducibility": (25, 50),
    "td3bc": (90, 240),
    "worlds": (45, 110),
}
NEW_CHAPTER = (60, 180)

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def each_notebook_run(budget: int) -> pytest.MarkDecorator:
    """As `each_notebook`, each with the time that it takes."""
    runs = [
        pytest.param(
            path,
            marks=pytest.mark.slow(seconds=SECONDS.get(path.stem, NEW_CHAPTER)[budget]),
            id=path.stem,
        )
        for path in NOTEBOOKS
    ]
    return pytest.mark.parametrize("path", runs)


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


@cache  # some are megabytes, for their films
def cells_of(path: Path) -> list[nbformat.NotebookNode]:
    return nbformat.read(path, 4).cells


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in cells_of(path) if cell.cell_type == "code"]


def outputs(path: Path) -> list[nbformat.NotebookNode]:
    return [output for cell in code_cells(path) for output in cell.outputs]


def code_lines(source: str) -> list[str]:
    return [line for line in source.splitlines() if line.strip()]


def prose(path: Path) -> str:
    """The Markdown of a page."""
    if path.suffix == ".md":
        return path.read_text()
    texts = [cell.source for cell in cells_of(path) if cell.cell_type == "markdown"]
    return "\n\n".join(texts)


# --- they run, and what is printed is what comes out


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"worlds", "td3bc", "gail", "ledger"}


@each_notebook_run(budget=0)
def test_papermill_runs_it_at_the_smoke_budget(path: Path, tmp_path: Path) -> None:
    # papermill only logs a misspelt parameter and goes on, so the names come first.
    assert set(papermill.inspect_notebook(path)) == PARAMETERS
    output = tmp_path / path.name
    given = {"BUDGET": "smoke", "SEED": 1}
    papermill.execute_notebook(path, output, given, cwd=BOOK, progress_bar=False)
    injected = [c for c in code_cells(output) if "injected-parameters" in tags(c)]
    assert len(injected) == 1


def nbval(path: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "--nbval-lax"]
    command += [f"--nbval-sanitize-with={ROOT / 'tests' / 'nbval.cfg'}"]
    command += ["-p", "no:cacheprovider", "-c", "/dev/null"]
    command += ["--rootdir", str(path.parent), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@each_notebook_run(budget=1)
def test_nbval_finds_the_same_outputs_at_the_ci_budget(path: Path) -> None:
    result = nbval(path)
    assert result.returncode == 0, result.stdout[-4000:]


@pytest.mark.slow(seconds=25)
def test_a_wrong_number_in_a_checked_cell_fails(tmp_path: Path) -> None:
    """The control for the test above: one digit of one figure is changed in a copy."""
    notebook = nbformat.read(BOOK / "ledger.ipynb", 4)
    tables = [
        output
        for cell in notebook.cells
        if "nbval-check-output" in tags(cell)
        for output in cell.outputs
        if "text/html" in output.data
    ]
    html = tables[0].data["text/html"]
    wrong = re.sub(
        r"<td>−(\d)", lambda found: f"<td>−{(int(found[1]) + 1) % 10}", html, count=1
    )
    assert wrong != html
    copy = tmp_path / "ledger.ipynb"
    nbformat.write(notebook, copy)
    assert nbval(copy).returncode == 0, "the unchanged copy passes"
    tables[0].data["text/html"] = wrong
    nbformat.write(notebook, copy)
    result = nbval(copy)
    assert result.returncode == 1
    assert "1 failed" in result.stdout


@each_notebook
def test_nbval_has_something_to_compare(path: Path) -> None:
    checked = [cell for cell in code_cells(path) if "nbval-check-output" in tags(cell)]
    assert checked
    assert all(cell.outputs for cell in checked), "a cell without output proves nothing"


@each_notebook
def test_the_committed_outputs_come_from_the_ci_budget(path: Path) -> None:
    cells = code_cells(path)
    (parameters,) = [cell for cell in cells if "parameters" in tags(cell)]
    assert 'BUDGET = "ci"' in parameters.source
    assert "SEED = 0" in parameters.source
    counts = [cell.execution_count for cell in cells]
    once = list(range(1, len(counts) + 1))
    assert counts == once, "run once from top to bottom: make refresh"
    assert not [one for one in outputs(path) if one.output_type == "error"]


@each_notebook
def test_no_warning_and_no_progress_bar_is_committed(path: Path) -> None:
    assert [one.text for one in outputs(path) if one.get("name") == "stderr"] == []


# --- a cell is one thought, and nothing scrolls sideways


@each_notebook
def test_cells_are_short_and_narrow(path: Path) -> None:
    for cell in code_cells(path):
        assert len(code_lines(cell.source)) <= LONGEST_CELL, cell.source
        assert [line for line in code_lines(cell.source) if len(line) > WIDEST] == []


@each_notebook
def test_the_code_of_a_chapter_can_be_read_in_one_sitting(path: Path) -> None:
    assert sum(len(code_lines(cell.source)) for cell in code_cells(path)) <= ALL_LINES


# How the rest looks on a page is seen in `test_browser`.


@each_chapter
def test_parameters_and_imports_are_folded(path: Path) -> None:
    parameters, imports = code_cells(path)[:2]
    assert "parameters" in tags(parameters)
    assert imports.source.startswith("import rlnotes")
    for cell in (parameters, imports):
        assert "hide-input" in tags(cell)


@each_chapter
def test_it_opens_with_question_answer_and_picture(path: Path) -> None:
    first, *others = cells_of(path)
    parts = re.findall(
        r"^\*\*(The question|The answer|Run it)\.\*\*", first.source, re.M
    )
    assert parts == ["The question", "The answer", "Run it"]
    assert "{glue:text}`" in first.source
    for cell in others:
        if cell.cell_type == "markdown":
            raise AssertionError("no picture before the text")
        if any("image/png" in output.get("data", {}) for output in cell.outputs):
            break


def shown_pictures(path: Path) -> list[nbformat.NotebookNode]:
    return [one for one in outputs(path) if "image/png" in one.get("data", {})]


@each_notebook
def test_every_figure_is_kept_with_words_for_it(path: Path) -> None:
    for one in shown_pictures(path):
        about = one.metadata.get("image/png", {})
        assert about.get("alt"), "run it again: make refresh"
        assert about["width"] > 0
        assert about["height"] > 0


FENCED = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown_source(path: Path) -> list[str]:
    """The lines of the package that a chapter shows."""
    pages = [
        one.data.get("text/markdown", "") for one in outputs(path) if "data" in one
    ]
    blocks = [block for page in pages for block in FENCED.findall(page)]
    return [line for block in blocks for line in block.splitlines()]


@each_chapter
def test_the_source_that_is_shown_is_narrow(path: Path) -> None:
    lines = shown_source(path)
    assert len(lines) > 50, "a chapter shows the code that it is about"
    assert [line for line in lines if len(line) > WIDEST] == []


# --- something to change, something to answer


@each_chapter
def test_a_reader_can_change_something_and_it_costs_nothing_otherwise(
    path: Path,
) -> None:
    sources = [cell.source for cell in code_cells(path)]
    guarded = [source for source in sources if "\nif RUN:\n" in f"\n{source}\n"]
    assert guarded
    assert all(source.startswith("# Change it: ") for source in guarded)
    assert sum("RUN = False" in source for source in sources) == 1


@each_chapter
def test_it_ends_with_three_exercises_and_their_answers(path: Path) -> None:
    _, exercises = prose(path).split("\n## Exercises\n")
    exercises = exercises.split("\n## ")[0]
    assert re.findall(r"^\*\*(\d)\. ", exercises, re.MULTILINE) == ["1", "2", "3"]
    assert exercises.count("```{dropdown} Answer\n") == 3


# --- prose

MARKUP = re.compile(
    r"\$\$.*?\$\$|\$[^$]+\$|\{[a-z:]+\}`[^`]*`|`[^`]*`|\]\([^)]*\)"
    r"|^\s*:?\w+:[^\n]*$|^#[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
# Between dollar signs a number is still one, unless it is part of a formula.
NUMBER_AS_MATHS = re.compile(
    r"\$([−-]?[\d.]+(?:\{,\}\d+)*)(?:\\,\\mathrm\{(\w+)\})?\$(%?)"
)
NUMBER = re.compile(r"(?<![\w.,])[−-]?\d+(?:,\d{3})*(?:\.\d+)?%?")


def typed_numbers(markdown: str) -> list[str]:
    """Numbers that a reader could take for results: beyond twelve, or with a decimal
    point. Between dollar signs they may have a unit."""
    maths = [
        f"{number.replace('{,}', ',')}{percent} {unit}".rstrip()
        for number, unit, percent in NUMBER_AS_MATHS.findall(markdown)
    ]
    prose = MARKUP.sub(" ", without_blocks_of_code(markdown))
    found = NUMBER.findall(prose) + maths
    return [
        text
        for text in found
        if "." in text or abs(float(re.sub("[−,%]| .*", "", text))) > 12
    ]


def test_typed_numbers_are_found_and_markup_is_not() -> None:
    assert typed_numbers("We got −147.2 and 95%, in 3 runs.") == ["−147.2", "95%"]
    markup = r"With $\alpha = 2.5$, `x = 99` and {glue:text}`iqm:.1f` all is well."
    assert typed_numbers(markup) == []
    later = "# A heading\n\nThen 17 came, and 1,234, and 5.\n\n## One more\n\nAnd 18."
    assert typed_numbers(later) == ["17", "1,234", "18"]
    boxed = "```{note}\nWe got 95%.\n```\n\n```python\nx = 99\n```"
    assert typed_numbers(boxed) == ["95%"]
    maths = r"After $150{,}000$ steps with $50\,\mathrm{N}$: $96$% and $-0.5$."
    assert typed_numbers(maths) == ["150,000", "50 N", "96%", "-0.5"]


# What pages quote of the notes' programs, and the note and line where it stands.
SETTINGS_OF_THE_NOTES = {
    "1,000": "003:2232",  # steps from one renewal of the plate's copy to the next
    "2,048": "001:1400",  # steps of REINFORCE's rollout, at least
    "2,500": "001:2061",  # steps of an episode on the track
    "5,000": "001:2060",  # of these episodes
    "128": "001:2280",  # steps that the discriminator sees
    "0.001": "004:704",  # coefficient of entropy, and no more
    "299": "003:419",  # steps of the longest life, by which a model was chosen
}

# What pages may quote of the worlds is what their docstrings say.
WORLDS: tuple[type, ...] = (
    BulletCartPoleEnv,
    BalancingPlateEnv,
    RaceCarEnv,
    UMazeEnv,
    CartPoleEnv,
    AtariEnv,
    PixelCartPoleEnv,
)

PAGES = [*NOTEBOOKS, *sorted(BOOK.glob("*.md"))]
DOCUMENTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_figures_in_prose_come_from_records_the_notes_or_a_world(path: Path) -> None:
    entries = ledger.entries()
    from_the_notes = " ".join(f"{entry.notes} {entry.bar}" for entry in entries)
    ours = sum("not in the notes" in entry.notes for entry in entries)
    counts = {str(len(entries)), str(len(entries) - ours)}
    allowed = set(NUMBER.findall(from_the_notes)) | counts
    typed = [text for text in typed_numbers(prose(path)) if text not in allowed]
    specified = " ".join(world.__doc__ or "" for world in WORLDS)
    numbers = {*NUMBER.findall(specified), *SETTINGS_OF_THE_NOTES}
    assert [
        text
        for text in typed
        if (text not in specified if " " in text else text not in numbers)
    ] == []


# What has no sentences in it is taken out; what can begin a sentence becomes an X.
NO_PROSE = [
    (r"(?ms)^\$\$.*?\$\$", ""),
    (r"(?m)^( *\||#|\([\w-]+\)=| *:[\w-]+:).*$", ""),  # tables, headings, options
    (r"\{cite[:a-z]*\}`[^`]*`", ""),
    (r"(\{[\w:]+\})?(`+)[^`]+?\2", "X"),
    (r"\$[^$\n]+\$", "X"),
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"\b(e\.g|i\.e|cf|vs|etc|et al|resp|Fig|Eq|Dr)\.", r"\1"),
    (r"(?m)^ *([-*+]|\d+\.) +", ""),  # the marks of lists
    # A heading at the beginning of a line, and the question that a caption answers.
    (r"(?m)^\*\*[^*\n]+\*\*", ""),
    (r"(?m)^\*[^*.?\n]+\?", "*"),
]
FENCE = re.compile(r" *(`{3,}|~{3,}|:{3,})(.*)")
NO_SENTENCES = ("{math", "{code", "{bibliography", "{raw}")


NEXT_SENTENCE = re.compile(r"[.!?][\"'”’)*_]* +[\"'“‘(*_]*(?=[A-Z])")


def without_blocks_of_code(markdown: str) -> str:
    """A directive, such as an admonition, has prose inside; other fences have none."""
    kept: list[str] = []
    around: list[tuple[str, str]] = []  # the fences that are open, with what they hold
    for line in markdown.splitlines():
        if fence := FENCE.match(line):
            mark, holds = fence[1], fence[2].strip()
            if around and not holds and around[-1][0] == mark:
                around.pop()
            else:
                around.append((mark, holds))
        elif all(
            holds.startswith("{") and not holds.startswith(NO_SENTENCES)
            for _, holds in around
        ):
            kept.append(line)
    return "\n".join(kept)


def crowded_lines(markdown: str) -> list[str]:
    """Lines on which a sentence begins after the end of another one."""
    markdown = without_blocks_of_code(markdown)
    for pattern, instead in NO_PROSE:
        markdown = re.sub(pattern, instead, markdown)
    return [line for line in markdown.splitlines() if NEXT_SENTENCE.search(line)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_each_sentence_has_a_line_of_its_own(path: Path) -> None:
    assert crowded_lines(prose(path)) == []


@pytest.mark.parametrize(
    "crowded",
    [
        "One. Two.",
        "Is it? It is.",
        "It ends with a quote.” And goes on.",
        "It ends. (And goes on.)",
        "It ends in 500. `code` begins.",
        "It ends {cite:p}`somebody`. $x$ begins.",
        "- An item. With two sentences.",
        "**A heading.** One. Two.",
        "*A question? An answer. And more.*",
        "```{admonition} Title\n:class: important\nOne. Two.\n```",
        "```python\nx = 1\n```\nOne. Two.",
        "```{note}\nOne.\n```\nOne. Two.\n```{note}\nThree.\n```",
        "````{note}\n```python\nx = 1\n```\nOne. Two.\n````",
        "$$\nx\n$$ (eq)\n\nOne. Two.",
    ],
)
def test_two_sentences_on_a_line_are_seen(crowded: str) -> None:
    (line,) = crowded_lines(crowded)
    assert line


@pytest.mark.parametrize(
    "fine",
    [
        "One.\nTwo.",
        "About 0.5 or 3. something, e.g. Gymnasium, i.e. `code`, and so on …",
        "1. First.\n2. Second.",
        "- **A heading.** One sentence.",
        "*A question? An answer.*",
        "Called as `f(x). Then` and {math}`y. Z`, with $a. B$.",
        "| One. Two. | Three. Four. |",
        "## A heading. And more",
        "```python\n# One. Two.\n```",
        "```\n# One. Two.\n```",
        "````{note}\n```python\n# One. Two.\n```\nOne.\n````",
        "$$\na. B\n$$ (eq)",
        "By someone {cite:p}`one. Two`, and [a link](One. Two).",
    ],
)
def test_markup_and_abbreviations_are_no_sentences(fine: str) -> None:
    assert crowded_lines(fine) == []
