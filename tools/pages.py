"""Make web pages of the lessons, in build/html. They need no kernel and no network.

The notebooks, the glossary and the README become pages that link to each other. Source files that
they link to are copied along. A link to a missing file is an error.
"""

import html
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import nbformat
from jinja2 import DictLoader
from nbformat import NotebookNode, v4

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build/html"
REMOTE = ("mathjax_url", "require_js_url", "jquery_url", "widget_renderer_url")
"""Options of nbconvert for scripts from other servers. The lessons need none of them."""
LINK = re.compile(r'( (?:href|src)=")(?![a-z]+:|#)([^"#]+)(?=["#])')
STYLE = """<style>
.folded > summary {{ cursor: pointer; margin: 0.5em 0 0.5em 80px }}
.highlight pre {{ font: var(--jp-code-font-size)/1.3 var(--jp-code-font-family) }}
@media (prefers-color-scheme: dark) {{ {} }}
</style></head>"""
TEMPLATE = """{%- extends "lab/index.html.j2" -%}
{% block input_group %}
{% if "setup" in cell.metadata.tags %}<details class="folded"><summary>Imports and helpers</summary>
{{ super() }}</details>{% else %}{{ super() }}{% endif %}
{% endblock %}
{% block output_group %}
{% if "answer" in cell.metadata.tags %}<details class="folded"><summary>The answer</summary>
{{ super() }}</details>{% else %}{{ super() }}{% endif %}
{% endblock %}"""
"""The set-up is folded, and so are the outputs that answer a prediction."""
PICTURE = "image/png"
NO_ALT = 'alt="No description has been provided for this image"'


@cache
def exporter():
    # Importing nbconvert takes a second, and most of this module doesn't need it.
    from nbconvert import HTMLExporter

    loader = DictLoader({"lesson.html.j2": TEMPLATE})
    options = dict.fromkeys(REMOTE, "")
    return HTMLExporter(template_file="lesson.html.j2", extra_loaders=[loader], **options)


def read(path: Path) -> NotebookNode:
    """Read a notebook, or make one of a single cell from a Markdown file."""
    if path.suffix == ".ipynb":
        return nbformat.read(path, as_version=4)
    return v4.new_notebook(cells=[v4.new_markdown_cell(path.read_text(encoding="utf-8"))])


def title(notebook: NotebookNode) -> str:
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return heading[1] if heading else "A lesson"


def described(notebook: NotebookNode) -> list[str]:
    """Return the words printed beside or below each picture, for screen readers."""
    texts: list[str] = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        printed = " ".join(output.get("text", "") for output in outputs)
        shown = (output.data for output in outputs if PICTURE in output.get("data", {}))
        texts += [text if "<" not in (text := data["text/plain"]) else printed for data in shown]
    return [" ".join(text.split()) for text in texts]


def mark_answers(notebook: NotebookNode) -> None:
    """Tag the cell that follows each prediction."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, answer in pairwise(cells):
        if cell.source.startswith("predict("):
            answer.metadata.tags = [*answer.metadata.get("tags", []), "answer"]


def page(path: Path) -> str:
    """Return one notebook or text as HTML, light or dark as the reader's system is."""
    notebook = read(path)
    mark_answers(notebook)
    resources = {"metadata": {"name": title(notebook)}}
    text, _ = exporter().from_notebook_node(notebook, resources=resources)
    for description in described(notebook):
        text = text.replace(NO_ALT, f'alt="{html.escape(description)}"', 1)
    environment = exporter().environment
    dark = environment.loader.get_source(environment, "static/theme-dark.css")[0]
    return text.replace("</head>", STYLE.format(dark), 1)


def linked(text: str, source: Path, pages: set[Path]) -> tuple[str, set[Path]]:
    """Return the page with links that fit the site, and the files to copy along.

    Raises `FileNotFoundError` for a link to a missing file.
    """
    files: set[Path] = set()

    def moved(link: re.Match[str]) -> str:
        path = (source.parent / unquote(html.unescape(link[2]))).resolve()
        if not path.is_file():
            raise FileNotFoundError(f"{source.name} links to {link[2]}, which is not there")
        if path in pages:
            return f"{link[1]}{path.stem}.html"
        files.add(path)
        return link[1] + place(path).as_posix()

    return LINK.sub(moved, text), files


def place(path: Path) -> Path:
    """Return a file's path in the site. Source files end in .txt, so that browsers show them."""
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
