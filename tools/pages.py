"""The lessons as web pages that need no kernel and no network: build/html, with an index.

The notebooks, the glossary and the README become pages, their links lead from page to page, and a
source that they name comes with them. A link to nothing stops it.
"""

import html
import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import nbformat
from nbformat import NotebookNode, v4

ROOT = Path(__file__).resolve().parent.parent  # as the goals of the links are
OUT = ROOT / "build/html"
REMOTE = ("mathjax_url", "require_js_url", "jquery_url", "widget_renderer_url")
"""What a page would fetch from elsewhere; the lessons need none of it."""
LINK = re.compile(r'( (?:href|src)=")(?![a-z]+:|#)([^"#]+)(?=["#])')
STYLE = """<style>
.highlight pre {{ font: var(--jp-code-font-size)/1.3 var(--jp-code-font-family) }}
@media (prefers-color-scheme: dark) {{ {} }}
</style></head>"""
PICTURE = "image/png"
UNSAID = 'alt="No description has been provided for this image"'


@cache
def exporter():  # its import takes a second, which the rest of this module does not need
    from nbconvert import HTMLExporter

    return HTMLExporter(**dict.fromkeys(REMOTE, ""))


def read(path: Path) -> NotebookNode:
    """A notebook; a text in Markdown is one of a single cell."""
    if path.suffix == ".ipynb":
        return nbformat.read(path, as_version=4)
    return v4.new_notebook(cells=[v4.new_markdown_cell(path.read_text(encoding="utf-8"))])


def title(notebook: NotebookNode) -> str:
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else "A lesson"


def described(notebook: NotebookNode) -> list[str]:
    """For each picture what stands beside or below it in words, to be read out for it."""
    said: list[str] = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        printed = " ".join(output.get("text", "") for output in outputs)
        shown = (output.data for output in outputs if PICTURE in output.get("data", {}))
        said += [text if "<" not in (text := data["text/plain"]) else printed for data in shown]
    return [" ".join(text.split()) for text in said]


def page(path: Path) -> str:
    """One notebook or text as HTML, light or dark as the reader's system is."""
    notebook = read(path)
    known = {"metadata": {"name": title(notebook)}}
    text, _ = exporter().from_notebook_node(notebook, resources=known)
    for said in described(notebook):
        text = text.replace(UNSAID, f'alt="{html.escape(said)}"', 1)
    environment = exporter().environment
    dark = environment.loader.get_source(environment, "static/theme-dark.css")[0]
    return text.replace("</head>", STYLE.format(dark), 1)


def linked(text: str, source: Path, pages: set[Path]) -> tuple[str, set[Path]]:
    """The page with its links as they are in the site, and the files to bring with it.

    Raises `FileNotFoundError` for a link to a file that is not there.
    """
    files: set[Path] = set()

    def moved(found: re.Match[str]) -> str:
        path = (source.parent / unquote(html.unescape(found[2]))).resolve()
        if not path.is_file():
            raise FileNotFoundError(f"{source.name} links to {found[2]}, which is not there")
        if path in pages:
            return f"{found[1]}{path.stem}.html"
        files.add(path)
        return found[1] + place(path).as_posix()

    return LINK.sub(moved, text), files


def place(path: Path) -> Path:
    """Where a file of the repository stands in the site; a text, so that every browser shows it."""
    name = Path("files") / path.relative_to(ROOT)
    return name if name.suffix == ".png" else name.with_name(f"{name.name}.txt")


def main() -> int:
    notebooks = ROOT / "notebooks"
    pages = {*notebooks.glob("*.ipynb"), notebooks / "GLOSSARY.md", ROOT / "README.md"}
    OUT.mkdir(parents=True, exist_ok=True)
    for source in sorted(pages):
        text, files = linked(page(source), source, pages)
        target = OUT / f"{source.stem}.html"
        target.write_text(text, encoding="utf-8", newline="\n")
        for file in files:
            copy = OUT / place(file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
        print(target.relative_to(ROOT), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
