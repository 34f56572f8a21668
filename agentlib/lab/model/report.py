"""The report: a section for each file, from its note alone.

What was noted and can't be seen any more reads "(details lost)". It is neither made up nor read
again. A rule on the first or last line is kept if the rule can still be seen.
"""

from agentlib.lab.model.notes import Note
from agentlib.lab.model.prompts import required_line
from agentlib.lab.model.sources import UNPARSED
from agentlib.lab.model.view import View

LOST = "(details lost)"


def counted(files: int) -> str:
    """Say how many files.

    >>> counted(1), counted(2)
    ('1 file', '2 files')
    """
    return f"{files} file{'' if files == 1 else 's'}"


def section(path: str, noted: Note | None, skipped: str | None = None) -> str:
    """Write what is known about one file.

    >>> print(section("a.py", Note("file", ("a.py", "9 lines", "Adds.", "add: Return the sum."))))
    ## a.py
    Purpose: Adds.
    - `add`: Return the sum.
    """
    if noted is None:
        return f"## {path}\n{f'({skipped})' if skipped else LOST}"
    if noted.kind == "outline":
        return "\n".join([f"## {path}", "(seen as an outline)", *noted.parts[1:]])
    if noted.parts[2] == UNPARSED:
        return f"## {path}\n({UNPARSED})"
    names = (name.partition(": ") for name in noted.parts[3:])
    lines = [f"- {name}" if " " in name else f"- `{name}`{of}{what}" for name, of, what in names]
    return "\n".join([f"## {path}", f"Purpose: {noted.parts[2]}", *lines])


def opening(view: View, title: str) -> str:
    """Write the report's first lines."""
    first = required_line(view.rules, first=True)
    return "\n".join([*([first] if first else []), f"# {title}"]) + "\n"


def closing(view: View, files: int) -> str:
    """Write the report's last lines: the facts found, and a line that a rule wants there."""
    found = ["## Facts and decisions", *(f"- {fact}" for fact in view.facts)] if view.facts else []
    last = required_line(view.rules, first=False)
    parts = ["\n".join(found), f"{counted(files)} in all.", last or ""]
    return "\n" + "\n\n".join(part for part in parts if part) + "\n"
