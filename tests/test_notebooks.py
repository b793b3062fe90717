"""Every chapter runs, its outputs are compared, and its prose has no typed-in results."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest

from rlnotes.experiments import ledger

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
PARAMETERS = {"BUDGET", "SEED"}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def checked_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if "nbval-check-output" in cell.metadata.get("tags", [])]


def nbval(path: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "--nbval-lax", f"--nbval-sanitize-with={ROOT / 'tests' / 'nbval.cfg'}"]
    command += ["-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(path.parent), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"td3bc", "ledger"}


@each_notebook
def test_papermill_runs_it_at_the_smoke_budget(path: Path, tmp_path: Path) -> None:
    # papermill only logs a misspelt parameter and goes on, so the names are checked first.
    assert set(papermill.inspect_notebook(path)) == PARAMETERS
    output = tmp_path / path.name
    papermill.execute_notebook(path, output, {"BUDGET": "smoke", "SEED": 1}, cwd=BOOK, progress_bar=False)
    injected = [c for c in nbformat.read(output, 4).cells if "injected-parameters" in c.metadata.get("tags", [])]
    assert len(injected) == 1


@each_notebook
def test_nbval_has_something_to_compare(path: Path) -> None:
    cells = checked_cells(nbformat.read(path, 4))
    assert cells
    assert all(cell.outputs for cell in cells), "a checked cell without output proves nothing"


@each_notebook
def test_the_committed_outputs_come_from_the_ci_budget(path: Path) -> None:
    notebook = nbformat.read(path, 4)
    (parameters,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert 'BUDGET = "ci"' in parameters.source
    assert "SEED = 0" in parameters.source
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run once from top to bottom: make refresh"
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]


@each_notebook
def test_nbval_finds_the_same_outputs_at_the_ci_budget(path: Path) -> None:
    result = nbval(path)
    assert result.returncode == 0, result.stdout[-4000:]


def test_a_wrong_number_in_a_checked_cell_fails(tmp_path: Path) -> None:
    """The control for the test above: one digit of one committed figure is changed in a copy."""
    notebook = nbformat.read(BOOK / "ledger.ipynb", 4)
    (output,) = checked_cells(notebook)[0].outputs
    html = output.data["text/html"]
    wrong = re.sub(r"<td>−(\d)", lambda found: f"<td>−{(int(found[1]) + 1) % 10}", html, count=1)
    assert wrong != html
    copy = tmp_path / "ledger.ipynb"
    nbformat.write(notebook, copy)
    assert nbval(copy).returncode == 0, "the unchanged copy passes"
    output.data["text/html"] = wrong
    nbformat.write(notebook, copy)
    result = nbval(copy)
    assert result.returncode == 1
    assert "1 failed" in result.stdout


MARKUP = re.compile(
    r"```.*?```|\$\$.*?\$\$|\$[^$]+\$|\{[a-z:]+\}`[^`]*`|`[^`]*`|\]\([^)]*\)|^\s*:?\w+:.*$|^#.*$",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"(?<![\w.])[−-]?\d[\d,]*(?:\.\d+)?%?")


def typed_numbers(markdown: str) -> list[str]:
    """Numbers that a reader could take for results: beyond twelve, or with a decimal point."""
    found = NUMBER.findall(MARKUP.sub(" ", markdown))
    return [text for text in found if "." in text or abs(float(re.sub("[−,%]", "", text))) > 12]


def test_typed_numbers_are_found_and_markup_is_not() -> None:
    assert typed_numbers("We got −147.2 and 95%, in 3 runs.") == ["−147.2", "95%"]
    assert typed_numbers(r"With $\alpha = 2.5$, `x = 99` and {glue:text}`iqm:.1f` all is well.") == []


PROSE = [
    (path, "\n\n".join(c.source for c in nbformat.read(path, 4).cells if c.cell_type == "markdown"))
    for path in NOTEBOOKS
]
PROSE += [(path, path.read_text()) for path in sorted(BOOK.glob("*.md"))]


@pytest.mark.parametrize(("path", "prose"), PROSE, ids=[path.name for path, _ in PROSE])
def test_figures_in_prose_come_from_records_or_from_the_notes(path: Path, prose: str) -> None:
    from_the_notes = " ".join(f"{row.notes} {row.bar}" for row in ledger.ROWS)
    ours = sum("not in the notes" in row.notes for row in ledger.ROWS)
    allowed = set(NUMBER.findall(from_the_notes)) | {str(len(ledger.ROWS)), str(len(ledger.ROWS) - ours)}
    assert [text for text in typed_numbers(prose) if text not in allowed] == []
