"""The summary that the offline model writes, from what it is shown and from nothing
else.

The order decides what is lost. First come the task and the list of finished files. A
small share of the room goes to facts, then to rules, the newest first of each. Then
comes what matches the focus, then the newest notes. An earlier summary is text like any
other, so what it lacks is gone. Asked to update it, the model carries over its
decisions before anything new.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple
from zlib import crc32

from agentlib.messages import SUMMARY_WANTED
from offline_api.model.names import chain_of, next_name, progress
from offline_api.model.notes import last, listed, note, notes_in, number, one_line
from offline_api.model.prompts import TABLE, Task, understand
from offline_api.model.reading import in_sight, take_notes
from offline_api.model.view import NOTHING_SHOWN, View, rough_tokens

_DONE = 0.6
"""Share of the room that the list of finished files may take before it becomes one
line."""
_SURE = 0.8
"""Share of max_tokens within which no text is cut off, by its own rough count."""
_FORMS = {
    name: re.compile("|".join(forms), re.IGNORECASE | re.MULTILINE)
    for name, forms in TABLE["summary_text"].items()
}
_EXAMPLE = re.compile(r"<example>.*?</example>", re.DOTALL)
_HEADINGS = ["## Accomplished", "## Current state", "## Key decisions"]
_TASK = ""
_FILES = "file|state|artifact|文件|状态|产物"
_DECIDED = "decision|rule|决策|决定|规则|约束"
_QUESTIONS = "pending|question|待解决|待回答|未答|问题"
_LEFT = "remaining|left|next|progress|to[ -]do|待办|剩余|下一步|进度|进展"
"""Words of the heading under which each sort of item goes; the first heading if none
fits."""
_ENDING = re.compile(r"(?:ations?|ions?|ings?|ies|ied|ers?|ed|es|s|y|e)$")
_CHINESE = (("规则|约束|要求", "rule"), ("决定|决策", "decision"), ("事实", "fact"))
_SMALL = "the and all with from that this what every keep user about"
_LENGTH = 120
"""Characters of an earlier request."""


class Item(NamedTuple):
    """Something worth keeping: its heading, its text, and the words by which a focus
    finds it."""

    heading: str
    text: str
    words: str = ""


def summarise(view: View, prompt: str) -> str:
    """Write a summary under the headings that the prompt asks for, within every known
    bound.

    The bounds: what the prompt asks for, max_tokens, and a share of what is shown. In
    the course's agent the newest exchange stays beside the summary, so what was just
    read there is left out. So are the newest messages that the prompt says will stay.
    """
    prompt = _EXAMPLE.sub("", prompt)
    headings = (
        _FORMS["heading"].findall(prompt)
        or _FORMS["numbered"].findall(prompt)
        or _HEADINGS
    )
    if not view.request and not view.known:
        return f"{headings[0]}\n{NOTHING_SHOWN}"
    view = in_sight(view if prompt.startswith(SUMMARY_WANTED) else take_notes(view))
    bounds = [int(view.habits.summary * view.size), int(_SURE * view.max_tokens)]
    if most := _FORMS["asked"].search(prompt):
        bounds.append(int(number(most[1]) * (1.3 if most[2] == "word" else 1)))
    elif most := _FORMS["asked_in_chinese"].search(prompt):
        bounds.append(number(most[1]))
    room = min(bounds)
    asked = (
        pending(view) if any(_is_under(_QUESTIONS, each) for each in headings) else []
    )
    first = _first(view, room, asked)
    left = room - rough_tokens("\n".join([*(item.text for item in first), *headings]))
    text = _written(
        headings, [*first, *_chosen(view, _items(view, asked), prompt, left, room)]
    )
    return f"<summary>\n{text}\n</summary>" if "<summary>" in prompt else text


def stems(text: str) -> set[str]:
    """Return the words of a text without their endings, and without small words.

    >>> sorted(stems("decisions and the rules")), stems("decision") <= stems("decisions")
    (['decis', 'rul'], True)
    >>> stems("保留规则")
    {'rul'}
    """
    for chinese, english in _CHINESE:
        text = re.sub(chinese, f" {english} ", text)
    words = re.findall(r"[A-Za-z_]\w{2,}", text, re.ASCII)
    return {
        _ENDING.sub("", word.lower())
        for word in words
        if word.lower() not in _SMALL.split()
    }


# -- questions without an answer -------------------------------------------------------


def pending(view: View) -> list[str]:
    """Return the unanswered questions and requests that can be seen, oldest first."""
    asked = [
        *_handed_over(view),
        *(one_line(text, _LENGTH) for text in view.unanswered),
    ]
    now = one_line(view.request, _LENGTH)
    return [
        text
        for text in dict.fromkeys(asked)
        if text != now and not _is_answered(view, text)
    ]


def stale_question(view: View) -> tuple[View, Task] | None:
    """Return the question that a summary puts to its reader, as the request to work on.

    A summary is a user's message, so its open questions are requests like any other,
    unless no heading reads like a command, or the summary says that it is no
    instruction.
    """
    noted = view.habits.heeds_notes and _FORMS["no_instruction"].search(view.summary)
    if noted or not _FORMS["command"].search(view.summary):
        return None
    handed_over = [text for text in pending(view) if text in _handed_over(view)]
    return open_question(replace(view, own=view.known), handed_over)


def open_question(view: View, texts: Sequence[str]) -> tuple[View, Task] | None:
    """Return the first question about a value in some texts, as the request to work
    on."""
    tasks = ((text, understand(text)) for text in texts)
    questions = (each for each in tasks if each[1].kind == "trace" and each[1].names)
    return next(((replace(view, request=text), task) for text, task in questions), None)


def _handed_over(view: View) -> list[str]:
    """Return the requests under a summary's heading for pending questions."""
    section = _FORMS["questions"].search(view.summary)
    return (
        [each.text for each in listed(notes_in(section[1]), "request")]
        if section
        else []
    )


def _is_answered(view: View, text: str) -> bool:
    task = understand(text)
    chain = (
        chain_of(replace(view, own=view.known), task.names[0])
        if task.kind == "trace"
        else []
    )
    return bool(chain) and next_name(chain) is None


# -- what a summary holds --------------------------------------------------------------


def _first(view: View, room: int, asked: Sequence[str]) -> list[Item]:
    """Return what comes first in every summary: task, what is done, questions,
    progress."""
    task = [note("task", one_line(view.request))] if view.request else []
    lines = [*task, *_files_done(view, room)]
    lines += map(str, listed(view.own, "skipped")[-5:])
    lines += [str(n) for kind in ("set", "left") for n in listed(view.own, kind)]
    newest = (last(view.own, kind) for kind in ("command", "tests", "report"))
    lines += [*(str(each) for each in newest if each), *map(str, view.reading.values())]
    grown = progress(view, understand(view.request).kind)
    before = last(view.own, "progress")
    is_repeated = before and before.parts[0] == grown and not view.partial
    repeats = number(before.parts[1]) + 1 if before and is_repeated else 0
    return [
        *(Item(_TASK, line) for line in lines),
        *(Item(_QUESTIONS, note("request", text)) for text in asked),
        Item(_LEFT, note("progress", grown, f"{repeats} repeats")),
    ]


def _files_done(view: View, room: int) -> list[str]:
    """List the finished files: those that an earlier summary counted by number, others
    by name."""
    upto, count = view.done_to
    counted = [note("done to", upto, f"{count} files")] if count else []
    named = sorted(path for path in view.done if path > upto)
    names = [note("done", *named)] if named else []
    if names and rough_tokens(names[0]) >= _DONE * room:
        return [note("done to", named[-1], f"{view.done_count} files")]
    return [*counted, *names]


def _items(view: View, asked: Sequence[str]) -> list[Item]:
    """Return everything else that is known, the newest first."""
    noted = [each.text for each in listed(view.known, "request")]
    earlier = [*noted, *(one_line(text, _LENGTH) for text in view.earlier)]
    files = [each for path, each in view.files.items() if path not in view.reading]
    items = [
        *(
            Item(_TASK, note("request", t), "request task")
            for t in earlier
            if t not in asked
        ),
        *(
            Item(_DECIDED, note("rule", r), f"rule constraint decision {r}")
            for r in view.rules
        ),
        *(Item(_DECIDED, note("fact", fact), fact) for fact in view.facts),
        *(
            Item(_FILES, str(each), f"note {each}")
            for each in [*listed(view.known, "ran"), *files]
        ),
    ]
    return [item for item in dict.fromkeys(items) if _is_told(view, item)][::-1]


def _is_told(view: View, item: Item) -> bool:
    """Tell whether the model's habits let this into a summary, if there is room.

    The draw is of the item and of the last summary, so each summary draws again.
    """
    habits = view.habits
    again = item.text in view.summary
    is_fact = item.text.startswith("- [fact]")
    if item.text.startswith(("- [rule]", "- [request]")):
        share = habits.words_retold if again else 1.0
    elif again:
        share = habits.retold
    else:
        share = habits.evidence if is_fact else habits.files_named
    drawn = crc32(f"{item.text}\n{view.summary}".encode()) % 1_000
    return drawn < 1_000 * share


def _chosen(
    view: View, items: Sequence[Item], prompt: str, left: int, room: int
) -> list[Item]:
    """Return what fits: the focus, what an update carries over, decisions, then the
    newest."""
    focus = _FORMS["focus"].search(prompt)
    given = _FORMS["given"].search(prompt)
    words = stems(focus[1] if focus else "")
    decided = [item for item in items if item.heading == _DECIDED]
    if view.habits.rules_first:
        decided.sort(key=lambda item: item.text.startswith("- [rule]"), reverse=True)
    before = decided if _FORMS["update"].search(prompt) else []
    named = [item for item in items if words & stems(item.words)]
    taken = _fitting(named, min(left, number(given[1]) if given else left))
    carried = [item for item in before if item.text in view.summary]
    shares = (
        (carried, view.habits.carried),
        (decided, view.habits.decisions),
        (items, 1),
    )
    for sort, share in shares:
        new = [item for item in sort if item not in taken]
        taken += _fitting(new, min(left - sum(map(_size, taken)), int(share * room)))
    return [item for item in reversed(items) if item in taken]


def _fitting(items: Sequence[Item], room: int) -> list[Item]:
    """Return the first items until one doesn't fit."""
    ends = accumulate(map(_size, items))
    return [item for item, end in zip(items, ends, strict=True) if end <= room]


def _size(item: Item) -> int:
    return rough_tokens(item.text) + 1


def _written(headings: Sequence[str], items: Sequence[Item]) -> str:
    """Write the lines under their headings."""
    under = {heading: [heading] for heading in headings}
    for item in items:
        fitting = (heading for heading in headings if _is_under(item.heading, heading))
        under[next(fitting, headings[0])].append(item.text)
    return "\n\n".join(map("\n".join, under.values()))


def _is_under(words: str, heading: str) -> bool:
    return bool(re.search(words, heading, re.IGNORECASE))
