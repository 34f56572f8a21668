"""Run the notebooks and write them back normalised. Running them twice changes no byte.

python -m tools.notebooks                        all of notebooks/
python -m tools.notebooks notebooks/00_*.ipynb   only these
python -m tools.notebooks --check                fail if a file would change, and write none
"""

import argparse
import base64
import difflib
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from PIL import Image, ImageChops

from tools import places
from tools.execution import PICTURE, execute, normalise

SAME_SHADE = 16
"""Two pictures count as equal if no channel of a pixel differs by more.

Floating point differs between machines, and nobody sees so small a difference.
"""


def keep_pictures(fresh: NotebookNode, stored: NotebookNode) -> None:
    """Put the stored picture back wherever the fresh one looks the same."""
    for new, old in zip(_pictures(fresh), _pictures(stored), strict=False):
        if same_picture(new[PICTURE], old[PICTURE]):
            new[PICTURE] = old[PICTURE]


def _pictures(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if PICTURE in output.get("data", {}):
                yield output.data


def same_picture(one: str, other: str) -> bool:
    """Whether two PNGs in base64 look alike."""
    if one == other:
        return True
    a, b = (
        Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
        for png in (one, other)
    )
    if a.size != b.size:
        return False
    return (
        max(high for _, high in ImageChops.difference(a, b).getextrema()) <= SAME_SHADE
    )


def dumps(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def rebuild(path: Path) -> str:
    """Run a notebook from its first cell to its last. Return the text its file should
    hold."""
    return settled(
        path, normalise(execute(nbformat.read(path, as_version=4), path.parent))
    )


def settled(path: Path, fresh: NotebookNode) -> str:
    """Return a notebook's text after a run, with the stored pictures that look the
    same."""
    keep_pictures(fresh, normalise(nbformat.read(path, as_version=4)))
    return dumps(fresh)


def difference(path: Path, fresh: str) -> str:
    """Return a shortened unified diff from the stored file to the fresh text, "" if
    equal."""
    stored = path.read_bytes().decode("utf-8")
    if stored == fresh:
        return ""
    lines = difflib.unified_diff(
        stored.splitlines(), fresh.splitlines(), str(path), "run again"
    )
    shown = [line.rstrip()[:160] for line in lines][:40]
    return "\n".join(shown) or f"{path}: only the line ends differ"


def update(path: Path) -> bool:
    """Bring one notebook up to date. Return whether that was possible."""
    try:
        return settle(path, rebuild(path), check=False)
    except CellExecutionError as error:
        print(f"{path}: a cell failed\n{error}")
        return False


def compare(paths: Iterable[Path]) -> list[bool]:
    """Compare notebooks with the runs that the web pages show. Return whether each is
    equal."""
    fresh = {
        path: normalise(places.plain(run)) for path, run in places.record(paths).items()
    }
    return [settle(path, settled(path, run), check=True) for path, run in fresh.items()]


def settle(path: Path, fresh: str, check: bool) -> bool:
    """Write the fresh text, or print what would change. Return whether the file is
    right."""
    changed = difference(path, fresh)
    if not changed:
        print(f"{path}: unchanged")
    elif check:
        print(f"{path}: would change. `make notebooks` writes it.\n{changed}")
    else:
        path.write_bytes(fresh.encode("utf-8"))
        print(f"{path}: written")
    return not (changed and check)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()
    paths = arguments.paths or sorted(Path("notebooks").glob("*.ipynb"))
    right = compare(paths) if arguments.check else [*map(update, paths)]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
