"""The lessons as web pages that need no kernel and no network: build/html, with an index."""

import html
import re
import sys
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter

OUT = Path("build/html")
REMOTE = ("mathjax_url", "require_js_url", "jquery_url", "widget_renderer_url")
"""What a page would fetch from elsewhere; the lessons need none of it."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>The lessons</title>
<style>
  body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto;
         padding: 0 1rem; color: #222; background: #fff }}
  li {{ margin: 0 0 .8rem }}
  @media (prefers-color-scheme: dark) {{
    body {{ color: #eee; background: #111 }} a {{ color: #8cf }}
  }}
</style></head>
<body><h1>How does an agent keep working after its context window is full?</h1>
<p>The lessons with their outputs. To run them and move their sliders, clone the course and type
<code>make lab</code>.</p>
<ol start="0" style="list-style: none; padding: 0">
{rows}
</ol></body></html>
"""


def heading(notebook: nbformat.NotebookNode) -> tuple[str, str]:
    """A lesson's title and its aim."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    aim = re.search(r"^\*\*Aim\.?\*\*\s*(.+)$", text, re.MULTILINE)
    return (title[1] if title else "A lesson"), (aim[1] if aim else "")


def page(notebook: nbformat.NotebookNode) -> str:
    """One lesson as HTML; its links to other lessons lead to their pages."""
    exporter = HTMLExporter(**dict.fromkeys(REMOTE, ""))
    text, _ = exporter.from_notebook_node(notebook)
    return re.sub(r'href="(\d\d_\w+|index)\.ipynb', r'href="\1.html', text)


def main() -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    rows: list[str] = []
    for path in sorted(Path("notebooks").glob("[0-9]*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        (OUT / f"{path.stem}.html").write_text(page(notebook), encoding="utf-8", newline="\n")
        title, aim = (html.escape(text) for text in heading(notebook))
        rows.append(f'<li><a href="{path.stem}.html">{title}</a><br>{aim}</li>')
        print(f"{OUT / path.stem}.html", flush=True)
    index = PAGE.format(rows="\n".join(rows))
    (OUT / "index.html").write_text(index, encoding="utf-8", newline="\n")
    print(f"{OUT / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
