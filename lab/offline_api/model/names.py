"""The tasks about a name: find where its value is set, and rename it everywhere.

Both search for the name, read around a hit and act on what they see there. If the hit
and the file can't be seen together, they look again, and after a few times they give
that place up openly.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from shlex import quote
from typing import NamedTuple

from agentlib.messages import Block
from offline_api.model.conversation import literal
from offline_api.model.notes import Note, last, listed, note, number, one_line
from offline_api.model.prompts import COMMANDS, TESTS, Task, is_consent
from offline_api.model.replies import Reply, answer, falls_short, gives_up
from offline_api.model.view import Call, View

_HIT = re.compile(r"^(?:\./)?(.+?):(\d+):(.*)$", re.MULTILINE)
_CONTEXTS = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 2), (4, 4))
"""Lines above and below that an edit may take along to be unique."""
_PROSE = (".md", ".rst", ".txt")
_NO_NAME = re.compile(r"None|True|False|and|or|not|if|else|int|float|str|self")
_DEFAULT_TESTS = "python -m unittest -q"
_PLAIN_COMMAND = re.compile(r"[\w./ =:-]+")
_FORBIDS = re.compile(r"\b(?:never|not)\b|n't\b|不|勿", re.IGNORECASE | re.ASCII)
_PATH = re.compile(r"(?<![\w.])[\w.-]+/[\w./-]*(?<!\.)", re.ASCII)


class Place(NamedTuple):
    """A line that holds a name, as a search shows it."""

    path: str
    line: str
    text: str


class Stretch(NamedTuple):
    """What can be seen of a file: lines by their numbers, and whether they are the
    whole file."""

    lines: Mapping[int, str]
    whole: bool


def search_command(name: str) -> str:
    """Write a search for a whole word, sorted, without hidden folders."""
    return COMMANDS["search"].format(name=quote(name))


def _search(view: View, name: str) -> tuple[list[Place], Reply | None]:
    """Return the hits of the newest search, or the reply that searches."""
    hits, call = view.printed(view.use("bash", command=search_command(name)), _HIT)
    return [Place(*hit) for hit in hits], call and answer(view, "", call)


def stretches(view: View, path: str) -> Iterator[Stretch]:
    """Yield what can be seen of a file, newest first, as it is after the edits that
    followed."""
    calls = [call for call in view.calls if call.path == path]
    for i, call in reversed(list(enumerate(calls))):
        if call.name != "read_file" or not call.text:
            continue
        text = "\n".join(call.lines)
        for edit in filter(_edited, calls[i:]):
            old, new = (str(edit.input.get(key)) for key in ("old_text", "new_text"))
            text = text.replace(old, new, 1)
        lines = dict(enumerate(text.split("\n"), call.start + 1))
        yield Stretch(lines, whole=not call.start and not call.next_line)


def _edited(call: Call) -> Note | None:
    """Return the note beside an edit that was made."""
    return (
        last(call.notes, "edit")
        if call.name == "edit_file" and call.succeeded
        else None
    )


# -- where a value is set --------------------------------------------------------------


def trace(view: View, task: Task) -> Reply:
    """Search for the next name, read the file that sets it, or answer with the whole
    chain."""
    chain = chain_of(view, task.names[0])
    while name := next_name(chain) if chain else task.names[0]:
        if stop := gives_up(view):
            return falls_short(view, f"{stop}\n{_told(chain)}")
        hits, step = _search(view, name)
        if step:
            return step
        place = _setting(hits, name)
        if place is None:
            unset = f"Nothing in the files sets `{name}`."
            if chain:
                return answer(view, f"{_answer(chain)}\n{unset}")
            return falls_short(view, f"{unset}\n")
        expression = _expression(view, place, name)
        if expression is None:
            return answer(view, "", view.again(view.use("read_file", path=place.path)))
        view = view.noting(note("set", name, place.path, place.line, expression))
        chain = chain_of(view, task.names[0])
    return answer(view, _answer(chain))


def chain_of(view: View, name: str) -> list[Note]:
    """Return the notes that lead from a name to what sets it."""
    links = {link.parts[0]: link for link in reversed(listed(view.own, "set"))}
    chain = list[Note]()
    wanted = name
    while link := links.get(wanted):
        chain.append(link)
        wanted = next_name(chain) or ""
    return chain


def next_name(chain: Sequence[Note]) -> str | None:
    """Return the name that the last expression depends on, None for a value or a
    circle."""
    text = r"(?:\b(?i:[rbuf]{1,2}))?([\"'])(?:\\.|(?!\1).)*\1"
    plain = re.sub(text, "", chain[-1].parts[3])
    # A name before a parenthesis is a function, and no value.
    words = re.findall(r"(?<![\w.])[A-Za-z_][\w.]*+(?!\s*\()", plain)
    names = [word for word in words if not _NO_NAME.fullmatch(word)]
    name = names[-1].rpartition(".")[2] if names else None
    return None if name in {link.parts[0] for link in chain} else name


def _setting(places: Sequence[Place], name: str) -> Place | None:
    """Return the hit that sets the name; prose and tests only if there is no other."""
    word = rf"[\"']?\b{re.escape(name)}\b[\"']?"
    form = re.compile(
        rf"[\w \t.]*?{word}\s*(?::\s*[\w\[\], |.]+)?=(?!=)|\s*{word}\s*:\s*\S"
    )
    return min(
        (place for place in places if form.match(place.text)),
        key=lambda p: (p.path.endswith(_PROSE), "test" in p.path, p.text[:1].isspace()),
        default=None,
    )


def _expression(view: View, place: Place, name: str) -> str | None:
    """Return what the line at a place sets a name to, None if its file must be read
    first.

    A name imported under another gets its own back.
    """
    at = int(place.line)
    seen = next(
        (each.lines for each in stretches(view, place.path) if at in each.lines), None
    )
    made = view.ran(view.use("read_file", path=place.path))
    if seen is None and not (made and (made.text or made.error)):
        return None
    # A long file doesn't come whole, so the search has to do.
    text = seen[at] if seen else place.text
    right = re.split(rf"{re.escape(name)}[^=:]*?(?::[^=]*)?[=:]\s*", text, maxsplit=1)[
        -1
    ]
    right = re.sub(r"\s+(?:#|//).*$|[;,]\s*$", "", right).strip()
    for original, alias in re.findall(
        r"(\w+) as (\w+)", "\n".join(seen.values() if seen else ())
    ):
        right = re.sub(rf"(?<![\w.]){alias}\b(?!\s*\.)", original, right)
    return right


def _told(chain: Sequence[Note]) -> str:
    links = (link.parts for link in chain)
    lines = (
        f"`{name}` is set to `{what}` in {path}:{at}" for name, path, at, what in links
    )
    return "\n".join(lines)


def _answer(chain: Sequence[Note]) -> str:
    """Compute the value from the last link back to the first, and tell the chain."""
    values: dict[str, object] = {}
    for link in reversed(chain):
        values[link.parts[0]] = value(link.parts[3], values)
    first = chain[0].parts[0]
    if values[first] is None:
        return f"`{first}` comes from `{chain[-1].parts[3]}`, no plain value:\n{_told(chain)}"
    files = len({link.parts[1] for link in chain})
    where = f"through {files} files" if files > 1 else "in one file"
    return f"`{first}` is {values[first]!r}, set {where}:\n{_told(chain)}"


def value(expression: str, known: Mapping[str, object]) -> object:
    """Return the value of a literal, of a known name or of a product of them, else
    None.

    >>> value("limits.BASE * 2", {"BASE": 15})
    30
    """
    words = expression.split(" * ")
    factors = [known.get(word.rpartition(".")[2], literal(word)) for word in words]
    numbers = [each for each in factors if isinstance(each, int | float)]
    if len(factors) == 1:
        return factors[0]
    return math.prod(numbers) if len(numbers) == len(factors) else None


# -- another name for it ---------------------------------------------------------------


def rename(view: View, task: Task) -> Reply:
    """Edit the next place. If none is left, run the tests, search once more and say how
    it went."""
    old, _ = task.names
    view = view.noting(_tested(view))
    if stop := gives_up(view):
        return falls_short(
            view, f"{stop} {view.edits} edits were made; places may be left."
        )
    hits, step = _search(view, old)
    if step:
        return step
    call = view.use("bash", command=search_command(old))
    if view.newest and view.newest.name == "edit_file" and view.newest.interrupted:
        return answer(view, "The edit was interrupted; I look again first.", call)
    if not hits and not view.edits:
        return falls_short(
            view, f"`{old}` isn't in any file here, so there is nothing to rename."
        )
    index = max(i for i, c in enumerate(view.calls) if c.input == call["input"])
    edits = [edit.parts[1:] for c in view.calls[index + 1 :] if (edit := _edited(c))]
    over = {*edits, *(n.parts[:2] for n in view.own if n.kind == "left")}
    never = _never(view.in_force)
    for place in (
        p for p in hits if p[:2] not in over and not p.path.startswith(never)
    ):
        edit, words = _edit(view, task, place, hits)
        if edit:
            return answer(view, words, edit)
        view = view.noting(words)
    return _finish(view, task, hits, edited=bool(edits))


def _never(rules: Sequence[str]) -> tuple[str, ...]:
    """Return the folders and files that rules want left alone and no permission lifts.

    >>> _never(["Never edit files below vendor/.", "Always run the tests."])
    ('vendor/',)
    """
    forbidding = [rule for rule in rules if _FORBIDS.search(rule)]
    allowed = {
        path for rule in rules if is_consent(rule) for path in _PATH.findall(rule)
    }
    return tuple(
        p for rule in forbidding for p in _PATH.findall(rule) if p not in allowed
    )


def _edit(
    view: View, task: Task, place: Place, hits: Sequence[Place]
) -> tuple[Block | None, str]:
    """Return the call that brings a place forward and its words; no call: it is given
    up."""
    seen = stretches(view, place.path)
    texts = next(
        filter(None, (replacement(each, place, *task.names) for each in seen)), None
    )
    since = takewhile(lambda call: not _edited(call), reversed(view.calls))
    reads = sum(call.name == "read_file" and call.path == place.path for call in since)
    if not texts and reads < view.habits.rereads:
        return view.use("read_file", path=place.path), ""
    if (
        not texts
        and sum(h.path == place.path and place.text in h.text for h in hits) == 1
    ):
        texts = place.text, _renamed(place.text, *task.names)
    if not texts:
        why = "its line is not unique, and the file is cleared too soon"
        return None, note("left", *place[:2], why)
    edit = view.use("edit_file", path=place.path, old_text=texts[0], new_text=texts[1])
    return edit, note("edit", view.edits + 1, *place[:2])


def replacement(
    seen: Stretch, place: Place, old: str, new: str
) -> tuple[str, str] | None:
    """Return old_text and new_text of the edit that renames a line, None if that can't
    be done.

    They have as many neighbouring lines as make the text unique in what is seen.

    >>> seen = Stretch({1: "a = N", 2: "b = N", 3: "a = N"}, whole=True)
    >>> replacement(seen, Place("a.py", "3", "a = N"), "N", "M")
    ('b = N\\na = N', 'b = N\\na = M')
    """
    at = int(place.line)
    renamed = {**seen.lines, at: _renamed(seen.lines.get(at, ""), old, new)}
    for above, below in _CONTEXTS[not seen.whole :] if renamed[at] else ():
        lines = [n for n in range(at - above, at + below + 1) if n in seen.lines]
        old_text, new_text = (
            "\n".join(text[n] for n in lines) for text in (seen.lines, renamed)
        )
        if "\n".join(seen.lines.values()).count(old_text) == 1 and old_text != new_text:
            return old_text, new_text
    return None


def _renamed(line: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, line)


def _finish(view: View, task: Task, hits: Sequence[Place], *, edited: bool) -> Reply:
    """Find the tests, run them, search again, answer."""
    old, new = task.names
    if decided := [match[1] for rule in view.in_force if (match := TESTS.search(rule))]:
        view = view.knowing(note("command", decided[-1]))
    command = last(view.own, "command")
    tests = last(view.own, "tests")
    if command is None:
        find = view.use("bash", command=COMMANDS["find_tests"])
        return answer(view, "Nothing is left to edit; I look for the tests.", find)
    if tests is None or (edited and not _tested(view)):
        run = COMMANDS["run_tests"].format(tests=command.text)
        return answer(view, "Now the tests.", view.use("bash", command=run))
    if edited:
        return answer(
            view, "One more search.", view.use("bash", command=search_command(old))
        )
    places = ", ".join(f"{hit.path}:{hit.line}" for hit in hits[:20])
    rest = f"{len(hits)} places are left{': ' if places else ''}{places}"
    protected = sum(hit.path.startswith(_never(view.in_force)) for hit in hits)
    rest += f"; a rule protects {protected} of them" if protected else ""
    told = f"Renamed {old} to {new}: {view.edits} edits made; {rest}."
    ends = falls_short if len(hits) > protected else answer
    ran = (
        "No test was run."
        if tests.parts[0] == "none"
        else f"Tests {': '.join(tests.parts)}"
    )
    return ends(view, f"{told} {ran}")


def _tested(view: View) -> str:
    """Note what the newest call told about the tests."""
    call = view.newest
    if not call or not call.text:
        return ""
    lines = [line.strip() for line in call.text.split("\n") if line.strip()]
    if call.input.get("command") == COMMANDS["find_tests"]:
        return note(
            "command",
            lines[0] if _PLAIN_COMMAND.fullmatch(lines[0]) else _DEFAULT_TESTS,
        )
    if "PIPESTATUS" not in str(call.input.get("command")):
        return ""
    if "Ran 0 tests" in call.text:  # some runners end well without any
        return note("tests", "none", "no test was run")
    words = one_line(lines[-2], 100) if len(lines) > 1 else "no output"
    return note("tests", "pass" if lines[-1] == "exit code 0" else "fail", words)


def progress(view: View, kind: str) -> str:
    """Return the progress that a summary notes, as a number and its noun."""
    if kind == "rename":
        return f"{view.edits} edits made"
    if kind == "trace":
        return f"{len(listed(view.own, 'set'))} names traced"
    lines = sum(number(each.parts[1]) for each in view.reading.values())
    return f"{view.done_count} files done{f' and {lines} lines' if lines else ''}"
