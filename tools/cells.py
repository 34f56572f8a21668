"""Turn the cells of a notebook into the parts of a web page: text, code, outputs,
predictions."""

import html
import re
import struct
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import mistune
from markupsafe import Markup, escape
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from course.checks import find
from tools.places import MIME, embed
from tools.workbook import EXERCISE

PICTURE = "image/png"
NAVIGATION = re.compile(r"(\[[^\]]+\]\([^)]+\)( · )?)+")
"""A cell of nothing but links, at the top or the end of a notebook."""
PREDICTION = 'predict("'
"""How a cell begins that asks for a prediction."""
COMPARED = re.compile(r"^([^\n:]+): you said nothing, it is (.+)$", re.MULTILINE)
"""What `lessons.compare` prints if nothing was predicted: the name of a value, and the
value."""
OFFERED = re.compile(r'`"([^"`]+)"`')
"""A word that a question offers as an answer."""
NUMBER = re.compile(r"[\d,]+(\.\d+)?")
COLUMNS = re.compile(r"\S {2,}\S")
"""What a printed table has between two columns. Text without it can be wrapped."""
NOTHING = Markup("")
_CODE = HtmlFormatter(nowrap=True)
TO_RUN = re.compile(r"^(In JupyterLab, r|R)un the folded cell above.*\n?", re.MULTILINE)
"""What only somebody with a kernel can do."""


@dataclass(frozen=True)
class Field:
    """One value of a prediction. Without choices it is a number."""

    name: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A cell as the template shows it.

    A text has `text`, a prediction has `fields`, and any other cell has its `source`.
    If the outputs answer a prediction, `answers` is the prediction's `id`.
    """

    id: str
    text: Markup = NOTHING
    fields: tuple[Field, ...] = ()
    source: Markup = NOTHING
    outputs: tuple[Markup, ...] = ()
    setup: bool = False
    hints: tuple[str, ...] = ()
    answers: str = ""
    code: str = ""
    """The source as it is typed."""
    exercise: str = ""
    """The exercise that the cell checks, such as "02.2"."""


class _Renderer(mistune.HTMLRenderer):
    """Writes headings with ids as in JupyterLab, colours Python, and loads no remote
    image."""

    def __init__(self) -> None:
        super().__init__(escape=False)
        self.ids: set[str] = set()

    def heading(self, text: str, level: int, **attrs: object) -> str:
        plain = html.unescape(re.sub(r"<[^>]*>", "", text)).replace(" ", "-")
        names = [plain, *(f"{plain}-{number}" for number in range(2, 100))]
        name = next(each for each in names if each not in self.ids)
        self.ids.add(name)
        return f'<h{level} id="{html.escape(name)}">{text}</h{level}>\n'

    def block_code(self, code: str, info: str | None = None) -> str:
        return (
            coloured(code) if info == "python" else f"<pre>{html.escape(code)}</pre>\n"
        )

    def table(self, text: str) -> str:
        return f'<div class="wide"><table>\n{text}</table></div>\n'

    def table_cell(
        self, text: str, align: str | None = None, head: bool = False
    ) -> str:
        style = f' style="text-align:{align}"' if align else ""
        name = "th" if head and text else "td"
        return f"<{name}{style}>{text}</{name}>\n"

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return html.escape(text) if ":" in url else super().image(text, url, title)


def reader() -> Callable[[str], Markup]:
    """Return a function that turns Markdown into HTML. Heading ids are unique among its
    results."""
    convert = mistune.create_markdown(
        renderer=_Renderer(), plugins=["table", "strikethrough"]
    )
    return lambda text: Markup(convert(text))


def coloured(code: str) -> Markup:
    """Return Python code as HTML whose words have the classes of Pygments.

    >>> coloured("n")
    Markup('<pre class="code"><span class="n">n</span></pre>')
    """
    words = highlight(code, PythonLexer(), _CODE).rstrip()
    return Markup(f'<pre class="code">{words}</pre>')


def parts(notebook: NotebookNode, markdown: Callable[[str], Markup]) -> list[Part]:
    """Return the parts of a page, without the rows of links at its top and its end."""
    cells = [cell for cell in notebook.cells if not is_navigation(cell)]
    code = [cell for cell in cells if cell.cell_type == "code"]
    asked = [
        (cell, after)
        for cell, after in pairwise(code)
        if cell.source.startswith(PREDICTION)
    ]
    forms = {cell.id: after for cell, after in asked}
    answers = {after.id: cell.id for cell, after in asked}
    made: list[Part] = []
    for before, cell in pairwise([None, *cells]):
        if cell.cell_type == "markdown":
            if text := TO_RUN.sub("", cell.source).strip():
                made.append(Part(cell.id, text=markdown(text)))
        elif cell.id in forms:
            made.append(Part(cell.id, fields=_fields(cell, before, forms[cell.id])))
        else:
            made.append(_code(cell, markdown, answers.get(cell.id, "")))
    return made


def is_navigation(cell: NotebookNode) -> bool:
    return (
        cell.cell_type == "markdown" and NAVIGATION.fullmatch(cell.source) is not None
    )


def _fields(
    cell: NotebookNode, question: NotebookNode, answer: NotebookNode
) -> tuple[Field, ...]:
    """Return the fields of a prediction. The values in the answer tell what they take.

    Raises `KeyError` if the answer names no such value.
    """
    values = dict(COMPARED.findall(printed(answer)))
    offered = tuple(
        dict.fromkeys(OFFERED.findall(question.source.rpartition("**Predict")[2]))
    )
    names = re.findall(r"(\w+)=None", cell.source)
    return tuple(_field(name.replace("_", " "), values, offered) for name in names)


def _field(name: str, values: dict[str, str], offered: tuple[str, ...]) -> Field:
    if values[name] in ("yes", "no"):
        return Field(name, ("yes", "no"))
    return Field(name, () if NUMBER.fullmatch(values[name]) else offered)


def _code(cell: NotebookNode, markdown: Callable[[str], Markup], answers: str) -> Part:
    exercise = EXERCISE.search(cell.source)
    words = printed(cell)
    tags = cell.metadata.get("tags", [])
    return Part(
        cell.id,
        source=coloured(cell.source),
        outputs=tuple(
            figure(each, f"{cell.id}-{n}", words, wide="wide" in tags)
            if is_figure(each)
            else output(each, markdown)
            for n, each in enumerate(cell.outputs)
        ),
        setup="setup" in tags,
        hints=find(exercise[1]).hints if exercise else (),
        answers=answers,
        code=cell.source,
        exercise=exercise[1] if exercise else "",
    )


def printed(cell: NotebookNode) -> str:
    """Return what a cell printed or returned, pictures apart."""
    texts = (
        each.get("text", each.get("data", {}).get("text/plain", ""))
        for each in cell.outputs
    )
    return "\n".join(text for text in texts if not text.startswith("<"))


def is_figure(output: NotebookNode) -> bool:
    return not {MIME, PICTURE}.isdisjoint(output.get("data", {}))


def figure(output: NotebookNode, name: str, words: str, **options: bool) -> Markup:
    """Return an output as a recording that plays, or else as a picture.

    `words` describe it to a screen reader. `options` are those of `places.embed`.
    """
    data = output.get("data", {})
    words = " ".join(words.split())
    if MIME in data:
        return Markup(embed(name, data[MIME], words, **options))
    return picture(data[PICTURE], words)


def output(each: NotebookNode, markdown: Callable[[str], Markup]) -> Markup:
    """Return an output that is no picture as HTML."""
    data = each.get("data", {})
    if "text/markdown" in data:
        return markdown(data["text/markdown"])
    if "text/html" in data:
        html = Markup(data["text/html"])
        is_table = html.startswith("<table")
        return Markup('<div class="wide">{}</div>').format(html) if is_table else html
    text = str(escape(each.get("text", data.get("text/plain", ""))))
    start = "<pre>" if COLUMNS.search(text) else '<pre class="words">'
    return Markup(f"{start}{COMPARED.sub(_marked, text)}</pre>")


def _marked(line: re.Match[str]) -> str:
    """Mark a comparison, so that the page can write the reader's guess into it."""
    return f'<span data-name="{line[1]}" data-value="{line[2]}">{line[0]}</span>'


def picture(png: str, words: str) -> Markup:
    """Return a picture of double density at half its size."""
    content = b64decode(png)
    width, height = struct.unpack(">II", content[16:24])
    size = Markup('width="{}" height="{}"').format(width // 2, height // 2)
    return Markup(
        '<img src="data:image/png;base64,{}" {} alt="{}" loading="lazy">'
    ).format(png.replace("\n", ""), size, words)
