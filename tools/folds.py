"""Keep a gap between a fold and the paragraph after it in JupyterLab.

JupyterLab gives a fold no margin, so that the next paragraph sticks to it. GitHub and
our pages have a margin of their own: GitHub ignores the style, and our pages agree with
it.

    python -m tools.folds

writes it into the notebooks, and `make notebooks` does so, too.
"""

import re
import sys
from pathlib import Path

import nbformat

from tools.workbook import ROOT

GAP = '<details style="margin-bottom: 1em">'
FOLD = re.compile(r"<details>(?=(?:(?!<details).)*?</details>\s*[^#\s])", re.DOTALL)
"""A fold without a style, and with something other than a heading after it in its cell."""


def spaced(text: str) -> str:
    """Give each fold that something follows a gap.

    >>> spaced("<details>a</details>\\n\\nb")
    '<details style="margin-bottom: 1em">a</details>\\n\\nb'
    >>> spaced("b <details>a</details>")
    'b <details>a</details>'
    """
    return FOLD.sub(GAP, text)


def main() -> int:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = spaced(cell.source)
        write(path, nbformat.writes(notebook, version=4).rstrip("\n") + "\n")
    return 0


def write(path: Path, text: str) -> None:
    """Write a file if its text has changed, and say so."""
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path.name}: folds have a gap now")


if __name__ == "__main__":
    sys.exit(main())
