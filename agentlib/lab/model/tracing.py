"""Finding where a name's value is set, and following it through the files to a literal value.

Search for the name, read the file that sets it, note the expression, go on with the name in it.
The value is computed only from what was noted. Not here: the looking (places).
"""

import ast
import re
from collections.abc import Callable, Mapping

from agentlib.lab.model.acting import Reply, again, bash, gives_up, say, use
from agentlib.lab.model.notes import listed
from agentlib.lab.model.places import Place, places_in, search, search_command, stretches
from agentlib.lab.model.prompts import Task
from agentlib.lab.model.reading import View, one_line

_PROSE = (".md", ".rst", ".txt")
STEPS = 10
"""Names followed at most."""
_KEYWORDS = {
    "None",
    "True",
    "False",
    "and",
    "or",
    "not",
    "if",
    "else",
    "int",
    "float",
    "str",
    "self",
}
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
}

Link = tuple[str, str, str, str]
"""A name, the expression that sets it, file, line."""


def trace(view: View, task: Task) -> Reply:
    """Search for the next name, read the file that sets it, or answer with the whole chain."""
    chain = _chain(view, task.names[0])
    name = _next_name(chain) if chain else task.names[0]
    text = ""
    while name and len(chain) < STEPS:
        if sentence := gives_up(view):
            return say(f"{text}\n{sentence}\n{_told(chain)}")
        found = search(view, name)
        if found and found.error and not found.interrupted:
            return say(f"{text}\nI can't search the files: {one_line(found.text)}\n{_told(chain)}")
        if not found or not found.visible:
            return say(text, again(view, found) if found else bash(search_command(name)))
        place = _setting(places_in(found.text), name, chain)
        if place is None:
            return say(f"{text}\nNothing in the files sets `{name}`.\n{_told(chain)}")
        seen = _seen_line(view, place)
        if seen is None:
            return say(text, _read(view, place))
        line = _traced(view, place, name, seen)
        text = f"{text}\n{line}"
        view = view.noting(line)
        chain = _chain(view, task.names[0])
        name = _next_name(chain)
    return say(f"{text}\n{_answer(chain)}")


def is_traced(view: View, name: str) -> bool:
    """Whether all of a name's way to its value was noted."""
    chain = _chain(view, name)
    return bool(chain) and _next_name(chain) is None


def _chain(view: View, name: str) -> list[Link]:
    """The links noted so far for this request, from the name that was asked for."""
    links = [(parts[0], parts[1], parts[2], parts[3]) for parts in listed(view.own, "traced")]
    chain: list[Link] = []
    wanted: str | None = name
    while wanted:
        link = next((link for link in links if link[0] == wanted and link not in chain), None)
        if link is None:
            break
        chain.append(link)
        wanted = _next_name(chain)
    return chain


def _next_name(chain: list[Link]) -> str | None:
    """The name on which the last expression depends; None where it is a value, or a circle."""
    if not chain:
        return None
    plain = re.sub(r"([\"'])(?:\\.|(?!\1).)*\1", "", chain[-1][1])
    names = [n for n in re.findall(r"(?<![\w.])[A-Za-z_][\w.]*", plain) if n not in _KEYWORDS]
    last = names[-1].rpartition(".")[2] if names else None
    return None if last in {link[0] for link in chain} else last


def _setting(places: list[Place], name: str, chain: list[Link]) -> Place | None:
    """The hit that sets the name: at the left margin first, not in tests if there is another."""
    word = rf"[\"']?\b{re.escape(name)}\b[\"']?"
    form = re.compile(rf"[\w \t.]*?{word}\s*(?::\s*[\w\[\], |.]+)?=(?!=)|\s*{word}\s*:\s*\S")
    known = {(link[2], link[3]) for link in chain}
    setting = [p for p in places if form.match(p.text) and (p.path, str(p.line)) not in known]
    order = sorted(
        setting, key=lambda p: (p.path.endswith(_PROSE), "test" in p.path, p.text[:1].isspace())
    )
    return order[0] if order else None


def _seen_line(view: View, place: Place) -> str | None:
    """The statement at a place, from a file that can be seen; joined where brackets are open."""
    for stretch in stretches(view, place.path):
        text = stretch.line(place.line)
        if text is None:
            continue
        number = place.line
        while text.count("(") + text.count("[") > text.count(")") + text.count("]"):
            number += 1
            more = stretch.line(number)
            if more is None or number > place.line + 8:
                break
            text = f"{text} {more.strip()}"
        return text
    read = view.ran("read_file", path=place.path)
    return place.text if read and read.error and not read.interrupted else None


def _read(view: View, place: Place) -> dict[str, object]:
    whole = view.ran("read_file", path=place.path)
    if whole and whole.visible and whole.next_line:
        return use("read_file", path=place.path, offset=max(0, place.line - 20), limit=40)
    return again(view, whole) if whole else use("read_file", path=place.path)


def _traced(view: View, place: Place, name: str, line: str) -> str:
    """The note on one link; a name that the file imports under another name is put back."""
    expression = re.split(rf"{re.escape(name)}[^=:]*?(?::[^=]*)?[=:]\s*", line, maxsplit=1)[-1]
    expression = re.sub(r"\s+(?:#|//).*$|[;,]\s*$", "", expression).strip()
    for stretch in stretches(view, place.path):
        for original, alias in re.findall(r"(\w+) as (\w+)", "\n".join(stretch.lines)):
            expression = re.sub(rf"(?<![\w.]){alias}\b(?!\s*\.)", original, expression)
    return f"Traced `{name}` = {expression} ({place.path}:{place.line})"


def _told(chain: list[Link]) -> str:
    return "\n".join(f"`{n}` is set to `{what}` in {path}:{line}" for n, what, path, line in chain)


def _answer(chain: list[Link]) -> str:
    """The value, computed from the last link back to the first, and the chain."""
    values: dict[str, object] = {}
    for name, expression, _, _ in reversed(chain):
        found = value(expression, values)
        if found is not None:
            values[name] = found
    first = chain[0][0]
    if first in values:
        files = len({link[2] for link in chain})
        return f"`{first}` is {values[first]!r}, set through {files} files:\n{_told(chain)}"
    return f"`{first}` comes from `{chain[-1][1]}`, which is not a plain value:\n{_told(chain)}"


def value(expression: str, known: Mapping[str, object]) -> object:
    """The value of a literal, or of sums and products of literals and known names; else None.

    >>> value("limits.BASE * 2", {"BASE": 15})
    30
    """
    try:
        return _value(ast.parse(expression, mode="eval").body, known)
    except (SyntaxError, ValueError, TypeError, ArithmeticError):
        return None


def _value(node: ast.expr, known: Mapping[str, object]) -> object:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, known), _value(node.right, known)
        if isinstance(left, int | float) and isinstance(right, int | float):
            return _OPERATORS[type(node.op)](left, right)
        return None
    if isinstance(node, ast.Name | ast.Attribute):
        return known.get(node.id if isinstance(node, ast.Name) else node.attr)
    return ast.literal_eval(node)
