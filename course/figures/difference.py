"""Two texts as one, line by line: what went and what came (lesson 03)."""

import difflib
import html

from session_report.style import LINE

_ROW = '<{tag} style="display: block; text-decoration: none; {style}">{text}</{tag}>'
_TAGS = {
    "-": ("del", "background: rgba(213, 94, 0, .25)"),
    "+": ("ins", "background: rgba(0, 158, 115, .22)"),
    " ": ("span", "white-space: nowrap; overflow: hidden; text-overflow: ellipsis"),
}
"""The colours are half transparent, so they suit a light page and a dark one."""


class Difference:
    """The lines of two texts in one order, for a notebook or for `print`.

    A line that went begins with "-", one that came with "+". In a printed text a long
    line is cut.

    >>> Difference("One.\\nTwo.", "Two.\\nThree.")
    - One.
      Two.
    + Three.
    """

    def __init__(self, old: str, new: str) -> None:
        merged = difflib.ndiff(old.splitlines(), new.splitlines())
        self.lines = [line for line in merged if line[0] != "?"]

    def __repr__(self) -> str:
        cut = (
            line if len(line) <= LINE else f"{line[: LINE - 2]} …"
            for line in self.lines
        )
        return "\n".join(line.rstrip() for line in cut)

    def _repr_html_(self) -> str:
        rows = ""
        for line in self.lines:
            tag, style = _TAGS[line[0]]
            rows += _ROW.format(tag=tag, style=style, text=html.escape(line))
        return f'<div style="font: 12px/1.5 monospace; max-width: 720px">{rows}</div>'
