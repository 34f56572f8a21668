"""Renaming a name everywhere: search, read, edit one place a turn, run the tests, search again.

It edits only what it can see: a place from the search result, its text from a read_file result.
Where both don't stand in the context together, it looks again, twice; then it edits from the
search hit if that is unique, then it gives the place up, openly. Not here: the looking (places).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentlib.lab.model.acting import Reply, again, bash, gives_up, say, use
from agentlib.lab.model.notes import last
from agentlib.lab.model.places import (
    Place,
    edits_after,
    from_hit,
    places_in,
    replacement,
    search,
    search_command,
    stretches,
)
from agentlib.lab.model.prompts import Task
from agentlib.lab.model.reading import View, edits_made, one_line
from agentlib.messages import Block

REREADS = 2
"""Readings of a file without an edit in between after which the search hit must do."""
_AROUND = 60
FIND_TESTS = (
    "grep -hoE '(python3? -m [a-z_.]*test[a-z_.]*|pytest|npm test|make test|mvn test|go test|"
    "cargo test)[^`\"]*' README.md README.rst README.txt Makefile pyproject.toml package.json "
    "2>/dev/null | sed -n 1p"
)
_DEFAULT_TESTS = "python -m unittest -q"
_ALLOWED = re.compile(r"[\w./ =:-]+")
_FORBIDS = re.compile(r"\b(?:never|not)\b|n't\b|不|勿", re.IGNORECASE | re.ASCII)
_PATH = re.compile(r"(?<![\w.])[\w.-]+/[\w./-]*(?<!\.)", re.ASCII)
_TIMES = re.compile(r"\s*\(?\bin \d[\d.]*\s?s\w*\)?")


@dataclass(frozen=True)
class Work:
    """What is known of the renaming: the hits that can be seen, and those that are left."""

    hits: list[Place]
    left: list[Place]
    protected: list[Place]
    """Hits that a rule of the person's wants left alone."""
    edited: int
    """Edits since the search."""


def rename(view: View, task: Task) -> Reply:
    """Edit the next place; when none is left, test, search once more and say how it went."""
    old, new = task.names
    text = _tested(view)
    view = view.noting(text)
    if sentence := gives_up(view):
        return say(f"{text}\n{sentence} {edits_made(view)} edits were made; places may be left.")
    found = search(view, old)
    if found and found.error and not found.interrupted:
        return say(f"{text}\nI can't search the files: {one_line(found.text)}")
    if found is None or not found.visible:
        return say(text, again(view, found) if found else bash(search_command(old)))
    work = _work(view, old)
    if _unclear(view):
        return say(
            f"{text}\nThe edit was interrupted; I look again first.", bash(search_command(old))
        )
    for place in work.left:
        step, words = _step(view, place, work, old, new)
        if step:
            return say(f"{text}\n{words}", step)
        text = f"{text}\n{words}"
        view = view.noting(words)
    return _finish(view, task, text, work)


def _work(view: View, old: str) -> Work:
    index = max(i for i, c in enumerate(view.calls) if c.input == {"command": search_command(old)})
    hits = places_in(view.calls[index].text)
    over = {(place.path, place.line) for _, place in edits_after(view, index)}
    edited = len(over)
    over |= {(parts[0], int(parts[1])) for kind, parts in view.own if kind == "gave_up"}
    never = _never(view.rules)
    protected = [hit for hit in hits if never and hit.path.startswith(never)]
    left = [hit for hit in hits if (hit.path, hit.line) not in over and hit not in protected]
    return Work(hits, left, protected, edited)


def _never(rules: Sequence[str]) -> tuple[str, ...]:
    """Folders and files that rules want left alone.

    >>> _never(["Never edit files below vendor/.", "Always run the tests."])
    ('vendor/',)
    """
    forbidding = [rule for rule in rules if _FORBIDS.search(rule)]
    return tuple(path for rule in forbidding for path in _PATH.findall(rule))


def _unclear(view: View) -> bool:
    """Whether the newest call is an edit of which nobody knows if it was made."""
    newest = view.newest
    return bool(newest and newest.name == "edit_file" and newest.interrupted)


def _step(view: View, place: Place, work: Work, old: str, new: str) -> tuple[Block | None, str]:
    """The call that brings this place forward, and its words; no call: the place is given up."""
    where = f"{place.path}:{place.line}"
    editing = f"Editing {where} (edit {edits_made(view) + 1})."
    failed = sum(
        call.name == "edit_file" and call.error and _aim(call.said) == (place.path, str(place.line))
        for call in view.calls
    )
    if failed >= REREADS:
        return None, f"Gave up on {where}: the edit is refused"
    for stretch in stretches(view, place.path):
        line = stretch.line(place.line)
        if line is None or not re.search(rf"(?<!\w){re.escape(old)}(?!\w)", line):
            continue
        if texts := replacement(stretch, place.line, old, new):
            return _edit(place, texts), editing
        return None, f"Gave up on {where}: its surroundings are not unique"
    if _reads_without_edit(view, place.path) < REREADS:
        return _read(view, place), ""
    if texts := from_hit(place, work.hits, old, new):
        return _edit(place, texts), editing
    return (
        None,
        f"Gave up on {where}: its line is not unique and the file is cleared before I see it",
    )


def _aim(said: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...] | None:
    return next((parts[:2] for kind, parts in said if kind == "editing"), None)


def _edit(place: Place, texts: tuple[str, str]) -> Block:
    return use("edit_file", path=place.path, old_text=texts[0], new_text=texts[1])


def _reads_without_edit(view: View, path: str) -> int:
    """How often a file was read since the last edit that was made."""
    count = 0
    for call in reversed(view.calls):
        if call.name == "edit_file" and call.made:
            break
        count += call.name == "read_file" and call.path == path
    return count


def _read(view: View, place: Place) -> Block:
    """The file; only the part around the place where the file was too long to come whole."""
    whole = view.ran("read_file", path=place.path)
    if whole and whole.visible and whole.next_line:
        start = max(0, place.line - _AROUND)
        return use("read_file", path=place.path, offset=start, limit=2 * _AROUND)
    return use("read_file", path=place.path)


def _finish(view: View, task: Task, text: str, work: Work) -> Reply:
    """Nothing is left to edit: find the tests, run them, search again, answer."""
    old, new = task.names
    command = last(view.own, "command")
    tests = last(view.own, "tests")
    if work.edited and tests and _edited_since_tests(view):
        tests = None
    if not command:
        return say(f"{text}\nNothing is left to edit; I look for the tests.", bash(FIND_TESTS))
    if not tests:
        return say(f"{text}\nNow the tests.", bash(_test_command(command[0])))
    if work.edited:
        return say(f"{text}\nOne more search.", bash(search_command(old)))
    places = ", ".join(f"{hit.path}:{hit.line}" for hit in work.hits[:20])
    rest = f"{len(work.hits)} places are left{': ' if places else ''}{places}"
    rest += f"; a rule protects {len(work.protected)} of them" if work.protected else ""
    return say(
        f"{text}\nRenamed {old} to {new}: {edits_made(view)} edits made; {rest}. "
        f"Tests {tests[0]}: {tests[1]}"
    )


def _edited_since_tests(view: View) -> bool:
    """Whether an edit followed the newest run of the tests."""
    names = [_is_test(call.input.get("command", "")) or call.name for call in view.calls]
    edits = [i for i, name in enumerate(names) if name == "edit_file"]
    return (
        "tests" in names and bool(edits) and edits[-1] > len(names) - 1 - names[::-1].index("tests")
    )


def _test_command(command: str) -> str:
    """The tests, their exit code in words, without the times that some runners print."""
    return (
        f"({command}) 2>&1 | sed -E 's/ in [0-9.]+ ?s.*$//'; echo \"exit code ${{PIPESTATUS[0]}}\""
    )


def _is_test(command: object) -> str:
    return "tests" if "PIPESTATUS" in str(command) else ""


def _tested(view: View) -> str:
    """What the newest call told about the tests, as a note."""
    call = view.newest
    if not call or not call.visible or call.name != "bash":
        return ""
    if call.input.get("command") == FIND_TESTS:
        found = call.text.split("\n")[0].strip()
        named = (
            found if _ALLOWED.fullmatch(found) and "(no output)" not in found else _DEFAULT_TESTS
        )
        return f"Test command: `{named}`"
    if not _is_test(call.input.get("command")):
        return ""
    lines = [line for line in call.text.split("\n") if line.strip()]
    if re.search(r"^Ran 0 tests", call.text, re.MULTILINE):
        return "Tests fail: no test was run"  # some runners end well over an empty folder
    passed = lines[-1] == "exit code 0"
    said = one_line(lines[-2], 100) if len(lines) > 1 else "no output"
    return f"Tests {'pass' if passed else 'fail'}: {_TIMES.sub('', said)}"
