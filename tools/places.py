"""Run the notebooks with the `recorder`, and put what it recorded into web pages.

In the outputs of a recorded notebook a chart or a panel is of the type `MIME`. `embed`
makes it HTML for `play.js`. What was recorded is kept in build/places until the
notebook's code, agentlib or the recorder changes.
"""

import base64
import gzip
import hashlib
import html
import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from session_report.amounts import many
from tools import warm_kernel
from tools.execution import execute, normalise
from tools.recorder import MIME, packed
from tools.runs import ROOT, source
from tools.stops import SECONDS, STOPS, USUAL

KEPT = ROOT / "build/places"
MINUTES = 20
CORES = os.cpu_count() or 1
PROCESSES = min(6, 1 + CORES)
"""One more than there are cores, because a kernel also waits for the shell."""
PARTS = [
    ROOT / f"tools/{name}.py" for name in ("recorder", "drawing", "trail", "execution")
]
"""What makes a recording, agentlib apart."""


def unpacked(play: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a recording: its controls, places, styles and marks."""
    return json.loads(gzip.decompress(base64.b64decode(play["data"])))


def embed(
    name: str,
    play: Mapping[str, Any],
    label: str = "",
    *,
    moves: bool = False,
    still: bool = False,
    wide: bool = False,
) -> str:
    """Make the HTML of a recording. `name` is unique in the page, of letters, digits
    and hyphens.

    `label`: the words of a chart for a screen reader. `moves`: the panel plays by
    itself once. `still`: only the picture of the panel's first place. `wide`: on a
    phone it scrolls sideways, and keeps its size.
    """
    words = html.escape(play["sentence"] or label)
    flags = f' data-label="{words}"' + " data-moves" * moves + " data-still" * still
    flags += " data-wide" * wide
    data = packed(first(unpacked(play))) if still else play["data"]
    return (
        f'<figure class="play" data-play="{name}"{flags} style="--high:{play["high"]:g}">'
        f"<noscript>{words}</noscript></figure>\n"
        f'<script type="text/plain" id="play-{name}">{data}</script>'
    )


def first(data: dict[str, Any]) -> dict[str, Any]:
    """Keep the place at which the controls stand, and what its picture needs."""
    at = 0
    for each in data.get("controls", []):
        at = at * len(each["values"]) + each["start"]
    height, picture = data["places"][at][0]
    marks = [data["marks"][mark] for mark in picture]
    place = [[height, [*range(len(marks))]], "", []]
    return {
        "kind": "figure",
        "styles": data["styles"],
        "marks": marks,
        "places": [place],
    }


def record(paths: Iterable[Path]) -> dict[Path, NotebookNode]:
    """Return the notebooks as they are now, with recorded outputs.

    The slowest come first, so that no core waits for the last one.
    """
    queue = sorted(paths, key=lambda path: -SECONDS.get(path.stem, USUAL))
    print(ahead(path for path in queue if not kept(path).is_file()), flush=True)
    notebooks: dict[Path, NotebookNode] = {}
    with ProcessPoolExecutor(PROCESSES, initializer=begin_work) as pool:
        works = {pool.submit(recorded, path): path for path in queue}
        for number, work in enumerate(as_completed(works), 1):
            path = works[work]
            notebooks[path] = work.result()
            print(f"{number} of {len(queue)} notebooks: {path.stem}", flush=True)
    return {path: notebooks[path] for path in queue}


def begin_work() -> None:
    """Prepare a process that runs notebooks."""
    warm_kernel.install()
    warm_kernel.end_with_parent()


def ahead(paths: Iterable[Path]) -> str:
    """Say how many notebooks will be run, and about how long that takes.

    >>> ahead([Path("what_if.ipynb")]).split(",")[0]
    '1 notebook has changed and is run'
    """
    seconds = [SECONDS.get(path.stem, USUAL) for path in paths]
    if not seconds:
        return "No notebook has changed, so none is run."
    about = max(*seconds, sum(seconds) / CORES, 10)
    verbs = (
        "has changed and is run" if len(seconds) == 1 else "have changed and are run"
    )
    return (
        f"{many(len(seconds), 'notebook')} {verbs}, {PROCESSES} at a time: about"
        f" {about:.0f} seconds on {many(CORES, 'quiet core')}."
    )


def kept(path: Path) -> Path:
    """Return the file that holds a notebook's recording once it has been made."""
    notebook = nbformat.read(path, as_version=4)
    return KEPT / f"{path.stem}-{fingerprint(notebook, path.stem)}.ipynb"


def recorded(path: Path) -> NotebookNode:
    """Return a notebook with recorded outputs. Run it if its code or ours has
    changed."""
    notebook = nbformat.read(path, as_version=4)
    file = kept(path)
    if not file.is_file():
        print(f"Running {path.stem}", flush=True)
        keep(path, run(notebook, path), file)
    codes = (
        cell
        for cell in nbformat.read(file, as_version=4).cells
        if cell.cell_type == "code"
    )
    for cell in notebook.cells:
        if cell.cell_type == "code":
            fresh = next(codes)
            cell.outputs = fresh.outputs
            cell.execution_count = fresh.execution_count
    return notebook


def run(notebook: NotebookNode, path: Path) -> NotebookNode:
    """Run a notebook in a kernel that records."""
    lines = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tools import recorder; "
    )
    lines += f"recorder.install({path.stem!r})"
    return normalise(execute(notebook, path.parent, start=lines, timeout=60 * MINUTES))


def keep(path: Path, notebook: NotebookNode, file: Path) -> None:
    """Write a recorded notebook in place of its older ones."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for old in file.parent.glob(f"{path.stem}-*"):
        old.unlink()
    new = file.with_suffix(".new")
    new.write_text(nbformat.writes(notebook), encoding="utf-8")
    new.replace(file)


def fingerprint(notebook: NotebookNode, stem: str) -> str:
    """Hash the code of a notebook and all that its outputs depend on."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    words = f"{cells}{STOPS.get(stem)}{source(*PARTS)}"
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def plain(notebook: NotebookNode) -> NotebookNode:
    """Return a recorded notebook as it would be without its recordings."""
    usual = nbformat.from_dict(notebook)
    for cell in usual.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(MIME, None)
    return usual


def plays(notebook: NotebookNode) -> list[dict[str, Any]]:
    """List the recordings of a notebook."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return [output.data[MIME] for output in outputs if MIME in output.get("data", {})]
