"""Runs the notebooks and writes them back normalised, so that running them twice changes no byte.

python tools/notebooks.py                        all of notebooks/
python tools/notebooks.py notebooks/00_*.ipynb   these
python tools/notebooks.py --check                change nothing; fail where a file would change
"""

import argparse
import base64
import difflib
import hashlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from PIL import Image, ImageChops

WIDGET = "application/vnd.jupyter.widget-view+json"
PICTURE = "image/png"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
PASSING_METADATA = ("execution", "ExecuteTime", "widgets", "collapsed", "scrolled", "trusted")
SAME_SHADE = 16
"""Two pictures are one where no pixel differs by more: floating point differs between machines."""


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """The notebook after a fresh kernel ran it in `folder`; an unexpected error propagates."""
    fresh = nbformat.from_dict(notebook)
    client = NotebookClient(
        fresh,
        timeout=60,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Without what differs from run to run or from machine to machine; all the rest is kept."""
    clean = nbformat.from_dict(notebook)
    language = {k: v for k, v in clean.metadata.get("language_info", {}).items() if k != "version"}
    clean.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": language})
    clean.nbformat, clean.nbformat_minor = 4, 5
    seen: set[str] = set()
    for cell in clean.cells:
        for name in PASSING_METADATA:
            cell.metadata.pop(name, None)
        cell["id"] = _cell_id(cell, seen)
        for output in cell.get("outputs", []):
            _normalise_output(output)
    return clean


def _cell_id(cell: NotebookNode, seen: set[str]) -> str:
    """The cell's own id; where it has none or shares it, one made of what it says."""
    name, n = cell.get("id", ""), 0
    while not name or name in seen:
        name = hashlib.sha256(f"{n}{cell.source}".encode()).hexdigest()[:8]
        n += 1
    seen.add(name)
    return name


def _normalise_output(output: NotebookNode) -> None:
    if PICTURE in output.get("data", {}):
        output.data.pop(WIDGET, None)
        output.data[PICTURE] = output.data[PICTURE].strip() + "\n"
    if output.output_type == "error":
        # frames outside the notebook name files of this machine
        output.traceback = [t for t in output.traceback if "File " not in t.splitlines()[0]]


def keep_pictures(fresh: NotebookNode, stored: NotebookNode) -> None:
    """Puts the stored picture back wherever the fresh one shows the same."""
    for new, old in zip(_pictures(fresh), _pictures(stored), strict=False):
        if same_picture(new[PICTURE], old[PICTURE]):
            new[PICTURE] = old[PICTURE]


def _pictures(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if PICTURE in output.get("data", {}):
                yield output.data


def same_picture(one: str, other: str) -> bool:
    """Whether two PNGs in base64 look alike, to the last letter of a label."""
    if one == other:
        return True
    a, b = (Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB") for png in (one, other))
    if a.size != b.size:
        return False
    return max(high for _, high in ImageChops.difference(a, b).getextrema()) <= SAME_SHADE


def dumps(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def rebuild(path: Path) -> str:
    """The text that `path` should hold: run from the first cell to the last, normalised."""
    stored = nbformat.read(path, as_version=4)
    fresh = normalise(execute(stored, path.parent))
    keep_pictures(fresh, normalise(stored))
    return dumps(fresh)


def difference(path: Path, fresh: str) -> str:
    """A unified diff from the stored file to the fresh text, shortened; empty if they are one."""
    stored = path.read_bytes().decode("utf-8")
    if stored == fresh:
        return ""
    lines = difflib.unified_diff(stored.splitlines(), fresh.splitlines(), str(path), "run anew")
    shown = [line.rstrip()[:160] for line in lines][:40]
    return "\n".join(shown) or f"{path}: only the line ends differ"


def update(path: Path, check: bool) -> bool:
    """Brings one notebook up to date, or only compares; True where it already was."""
    try:
        fresh = rebuild(path)
    except CellExecutionError as error:
        print(f"{path}: a cell failed\n{error}")
        return False
    return settle(path, fresh, check)


def settle(path: Path, fresh: str, check: bool) -> bool:
    """Writes the fresh text, or says what would change; True where the file is right after it."""
    changed = difference(path, fresh)
    if not changed:
        print(f"{path}: unchanged")
    elif check:
        print(f"{path}: would change; `make notebooks` writes it\n{changed}")
    else:
        path.write_bytes(fresh.encode("utf-8"))
        print(f"{path}: written")
    return not (changed and check)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="only compare")
    asked = parser.parse_args()
    paths = asked.paths or sorted(Path("notebooks").glob("*.ipynb"))
    if not paths:
        print("There is no notebook yet.")
    right = [update(path, asked.check) for path in paths]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
