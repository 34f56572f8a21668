"""Holds the notebooks to their form. What they print is nbval's part, not this file's;
that running one again changes no byte, pictures included, `make notebooks ARGS=--check` proves."""

import base64
import io
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode, v4
from PIL import Image

from agentlib.settings import MODEL
from tools.notebooks import PICTURE, WIDGET, difference, dumps, normalise, same_picture

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BOLD = re.compile(r"\*\*(.+?)\*\*|__(.+?)__|<b>(.+?)</b>|<strong>(.+?)</strong>", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
NUMBER = re.compile(r"\d[\d,.]*\d|\d")
NBVAL = re.compile(r"#\s*(NBVAL|PYTEST_VALIDATE)", re.IGNORECASE)
MODEL_ID = re.compile(r"claude-[a-z]+-\d")


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell: NotebookNode) -> str:
    """Everything a reader can read below a cell."""
    texts: list[str] = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        texts += [output.get("text", ""), output.get("evalue", "")]
        texts += [data.get(kind, "") for kind in ("text/plain", "text/html", "text/markdown")]
    return "\n".join(texts)


def stands(number: str, text: str) -> bool:
    """stands("345", "12,345 tokens") is False: part of a number is another number."""
    return re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(number)}(?![.,]?\d)", text) is not None


def counts_out_of_order(notebook: NotebookNode) -> list[str]:
    counts = [cell.execution_count for cell in code_cells(notebook)]
    return [] if counts == list(range(1, len(counts) + 1)) else [f"execution counts {counts}"]


def widget_state(notebook: NotebookNode) -> list[str]:
    faults = ["widget state in the metadata"] if "widgets" in notebook.metadata else []
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if WIDGET in output.get("data", {}):
                faults.append(f"a widget for which no picture stands in: {cell.source[:60]!r}")
    return faults


def nbval_marks(notebook: NotebookNode) -> list[str]:
    marked = [
        c.source[:60] for c in notebook.cells if re.search(r"#\s*(NBVAL|PYTEST_VALIDATE)", c.source)
    ]
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
    return marked + [tag for tag in tags if tag.lower().startswith("nbval")]


def model_ids(notebook: NotebookNode) -> list[str]:
    return [found for cell in code_cells(notebook) for found in MODEL_ID.findall(cell.source)]


def numbers_not_printed(notebook: NotebookNode) -> list[str]:
    """Bold numbers of the prose that do not stand in the nearest output above."""
    above, faults = "", []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            above = printed(cell) or above
            continue
        for groups in BOLD.findall(CODE.sub("", cell.source)):
            numbers = NUMBER.findall("".join(groups))
            faults += [number for number in numbers if not stands(number, above)]
    return faults


def code_without_prose(notebook: NotebookNode) -> list[str]:
    faults, run = [], 0
    for cell in notebook.cells:
        run = run + 1 if cell.cell_type == "code" else 0
        if run > 2:
            faults.append(f"a third code cell without prose: {cell.source[:60]!r}")
    return faults


RULES = [
    counts_out_of_order,
    widget_state,
    nbval_marks,
    model_ids,
    numbers_not_printed,
    code_without_prose,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_notebook_breaks_a_rule(path: Path, rule: Callable[[NotebookNode], list[str]]):
    assert rule(nbformat.read(path, as_version=4)) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_is_stored_normalised(path: Path):
    assert difference(path, dumps(normalise(nbformat.read(path, as_version=4)))) == ""


def notebook(*cells: NotebookNode) -> NotebookNode:
    return v4.new_notebook(cells=list(cells))


def code(source: str = "1", count: int = 1, text: str = "", **data: str) -> NotebookNode:
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
        (numbers_not_printed, notebook(code(text="12,345 tokens"), prose("It sent **12,346**."))),
        (numbers_not_printed, notebook(code(text="12,345 tokens"), prose("It sent **345**."))),
        (numbers_not_printed, notebook(code(text="7"), code(text="8"), prose("**7** turns"))),
        (code_without_prose, notebook(code(), code(), code())),
    ],
)
def test_a_planted_fault_is_found(rule: Callable[[NotebookNode], list[str]], planted: NotebookNode):
    assert len(rule(planted)) == 1


def test_a_right_number_is_found_in_the_nearest_output():
    assert (
        numbers_not_printed(notebook(code(text="12,345 of 32,000."), prose("**12,345 tokens**")))
        == []
    )


def test_normalising_twice_is_normalising_once():
    messy = notebook(code(), code())
    messy.metadata["widgets"] = {"state": 1}
    messy.cells[0].metadata["execution"] = {"iopub.execute_input": "2026-11-21"}
    messy.cells[1]["id"] = messy.cells[0]["id"]
    clean = normalise(messy)
    assert "widgets" not in clean.metadata
    assert clean.cells[0].metadata == {}
    assert clean.cells[0]["id"] != clean.cells[1]["id"]
    assert dumps(normalise(clean)) == dumps(clean)


def test_a_widget_goes_where_a_picture_stands_in():
    cell = code(widget="yes")
    cell.outputs[0].data[PICTURE] = "aaaa"
    assert list(normalise(notebook(cell)).cells[0].outputs[0].data) == ["text/plain", PICTURE]


def test_only_shades_nobody_sees_make_no_new_picture():
    def png(shade: int) -> str:
        buffer = io.BytesIO()
        Image.new("RGB", (4, 4), (shade, 0, 0)).save(buffer, "png")
        return base64.b64encode(buffer.getvalue()).decode()

    assert same_picture(png(100), png(110))
    assert not same_picture(png(100), png(150))
