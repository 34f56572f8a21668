"""Where files are: whole paths for tools that want them, and the paths in a listing.

Some tools take no path but a whole one. Their schema says so, or the error does that
comes back. The model works with paths below the agent's folder. So it looks where that
folder is, and puts it before each path that such a tool gets.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from offline_api.model.conversation import value_of

Body = Mapping[str, Any]
_SHORT = 700
"""Characters of the longest text that may be an error about a path."""
_ASKS = re.compile(
    r"(?:must|should|has to|needs? to|only)(?: be| use| provide| accepts?)?(?: an?| the)? "
    r"absolute|absolute path (?:is )?(?:required|expected|needed)|\bnot (?:an )?absolute|"
    r"relative paths? (?:is|are) not|path must start with",
    re.IGNORECASE,
)
"""An error that asks for a whole path."""
_SAYS = re.compile(
    r"\babsolute\b(?!\W+(?:or|and)\W+relative)|\bmust start with ./", re.I
)
_EITHER = re.compile(r"relative (?:or|and) absolute|absolute,? or relative|relative to")
_OURS = re.compile(r"^\d+ \d+ /", re.MULTILINE)
"""A line of our own listing."""
_ENTRY = re.compile(
    r"(?:[-*•+>]+ +|\d+[.):] +)?[\"'`]?((?:\./|/)?[\w@+.-][^\s\"'`:*?<>|]*)[\"'`]?,?"
)
"""A line of a listing with one path, behind a bullet or a number."""
_LISTS = ("files", "matches", "paths", "results", "filenames", "entries", "items")
_NAMES = ("path", "file", "name", "filename", "file_path", "filePath")


def wants_whole(tool: Body, name: str) -> bool:
    """Tell whether a tool's schema says that its input takes whole paths alone.

    >>> told = {"description": "The absolute path to the file to read"}
    >>> wants_whole({"input_schema": {"properties": {"path": told}}}, "path")
    True
    """
    schema: Body = tool.get("input_schema") or {}
    inputs: Body = schema.get("properties") or {}
    told: Body = inputs.get(name) or {}
    words = f"{name.replace('_', ' ')} {told.get('description') or ''}"
    return bool(_SAYS.search(words)) and not _EITHER.search(words.lower())


@lru_cache(maxsize=4_096)  # most texts come again with the next request
def asks_whole(text: str) -> bool:
    """Tell whether a result is an error that asks for a whole path.

    >>> asks_whole("File path must be absolute, but was relative: a.py.")
    True
    """
    return len(text) < _SHORT and bool(_ASKS.search(text))


def folder_above(path: str, text: str) -> str | None:
    """Return the folder that a whole path is below, by the first of its parts that a text
    names without what is before it.

    >>> folder_above("/home/ada/work/src/x.py", "Read the src/ directory.")
    '/home/ada/work'
    """
    parts = path.split("/")
    for n, name in enumerate(parts[:-1]):
        if name and re.search(rf"(?<![\w/.-]){re.escape(name)}/", text):
            return "/".join(parts[:n])
    return None


def listed(text: str, pattern: str) -> tuple[str, str | None]:
    """Return a listing as our own tool writes it, a `/` and a path in each line, and the
    folder that its paths are below, None if they don't tell.

    `pattern`: which files were asked for.

    >>> listed("Found 2 files\\n- /home/a/src/x.py\\n- /home/a/src/y.py", "src/**/*.py")
    ('/src/x.py\\n/src/y.py', '/home/a')
    """
    paths = list(dict.fromkeys(_paths(text)))
    if not paths or _OURS.search(text):
        return text, None
    below = re.split(r"[*?{\[]", pattern.lstrip("/"), maxsplit=1)[0]
    below = below[: below.rfind("/") + 1]
    root = None
    lines: list[str] = []
    for path in paths:
        path = path.removeprefix("./")
        if path.startswith("/"):
            at = path.find(f"/{below}") if below else 0
            root = path[:at] if root is None and at >= 0 and below else root
            lines.append(path[at:] if at >= 0 else path)
        else:
            lines.append(f"/{path if path.startswith(below) else below + path}")
    return "\n".join(lines), root


def _paths(text: str) -> Iterator[str]:
    """Yield the paths of files in a listing, whatever its form."""
    value = value_of(text) if text.lstrip().startswith(("[", "{")) else None
    if isinstance(value, dict):
        object = cast(Body, value)
        value = next((object[name] for name in _LISTS if name in object), None)
    if isinstance(value, list):
        for each in cast(list[Any], value):
            entry = each
            if isinstance(each, dict):
                given = cast(Body, each)
                entry = next((given[name] for name in _NAMES if name in given), "")
            if isinstance(entry, str) and not entry.endswith("/"):
                yield entry
        return
    for line in text.splitlines():
        match = _ENTRY.fullmatch(line.strip())
        if match and "." in match[1].rpartition("/")[2].strip("."):
            yield match[1]
