"""Run a notebook in a fresh kernel, and remove what differs from run to run."""

import warnings
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.validator import normalize

from tools.folds import spaced

WIDGET = "application/vnd.jupyter.widget-view+json"
PICTURE = "image/png"
KERNEL = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}
PASSING_METADATA = (
    "execution",
    "ExecuteTime",
    "widgets",
    "collapsed",
    "scrolled",
    "trusted",
)


def execute(
    notebook: NotebookNode, folder: Path, *, start: str = "", timeout: int = 60
) -> NotebookNode:
    """Run the notebook in a fresh kernel in `folder`. An unexpected error of a cell
    propagates.

    `start`: code that the kernel runs first. `timeout`: seconds for a cell.
    """
    fresh = nbformat.from_dict(notebook)
    lines = [f"--IPKernelApp.exec_lines={start}"] if start else []
    client = NotebookClient(
        fresh,
        timeout=timeout,
        startup_timeout=max(60, timeout),
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.log_level=ERROR", *lines],
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Remove everything that differs from run to run or from machine to machine.

    Folds get the gap that JupyterLab doesn't give them.
    """
    clean = nbformat.from_dict(notebook)
    language = {
        k: v
        for k, v in clean.metadata.get("language_info", {}).items()
        if k != "version"
    }
    clean.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": language}
    )
    clean.nbformat = 4
    clean.nbformat_minor = 5
    with warnings.catch_warnings(
        action="ignore"
    ):  # a cell that shares its id gets a new one
        _, clean = normalize(clean)
    for cell in clean.cells:
        if cell.cell_type == "markdown":
            cell.source = spaced(cell.source)
        for name in PASSING_METADATA:
            cell.metadata.pop(name, None)
        for output in cell.get("outputs", []):
            _normalise_output(output)
    return clean


def _normalise_output(output: NotebookNode) -> None:
    if "data" in output:
        output.data.pop(WIDGET, None)  # its id differs each time
    if PICTURE in output.get("data", {}):
        output.data[PICTURE] = output.data[PICTURE].strip() + "\n"
    if output.output_type == "error":
        # Frames outside the notebook name files of this machine.
        output.traceback = [
            t for t in output.traceback if "File " not in t.splitlines()[0]
        ]
