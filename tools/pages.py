"""Make the course's web site, in build/html. Its pages need no kernel and no network.

The notebooks, the glossary and the repository's own texts become pages that link to
each other, and `index.html` is the front page. A prediction becomes a form, and its
answer is folded. Source files that a text links to are copied along, and a link to a
missing file is an error. `cells` turns the cells into HTML. The templates, the style
and the script are in `tools/site`.
"""

import html
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import quote, unquote

import nbformat
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup
from nbformat import NotebookNode, v4

from session_report.style import LOOKS, NAMES
from tools import address, in_page, places
from tools.cells import Part, figure, is_figure, is_navigation, parts, reader

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
FRONT = NOTEBOOKS / "index.ipynb"
OUT = ROOT / "build/html"
SITE = Path(__file__).with_name("site")
PLAYER = (Path(__file__).with_name("play.js"), Path(__file__).with_name("play.css"))
NAMED = ("site.css", "site.js", "hour.css", "hour.js", "icon.svg")
STATIC = (*(SITE / name for name in NAMED), *PLAYER)
LINK = re.compile(r'( (?:href|src)=")(?![a-z]+:|#)([^"#]+)(?=["#])')
LINKS = (
    "[README](README.md) · [all lessons](notebooks/index.ipynb)"
    " · [glossary](notebooks/GLOSSARY.md)"
)
"""The row of links on a page whose source has none."""
HOUR = "an_hour"
"""The notebook that the front page begins with. Its page can run it."""
SECTION = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>')
TAG = re.compile(r"<[^>]*>")
LESSON = re.compile(r"\d\d_")


@dataclass(frozen=True)
class Page:
    """A page without its frame, and the files that it links to.

    `contents` are its sections, each with its anchor. `moving` is its first picture, and
    `cover` the one that stands for it on the front page: that of a cell with the tag
    "cover", or else the first.
    """

    name: str
    title: str
    aim: str
    minutes: str
    links: tuple[Markup, Markup]
    parts: list[Part]
    contents: list[tuple[str, Markup]]
    files: frozenset[Path]
    moving: NotebookNode | None
    cover: NotebookNode | None
    live: "Live | None" = None


@dataclass(frozen=True)
class Live:
    """What a page needs whose cells run in the browser."""

    megabytes: int
    versions: Mapping[str, str]
    cells: Markup
    """JSON: a list of the cells that can run, each with its `id`, `source` and
    `exercise`, "" if it is none."""
    looks: Markup
    """JSON: the colour, the pattern and the name of each kind of block."""

    @classmethod
    def of(cls, page: Page, python: Path) -> "Live":
        """Say what the page of the hour needs of the folder that `in_page` made."""
        cells = [
            {"id": part.id, "source": part.code, "exercise": part.exercise}
            for part in page.parts
            if part.code and not part.setup
        ]
        looks = {
            kind: [look.colour, look.pattern, NAMES[kind]]
            for kind, look in LOOKS.items()
        }
        return cls(
            round(in_page.size(python) / 1e6),
            in_page.versions(),
            *(htmlsafe_json_dumps(each) for each in (cells, looks)),
        )


def sources() -> list[Path]:
    """Return the files that become pages, the front page's among them."""
    return [
        *sorted(NOTEBOOKS.glob("*.ipynb")),
        NOTEBOOKS / "GLOSSARY.md",
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        ROOT / "lab/README.md",
    ]


def page_name(path: Path) -> str:
    """Return the name of a source's page. A folder's README has the folder's name.

    >>> page_name(ROOT / "README.md"), page_name(ROOT / "lab/README.md")
    ('README', 'lab')
    """
    is_of_folder = path.stem == "README" and path.parent != ROOT
    return path.parent.name if is_of_folder else path.stem


def read(path: Path) -> NotebookNode:
    """Read a notebook, or make one of a single cell from a Markdown file."""
    if path.suffix == ".ipynb":
        return nbformat.read(path, as_version=4)
    return v4.new_notebook(
        cells=[v4.new_markdown_cell(path.read_text(encoding="utf-8"))]
    )


def make(path: Path, notebook: NotebookNode, pages: Iterable[Path]) -> Page:
    """Make a page of a notebook. `pages` are the sources of all pages, to link to."""
    files: set[Path] = set()
    convert = reader()

    def markdown(text: str, source: Path = path) -> Markup:
        moved, more = linked(convert(text), source, pages)
        files.update(more)
        return Markup(moved)

    rows = [markdown(cell.source) for cell in notebook.cells if is_navigation(cell)]
    rows = rows or [markdown(LINKS, ROOT / "README.md")]
    body = parts(notebook, markdown)
    pictures = figures(notebook)
    text = "\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )
    return Page(
        name=page_name(path),
        title=title(text),
        aim=aim(text),
        minutes=minutes(text),
        links=(rows[0], rows[-1]),
        parts=body,
        contents=sections(body),
        files=frozenset(files),
        moving=next(iter(pictures), None),
        cover=next(iter(figures(notebook, "cover") + pictures), None),
    )


def sections(parts: Iterable[Part]) -> list[tuple[str, Markup]]:
    """Return the anchor and the words of each section in these parts.

    >>> sections([Part("a", text=Markup('<h2 id="It-breaks">It <b>breaks</b></h2>'))])
    [('It-breaks', Markup('It breaks'))]
    """
    found = (each for part in parts for each in SECTION.findall(part.text))
    return [
        (quote(html.unescape(anchor)), Markup(TAG.sub("", words)))
        for anchor, words in found
    ]


def figures(notebook: NotebookNode, tag: str = "") -> list[NotebookNode]:
    """Return the outputs that are pictures, of all cells or of those with a tag."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    tagged = [cell for cell in cells if not tag or tag in cell.metadata.get("tags", [])]
    return [each for cell in tagged for each in cell.outputs if is_figure(each)]


def title(text: str) -> str:
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return heading[1] if heading else "A lesson"


def aim(text: str) -> str:
    """Return a notebook's aim, or the first paragraph of any other text, in one
    line."""
    paragraph = re.search(r"^\*\*Aim\.\*\* (.+)$", text, re.MULTILINE) or re.search(
        r"^(?=\w|\*\*)((?:.+\n?)+)", text, re.MULTILINE
    )
    words = paragraph[1] if paragraph else ""
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", words).split())


def minutes(text: str) -> str:
    """Return the minutes that a lesson takes, or ""."""
    takes = re.search(r"\*\*Takes\*\* about (\d+) minutes", text)
    return takes[1] if takes else ""


def linked(text: str, source: Path, pages: Iterable[Path]) -> tuple[str, set[Path]]:
    """Return HTML with links that fit the site, and the files to copy along.

    Raises `FileNotFoundError` for a link to a missing file.
    """
    files: set[Path] = set()

    def moved(link: re.Match[str]) -> str:
        path = (source.parent / unquote(html.unescape(link[2]))).resolve()
        if not path.is_file():
            raise FileNotFoundError(
                f"{source.name} links to {link[2]}, which is not there"
            )
        if path in pages:
            return f"{link[1]}{page_name(path)}.html"
        files.add(path)
        return link[1] + place(path).as_posix()

    return LINK.sub(moved, text), files


def place(path: Path) -> Path:
    """Return a file's path in the site. Source files end in .txt, so that browsers show
    them."""
    name = Path("files") / path.relative_to(ROOT)
    is_picture = name.suffix in (".png", ".svg")
    return name if is_picture else name.with_name(f"{name.name}.txt")


@cache
def environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(SITE), autoescape=True, undefined=StrictUndefined
    )


def framed(page: Page, pages: Mapping[str, Page]) -> str:
    """Return a whole page as HTML. The front page shows all `pages`, which are by
    name."""
    repository = address.repository()
    shared = {
        "page": page,
        "address": address.site(repository) if repository else "",
        "ways": address.ways(repository) if repository else {},
    }
    if page.name != FRONT.stem:
        return environment().get_template("page.html").render(shared)
    lessons = [each for name, each in pages.items() if LESSON.match(name)]
    hour = pages[HOUR]
    first = lessons[0]
    moving = figure(first.moving, "front", "", moves=True)
    cards = [
        (
            each,
            figure(each.cover, f"cover-{each.name[:2]}", "", still=True)
            if each.cover
            else "",
        )
        for each in (hour, *lessons)
    ]
    return (
        environment()
        .get_template("front.html")
        .render(
            shared,
            hour=hour,
            first=first,
            lessons=cards,
            moving=moving,
            museum=pages["museum"],
        )
    )


def build(
    out: Path, notebooks: Mapping[Path, NotebookNode], python: Path | None = None
) -> list[Path]:
    """Write the whole site into a folder, and return the paths of its pages.

    `notebooks` are those that aren't taken as they are stored. `python` is the folder
    with which the hour's cells run in its page.
    """
    paths = sources()
    pages = {
        page_name(path): make(path, notebooks.get(path) or read(path), paths)
        for path in paths
    }
    for file in frozenset().union(*(page.files for page in pages.values())):
        copy(file, out / place(file))
    for file in STATIC:
        copy(file, out / file.name)
    if python:
        shutil.copytree(python, out / "python", dirs_exist_ok=True)
        pages[HOUR] = replace(pages[HOUR], live=Live.of(pages[HOUR], python))
    for name, page in pages.items():
        (out / f"{name}.html").write_text(
            framed(page, pages), encoding="utf-8", newline="\n"
        )
    return [out / f"{name}.html" for name in pages]


def recorded() -> dict[Path, NotebookNode]:
    """Run the notebooks whose panels play, or take what the last run recorded."""
    return places.record(path for path in sources() if path.suffix == ".ipynb")


def copy(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def main() -> int:
    notebooks = recorded()
    shutil.rmtree(OUT, ignore_errors=True)
    pages = build(OUT, notebooks, in_page.make())
    size = sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file())
    print(
        f"{len(pages)} pages, {size / 1e6:.1f} MB. Open {OUT.relative_to(ROOT)}/index.html"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
