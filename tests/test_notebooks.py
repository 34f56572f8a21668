"""The notebooks keep their form.

nbval compares what they print, and `make notebooks ARGS=--check` proves that running
one again changes no byte, pictures included.
"""

import ast
import base64
import io
import itertools
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode, v4
from PIL import Image

from agentlib.settings import MODEL
from tools.execution import PICTURE, WIDGET, normalise
from tools.notebooks import difference, dumps, keep_pictures, settle

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LESSONS = [path for path in NOTEBOOKS if path.stem[:2].isdigit()]
BOLD = re.compile(
    r"\*\*(.+?)\*\*|__(.+?)__|<b>(.+?)</b>|<strong>(.+?)</strong>", re.DOTALL
)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
NUMBER = re.compile(r"\d[\d,.]*\d|\d")
NBVAL = re.compile(r"#\s*(NBVAL|PYTEST_VALIDATE)")
MODEL_ID = re.compile(r"claude-[a-z]+-\d")
LINK = re.compile(r"\]\((?!\w+:)([^)#]*)(#[^)]*)?\)")


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell: NotebookNode) -> str:
    """Return all text below a cell."""
    texts: list[str] = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        texts += [output.get("text", ""), output.get("evalue", "")]
        texts += [
            data.get(kind, "") for kind in ("text/plain", "text/html", "text/markdown")
        ]
    return "\n".join(texts)


def appears(number: str, text: str) -> bool:
    """Whether a text has this number whole: "345" doesn't appear in "12,345 tokens"."""
    return (
        re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(number)}(?![.,]?\d)", text)
        is not None
    )


def counts_out_of_order(notebook: NotebookNode) -> list[str]:
    counts = [cell.execution_count for cell in code_cells(notebook)]
    return (
        []
        if counts == list(range(1, len(counts) + 1))
        else [f"execution counts {counts}"]
    )


def widget_state(notebook: NotebookNode) -> list[str]:
    faults = ["widget state in the metadata"] if "widgets" in notebook.metadata else []
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if WIDGET in output.get("data", {}):
                faults.append(f"a widget without a picture: {cell.source[:60]!r}")
    return faults


def nbval_marks(notebook: NotebookNode) -> list[str]:
    marked = [cell.source[:60] for cell in notebook.cells if NBVAL.search(cell.source)]
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
    return marked + [tag for tag in tags if tag.lower().startswith("nbval")]


def model_ids(notebook: NotebookNode) -> list[str]:
    return [
        name for cell in code_cells(notebook) for name in MODEL_ID.findall(cell.source)
    ]


def numbers_not_printed(notebook: NotebookNode) -> list[str]:
    """Bold numbers of the prose that don't appear in the nearest output above."""
    above = ""
    faults = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            above = printed(cell) or above
            continue
        for groups in BOLD.findall(CODE.sub("", cell.source)):
            numbers = NUMBER.findall("".join(groups))
            faults += [number for number in numbers if not appears(number, above)]
    return faults


def lines_too_wide(notebook: NotebookNode) -> list[str]:
    """Printed lines of more than 72 columns, which don't fit a page 1,024 pixels
    wide."""
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    shown = [each for each in outputs if "text/markdown" not in each.get("data", {})]
    texts = [
        each.get("text", "") + each.get("data", {}).get("text/plain", "")
        for each in shown
    ]
    return [line for text in texts for line in text.splitlines() if len(line) > 72]


def dead_links(notebook: NotebookNode) -> list[str]:
    """Links to a missing file, or to a term that isn't in the glossary."""
    prose = "".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )
    return [
        file + term
        for file, term in LINK.findall(prose)
        if not leads_somewhere(file, term)
    ]


def leads_somewhere(file: str, term: str) -> bool:
    target = ROOT / "notebooks" / file
    if file != "GLOSSARY.md" or not term:
        return target.exists()
    heads = re.findall(r"^## (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
    return term.removeprefix("#") in [head.replace(" ", "-") for head in heads]


RULES = [
    counts_out_of_order,
    widget_state,
    nbval_marks,
    model_ids,
    numbers_not_printed,
    lines_too_wide,
    dead_links,
]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_breaks_no_rule_and_is_stored_normalised(path: Path):
    notebook = nbformat.read(path, as_version=4)
    assert {r.__name__: faults for r in RULES if (faults := r(notebook))} == {}
    assert difference(path, dumps(normalise(notebook))) == ""


FOLD = re.compile(r"<details.*?</details>", re.DOTALL)
LIMITS = {"words": 1_600, "cells": 24, "exercises": 4, "predictions": 5, "minutes": 50}


def extent(notebook: NotebookNode) -> dict[str, float]:
    """Count what a learner reads and does; folds and the set-up cell don't count."""
    texts = [
        FOLD.sub("", c.source) for c in notebook.cells if c.cell_type == "markdown"
    ]
    cells = [
        c for c in code_cells(notebook) if "setup" not in c.metadata.get("tags", [])
    ]
    words = sum(len(text.split()) for text in texts)
    lines = sum(
        bool(line.strip()) for cell in cells for line in cell.source.splitlines()
    )
    exercises = sum("exercise" in cell.metadata.get("tags", []) for cell in cells)
    predictions = sum(cell.source.startswith("predict(") for cell in cells)
    minutes = words / 150 + 0.1 * lines + 5 * exercises + predictions
    counts = {"words": words, "cells": len(cells), "exercises": exercises}
    return {**counts, "predictions": predictions, "minutes": round(minutes, 1)}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_keeps_to_its_length(path: Path):
    notebook = nbformat.read(path, as_version=4)
    counts = extent(notebook)
    assert {each: n for each, n in counts.items() if n > LIMITS[each]} == {}
    text = "".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )
    [stated] = re.findall(r"\*\*Takes\*\* about (\d+) minutes", text)
    assert (
        counts["minutes"] <= int(stated) <= counts["minutes"] + 15
    )  # what people took
    index = nbformat.read(path.with_name("index.ipynb"), as_version=4)
    lists = [cell.source for cell in index.cells if cell.cell_type == "markdown"]
    [row] = rows(path, "\n".join(lists))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for each in (row, *rows(path, readme)):
        assert each.endswith(f"| {stated} |")


def rows(path: Path, text: str) -> list[str]:
    """Return the rows of a text's tables that begin with a link to a lesson."""
    link = re.compile(rf"\| \[[^]]+\]\((notebooks/)?{re.escape(path.name)}\) \|")
    return [line for line in text.splitlines() if link.match(line)]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_set_up_is_one_folded_cell_and_a_prediction_stands_before_its_answer(
    path: Path,
):
    notebook = nbformat.read(path, as_version=4)
    first, *cells = code_cells(notebook)
    assert first.metadata["tags"] == ["setup"]
    assert first.metadata["jupyter"] == {"source_hidden": True}
    assert [
        cell.source for cell in cells if re.search("^(from|import) ", cell.source)
    ] == []
    assert not re.search(r"^(def|class) |lambda", first.source, re.MULTILINE)
    for cell, answer in itertools.pairwise(cells):
        if asked := re.match(r'predict\("(.+?)"', cell.source):
            assert f'compare("{asked[1]}"' in answer.source


IMPORTS = 12
"""The most import statements of a set-up cell. A lesson's first cell is plumbing, so what
only the lesson's own cells need stands in its room or in `course.page`."""


@pytest.mark.parametrize(
    "path", [*LESSONS, ROOT / "notebooks" / "an_hour.ipynb"], ids=lambda path: path.stem
)
def test_a_set_up_is_short_and_imports_only_what_cells_or_answers_use(path: Path):
    """ruff can't tell: an exercise's stub doesn't use what its answer needs."""
    notebook = nbformat.read(path, as_version=4)
    first, *cells = code_cells(notebook)
    imports = [
        node
        for node in ast.parse(first.source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert len(imports) <= IMPORTS
    names = {each.asname or each.name for node in imports for each in node.names}
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    rest = [line for line in first.source.splitlines() if "import " not in line]
    code = "\n".join(
        [*rest, *(cell.source for cell in cells), *CODE.findall("".join(texts))]
    )
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", code)] == []
    assert [cell.source for cell in cells if "noqa" in cell.source] == []
    assert "noqa" not in first.source


def test_each_lesson_links_to_the_one_before_it_and_the_one_after_it():
    for before, path, after in zip(
        [None, *LESSONS], LESSONS, [*LESSONS[1:], None], strict=False
    ):
        cells = nbformat.read(path, as_version=4).cells
        top = cells[0].source.splitlines()[0]
        bottom = cells[-1].source.splitlines()[-1]
        assert top == bottom
        expected = [
            before.name if before else "../README.md",
            "index.ipynb",
            "GLOSSARY.md",
        ]
        assert [file for file, _ in LINK.findall(top)] == expected + (
            [after.name] if after else []
        )


def notebook(*cells: NotebookNode) -> NotebookNode:
    return v4.new_notebook(cells=list(cells))


def code(
    source: str = "1", count: int = 1, text: str = "", **data: str
) -> NotebookNode:
    shown = {"text/plain": text} | ({WIDGET: "{}"} if "widget" in data else {})
    output = v4.new_output("display_data", shown)
    return v4.new_code_cell(source, execution_count=count, outputs=[output])


prose = v4.new_markdown_cell


@pytest.mark.parametrize(
    ("rule", "planted"),
    [
        (counts_out_of_order, notebook(code(count=1), code(count=3))),
        (counts_out_of_order, notebook(code(count=None))),
        (widget_state, notebook(code(widget="yes"))),
        (nbval_marks, notebook(code("# NBVAL_IGNORE_OUTPUT\n1"))),
        (model_ids, notebook(code(f'model = "{MODEL}"'))),
        (
            numbers_not_printed,
            notebook(code(text="12,345 tokens"), prose("It sent **12,346**.")),
        ),
        (
            numbers_not_printed,
            notebook(code(text="12,345 tokens"), prose("It sent **345**.")),
        ),
        (
            numbers_not_printed,
            notebook(code(text="7"), code(text="8"), prose("**7** turns")),
        ),
        (lines_too_wide, notebook(code(text="a" * 72 + "\n" + "b" * 73))),
        (dead_links, notebook(prose("[one](index.ipynb), [two](indecks.ipynb)"))),
        (
            dead_links,
            notebook(prose("[a](GLOSSARY.md#tool-use), [b](GLOSSARY.md#tool-used)")),
        ),
    ],
)
def test_a_planted_fault_is_found(
    rule: Callable[[NotebookNode], list[str]], planted: NotebookNode
):
    assert len(rule(planted)) == 1


def test_a_right_number_is_found_in_the_nearest_output():
    right = notebook(code(text="12,345 of 32,000."), prose("**12,345 tokens**"))
    assert numbers_not_printed(right) == []


def test_normalising_twice_is_normalising_once():
    messy = notebook(code(widget="yes"), code())
    messy.cells[0].outputs[0].data[PICTURE] = "aaaa"
    messy.metadata["widgets"] = {"state": 1}
    messy.metadata["language_info"] = {"name": "python", "version": "3.11.7"}
    messy.cells[0].metadata["execution"] = {"iopub.execute_input": "2026-11-21"}
    messy.cells[1]["id"] = messy.cells[0]["id"]
    clean = normalise(messy)
    assert clean.metadata["language_info"] == {"name": "python"}
    assert "widgets" not in clean.metadata
    assert list(clean.cells[0].outputs[0].data) == ["text/plain", PICTURE]
    assert clean.cells[0].metadata == {}
    assert clean.cells[0]["id"] != clean.cells[1]["id"]
    assert dumps(normalise(clean)) == dumps(clean)


def drawn(shade: int) -> NotebookNode:
    buffer = io.BytesIO()
    cell = code()
    Image.new("RGB", (4, 4), (shade, 0, 0)).save(buffer, "png")
    cell.outputs[0].data[PICTURE] = base64.b64encode(buffer.getvalue()).decode()
    return notebook(cell)


@pytest.mark.parametrize(("shade", "kept"), [(110, True), (150, False)])
def test_a_stored_picture_stays_if_nobody_sees_the_difference(shade: int, kept: bool):
    stored = drawn(100)
    fresh = drawn(shade)
    keep_pictures(fresh, stored)
    assert (fresh.cells[0].outputs == stored.cells[0].outputs) == kept


def test_a_check_prints_what_would_change_and_changes_nothing(tmp_path, capsys):
    file = tmp_path / "00.ipynb"
    file.write_bytes(b"old\n")
    assert settle(file, "old\n", check=True)
    assert not settle(file, "new\n", check=True)
    assert file.read_bytes() == b"old\n"
    assert "-old\n+new" in capsys.readouterr().out
    assert settle(file, "new\n", check=False)
    assert file.read_bytes() == b"new\n"
    assert not settle(file, "new\r\n", check=True)
