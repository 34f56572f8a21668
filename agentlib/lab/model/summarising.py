"""The summary that the offline model writes, from what it is shown and from nothing else.

What it puts first decides what is lost: the task and the done-list; then a twelfth of the room for
rules, decisions and facts, the newest first; then what matches the focus, then the newest notes.
An earlier summary is text like any other, so what it lacks is gone; asked to update it, the model
carries over what that had decided before anything new. Not here: when a summary is asked for and
what it replaces (auto_compact, head_and_tail).
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from agentlib.lab.model.notes import Note, last, listed, notes, told
from agentlib.lab.model.pending import HEADING, LENGTH, pending
from agentlib.lab.model.prompts import understand
from agentlib.lab.model.reading import View, edits_made, one_line, rough_tokens

SHARE = 0.2
"""A summary is at most so much of what it was shown."""
DECISIONS = 1 / 12
"""Share of the room for rules, decisions and facts that no focus names."""
_DONE = 0.6
"""Share of the room that the list of finished files may take before it is put in one line."""
_ASKED = re.compile(r"[Aa]t most ([\d,]+) tokens")
_FOCUS = re.compile(r"^Focus: (.*)$", re.MULTILINE)
_GIVEN = re.compile(r"([\d,]+) of these tokens to the focus")
_UPDATE = re.compile(r"\bUpdate it\b")
CARRIED = 0.5
"""Share of the room that an update gives to what the summary before it had decided."""
_HEADING = re.compile(r"^## .+$", re.MULTILINE)
_HEADINGS = ["## Accomplished", "## Current state", "## Key decisions"]
_TASK, _FILES, _DECIDED, _ASKED_FOR, _LEFT = range(5)
_UNDER = {
    _FILES: re.compile(r"file|state", re.IGNORECASE),
    _DECIDED: re.compile(r"decision|rule", re.IGNORECASE),
    _ASKED_FOR: HEADING,
    _LEFT: re.compile(r"remaining|left", re.IGNORECASE),
}
"""The heading under which each sort of item goes; the first one where none fits."""
_ENDING = re.compile(r"(?:ations?|ions?|ings?|ies|ied|ers?|ed|es|s|y|e)$")
_CHINESE = {
    "规则": "rule",
    "约束": "rule",
    "要求": "rule",
    "决定": "decision",
    "决策": "decision",
    "事实": "fact",
}
_STOP = {
    "the",
    "and",
    "all",
    "with",
    "from",
    "that",
    "this",
    "what",
    "every",
    "keep",
    "user",
    "about",
}


class Item(NamedTuple):
    """Something worth keeping: where it goes, its text, the words under which a focus finds it."""

    heading: int
    text: str
    words: str


def summarise(view: View, prompt: str) -> str:
    """A summary under the headings that are asked for, within every bound that is known.

    `prompt`: the text that asked for it. The bounds: "at most N tokens", max_tokens, and a fifth
    of what is shown.
    """
    most = _ASKED.search(prompt)
    bounds = [int(SHARE * view.size), view.max_tokens]
    bounds += [int(most[1].replace(",", ""))] if most else []
    headings = _HEADING.findall(prompt) or _HEADINGS
    if not view.request and not view.known:
        return f"{headings[0]}\nNothing of the conversation was shown to me."
    asked = pending(view) if any(map(HEADING.match, headings)) else []
    first = _progress(view, min(bounds), asked)
    left = min(bounds) - rough_tokens("\n".join([*(item.text for item in first), *headings]))
    chosen = _chosen(_items(view, asked), prompt, view.summary, left, min(bounds))
    return _written(headings, [*first, *chosen])


def stems(text: str) -> set[str]:
    """The words of a text without their endings, small words left out.

    >>> sorted(stems("decisions and the rules")), stems("decision") <= stems("decisions")
    (['decis', 'rul'], True)
    """
    for chinese, english in _CHINESE.items():
        text = text.replace(chinese, f" {english} ")
    words = re.findall(r"[A-Za-z_]\w{2,}", text, re.ASCII)
    return {_ENDING.sub("", word.lower()) for word in words if word.lower() not in _STOP}


def _progress(view: View, bound: int, asked: Sequence[str]) -> list[Item]:
    """What comes first in every summary: the task, what is done, what was asked, what counted."""
    return [
        *(Item(_TASK, line, "") for line in _done(view, bound)),
        *(Item(_ASKED_FOR, f"- Earlier request: {text}", "") for text in asked),
        Item(_LEFT, _count(view), ""),
    ]


def _done(view: View, bound: int) -> list[str]:
    """The task, and what is done."""
    lines = [f"Task: {one_line(view.request)}"]
    lines += _files_done(view, bound)
    lines += [f"Skipped {told(path)}: {why}" for path, why in listed(view.own, "skipped")[-5:]]
    for form, kind in (
        ("There is no directory {}/ here", "missing"),
        ("Traced `{}` = {} ({}:{})", "traced"),
        ("Gave up on {}:{}: {}", "gave_up"),
    ):
        lines += [form.format(*parts) for parts in listed(view.own, kind)]
    for form, kind in (
        ("Test command: `{}`", "command"),
        ("Tests {}: {}", "tests"),
        ("Report {} up to {}", "written"),
        ("Replaced {}, which was there before", "replaced"),
    ):
        if parts := last(view.own, kind):
            lines.append(form.format(*parts))
    return [*lines, *(_without_facts(note) for note in _partly(view))]


def _files_done(view: View, bound: int) -> list[str]:
    """The files that are done: by number where an earlier summary had to, the others by name."""
    count, upto = view.done_to
    short = [f"Done: {count} files, all up to {upto}"] if count else []
    if not (named := sorted(path for path in view.done if path > upto)):
        return short
    plain = f"Done: {', '.join(map(told, named))}"
    if rough_tokens(plain) < _DONE * bound:
        return [*short, plain]
    return [f"Done: {view.done_count} files, all up to {named[-1]}"]


def _count(view: View) -> str:
    """Progress, and how many summaries in a row it has stood still."""
    before = last(view.own, "count")
    kind = understand(view.request).kind
    if kind == "rename":
        label, number = "edits made", str(edits_made(view))
    elif kind == "trace":
        label, number = "names traced", str(len(listed(view.own, "traced")))
    else:
        lines = sum(note.upto for note in _partly(view))
        label, number = "files done", f"{view.done_count}{f' and {lines} lines' if lines else ''}"
    still = int(before[2]) + 1 if before and before[1] == number else 0
    return f"{label}: {number}; no progress: {still}"


def _partly(view: View) -> list[Note]:
    """The notes on files that are still being read."""
    return [note for note in notes(view.own).values() if note.upto]


def _items(view: View, asked: Sequence[str]) -> list[Item]:
    """Everything else that is known, the newest first."""
    rules = [
        Item(_DECIDED, f"- Rule: {rule}", f"rule constraint decision {rule}") for rule in view.rules
    ]
    facts = [Item(_DECIDED, f"- {fact}", fact) for fact in view.facts]
    earlier = [
        Item(_TASK, f"- Earlier request: {text}", "request task")
        for text in (
            *(parts[0] for parts in listed(view.known, "request")),
            *(one_line(text, LENGTH) for text in view.earlier),
        )
        if text not in asked
    ]
    found = [
        Item(_FILES, _without_facts(note), f"note file {note.text()}")
        for note in view.notes.values()
        if not note.upto
    ]
    return [*rules, *earlier, *facts, *found][::-1]


def _without_facts(note: Note) -> str:
    return Note(note.path, note.purpose, note.names, (), note.upto, note.bare).text()


def _chosen(items: Sequence[Item], prompt: str, before: str, left: int, bound: int) -> list[Item]:
    """What fits: matches of the focus; in an update, what the summary `before` had decided; a few
    new decisions; then the newest of the rest."""
    focus, given = _focus(prompt, left)
    taken = _fitting([item for item in items if focus & stems(item.words)], given)
    decided = [item for item in items if item.heading == _DECIDED]
    if _UPDATE.search(prompt):
        carried = [item for item in decided if item.text in before and item not in taken]
        taken += _fitting(carried, min(left - _size(taken), int(CARRIED * bound)))
    few = [item for item in decided if item not in taken]
    taken += _fitting(few, min(left - _size(taken), int(DECISIONS * bound)))
    left -= _size(taken)
    rest = [item for item in items if item not in taken]
    taken += _fitting(rest, left)
    return [item for item in reversed(items) if item in taken]


def _fitting(items: Iterable[Item], room: int) -> list[Item]:
    """The first items until one doesn't fit."""
    taken: list[Item] = []
    for item in items:
        room -= _size([item])
        if room < 0:
            break
        taken.append(item)
    return taken


def _size(items: Iterable[Item]) -> int:
    return sum(rough_tokens(item.text) + 1 for item in items)


def _focus(prompt: str, left: int) -> tuple[set[str], int]:
    """The words of the focus, and the room for it: all that is left, where none is named."""
    focus, given = _FOCUS.search(prompt), _GIVEN.search(prompt)
    room = int(given[1].replace(",", "")) if given else left
    return stems(focus[1] if focus else ""), min(left, room)


def _written(headings: Sequence[str], items: Sequence[Item]) -> str:
    """The lines under their headings."""
    under: list[list[str]] = [[] for _ in headings]
    for item in items:
        form = _UNDER.get(item.heading)
        fitting = (n for n, heading in enumerate(headings) if form and form.search(heading))
        under[next(fitting, 0)].append(item.text)
    parts = ["\n".join([heading, *lines]) for heading, lines in zip(headings, under, strict=True)]
    return "\n\n".join(parts)
