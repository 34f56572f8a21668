"""Where a name stands, and what of the files can be seen: the ground on which edits are made.

A place is a line of a search result. A stretch is a part of a file as a read_file result shows it,
with the edits that were made since. Pure functions of a view. Not here: which place is next
(renaming, tracing).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentlib.lab.model.acting import quoted
from agentlib.lab.model.calls import Call
from agentlib.lab.model.reading import View

_HIT = re.compile(r"^(?:\./)?(.+?):(\d+):(.*)$", re.MULTILINE)
CONTEXT = 4
"""Lines on each side that an edit may take along to be unique."""


class Place(NamedTuple):
    """A line that holds a name; `text` is the line as the search showed it."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Stretch:
    """Lines of a file that can be seen; the first one has the number `start + 1`."""

    start: int
    lines: tuple[str, ...]
    whole: bool

    def line(self, number: int) -> str | None:
        index = number - 1 - self.start
        return self.lines[index] if 0 <= index < len(self.lines) else None


def search_command(name: str) -> str:
    """A search for a whole word, sorted; hidden folders and reports left out."""
    return (
        f"grep -rnwIF --exclude-dir='.?*' --exclude-dir=__pycache__ --exclude-dir=node_modules "
        f"--exclude-dir=venv -e {quoted(name)} . | LC_ALL=C sort -t: -k1,1 -k2,2n"
    )


def search(view: View, name: str) -> Call | None:
    """The newest search for the name."""
    return view.ran("bash", command=search_command(name))


def places_in(text: str) -> list[Place]:
    """The hits of a search.

    >>> places_in("./a.py:3:x = LIMIT")
    [Place(path='a.py', line=3, text='x = LIMIT')]
    """
    return [Place(path, int(line), rest) for path, line, rest in _HIT.findall(text)]


def edits_after(view: View, index: int) -> list[tuple[Call, Place]]:
    """Successful edits after a call, each with the place that was named beside it."""
    done: list[tuple[Call, Place]] = []
    for call in view.calls[index + 1 :]:
        at = next((parts for kind, parts in call.said if kind == "editing"), None)
        if call.name == "edit_file" and call.made and at:
            done.append((call, Place(at[0], int(at[1]), "")))
    return done


def stretches(view: View, path: str) -> list[Stretch]:
    """What can be seen of a file, newest first, as it is after the edits that followed."""
    found: list[Stretch] = []
    for index, call in enumerate(view.calls):
        if call.name == "read_file" and call.path == path and call.visible:
            if any(c.path == path and c.interrupted for c in view.calls[index + 1 :]):
                continue
            text = call.body
            for edit, _ in edits_after(view, index):
                new = str(edit.input["new_text"])
                # A file that was put back (it has no id) may have the edit in it already.
                if edit.path == path and (call.id or new not in text):
                    text = text.replace(str(edit.input["old_text"]), new, 1)
            start = int(call.input.get("offset") or 0)
            found.append(Stretch(start, tuple(text.split("\n")), not start and not call.next_line))
    return found[::-1]


def replacement(seen: Stretch, number: int, old: str, new: str) -> tuple[str, str] | None:
    """old_text and new_text of the one edit that renames a line: with as many neighbours as it
    needs to be the only such text in what is seen; None where that is not to be had.

    >>> replacement(Stretch(0, ("a = N", "b = N", "a = N"), True), 3, "N", "M")
    ('b = N\\na = N', 'b = N\\na = M')
    """
    whole = "\n".join(seen.lines)
    index = number - 1 - seen.start
    least = 0 if seen.whole else 1
    for around in _neighbours(least):
        first, stop = max(0, index - around[0]), index + 1 + around[1]
        before, after = seen.lines[first:index], seen.lines[index + 1 : stop]
        old_text = "\n".join((*before, seen.lines[index], *after))
        if _times(whole, old_text) == 1:
            return old_text, "\n".join((*before, _renamed(seen.lines[index], old, new), *after))
    return None


def _neighbours(least: int) -> Iterator[tuple[int, int]]:
    for total in range(least, 2 * CONTEXT + 1):
        yield from ((above, total - above) for above in range(total, -1, -1) if above <= CONTEXT)


def _times(text: str, part: str) -> int:
    """How often a part stands in a text, overlaps counted."""
    return len(re.findall(f"(?={re.escape(part)})", text))


def _renamed(line: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, line)


def from_hit(place: Place, hits: Sequence[Place], old: str, new: str) -> tuple[str, str] | None:
    """The edit of a line that is known from the search alone; None where it is not the only one."""
    same = [hit for hit in hits if hit.path == place.path and place.text in hit.text]
    return (place.text, _renamed(place.text, old, new)) if len(same) == 1 else None
