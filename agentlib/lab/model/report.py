"""The report that the offline model writes: a section for each file, from its notes alone.

What it noted and can no longer see reads "(details lost)"; it is neither made up nor read again.
A rule on the first or last line is kept where the rule can still be seen. Not here: reading the
files (files), and whether the report is true (checking).
"""

from collections.abc import Sequence

from agentlib.lab.model.notes import Note
from agentlib.lab.model.prompts import required_line
from agentlib.lab.model.reading import View

LOST = "(details lost)"


def counted(files: int) -> str:
    """A number of files in words.

    >>> counted(1), counted(2)
    ('1 file', '2 files')
    """
    return f"{files} file{'' if files == 1 else 's'}"


def section(path: str, note: Note | None, skipped: str | None = None) -> str:
    """What is said of one file.

    >>> print(section("a.py", Note("a.py", "Adds.", (("add", "Return the sum."),))))
    ## a.py
    Purpose: Adds.
    - `add`: Return the sum.
    """
    if note is None:
        return f"## {path}\n({skipped})" if skipped else f"## {path}\n{LOST}"
    names = [f"- `{name}`: {what}" for name, what in note.names]
    bare = ["- no public names"] if note.bare else []
    return "\n".join([f"## {path}", f"Purpose: {note.purpose}", *names, *bare])


def opening(view: View, title: str) -> str:
    """The report's first lines."""
    first = required_line(view.rules, first=True)
    return "\n".join([*([first] if first else []), f"# {title}"]) + "\n"


def closing(view: View, files: int) -> str:
    """The report's last lines: facts and decisions found, the rules it keeps."""
    found = ["## Facts and decisions", *(f"- {fact}" for fact in view.facts)] if view.facts else []
    last = required_line(view.rules, first=False)
    parts = ["\n".join(found), f"{counted(files)} in all.", last or ""]
    return "\n" + "\n\n".join(part for part in parts if part) + "\n"


def sections(view: View, paths: Sequence[str]) -> list[str]:
    """A section for each file."""
    skipped = {parts[0]: parts[1] for kind, parts in view.known if kind == "skipped"}
    return [section(path, view.notes.get(path), skipped.get(path)) for path in paths]
