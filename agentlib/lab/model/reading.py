"""What can be seen in a request: the offline model's only memory.

A `View` is everything that the model knows when it answers: the person's words, the calls whose
results still stand there, and its own notes, in its earlier text or in a summary. Where a layer
took something away, it is not in the view. Cost: one pass over the request, each text parsed once
(remembered by its content, which changes nothing but the time). Not here: what to do next (tasks).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from agentlib.lab.model.calls import Call, calls_after, put_back, summary_alone
from agentlib.lab.model.notes import Event, Note, events, last, listed, notes, paths, unfinished
from agentlib.lab.model.prompts import rules_in
from agentlib.messages import Block, Message, active_request, blocks, is_summary, result_text

SUMMARY_WANTED = "Summarize this conversation for continuity."
_CHARS_PER_TOKEN = 3.5
_WINDOW = re.compile(r"context window is ([\d,]+) tokens")
_COMPACTED_AT = re.compile(r"compacted at ([\d,]+) tokens")


@dataclass(frozen=True)
class View:
    """What one request shows."""

    request: str
    """The person's last words."""
    earlier: tuple[str, ...]
    """What they said before, where it can still be seen."""
    unanswered: tuple[str, ...]
    """What of that got no answer, where it can be seen that it got none."""
    summary: str
    """The newest summary, "" where there is none."""
    calls: tuple[Call, ...]
    """The calls made for this request, oldest first; a text put back is one, too, before them."""
    own: tuple[Event, ...]
    """What was noted for this request."""
    known: tuple[Event, ...]
    """What was noted at all, for earlier requests too."""
    summarised: bool
    """A summary was made while this request was being worked on."""
    first: bool
    """Nothing was answered to this request yet."""
    follows_work: bool
    """An earlier request was finished before."""
    tools: frozenset[str]
    size: int
    """Tokens of the request, roughly."""
    window: int
    compacted_at: int
    """0 where the system prompt names no compaction point."""
    max_tokens: int

    @cached_property
    def notes(self) -> dict[str, Note]:
        """The notes on files that can be seen, of any request, by path."""
        return notes(self.known)

    @cached_property
    def done(self) -> set[str]:
        """The files that are done for this request."""
        return paths(self.own)

    @cached_property
    def done_to(self) -> tuple[int, str]:
        """How many files a summary calls done without naming them, and the last of them."""
        parts = last(self.own, "done_to")
        return (int(parts[0]), parts[1]) if parts else (0, "")

    def is_done(self, path: str) -> bool:
        return path in self.done or path <= self.done_to[1]

    @property
    def done_count(self) -> int:
        return self.done_to[0] + sum(path > self.done_to[1] for path in self.done)

    @cached_property
    def rules(self) -> list[str]:
        """Rules and decisions the person stated, where they can be seen, the oldest first."""
        carried = [parts[0].removeprefix("Rule: ") for parts in listed(self.known, "rule")]
        said = [rule for text in (*self.earlier, self.request) for rule in rules_in(text)]
        return list(dict.fromkeys([*carried, *said]))

    @property
    def facts(self) -> list[str]:
        """Facts and decisions found in files, where they can be seen."""
        return [parts[0] for parts in listed(self.known, "fact")]

    def ran(self, name: str, **inputs: object) -> Call | None:
        """The newest call of a tool with just these inputs."""
        return next((c for c in reversed(self.calls) if c.name == name and c.input == inputs), None)

    @property
    def newest(self) -> Call | None:
        return self.calls[-1] if self.calls else None

    def noting(self, text: str) -> "View":
        """The view with what is being noted right now."""
        more = events(text)
        return replace(self, own=(*self.own, *more), known=(*self.known, *more))


def view(body: Mapping[str, Any]) -> View:
    """Everything that a request body shows, a request for a summary left aside.

    >>> shown = view({"messages": [{"role": "user", "content": "Read all files."}]})
    >>> shown.request, shown.first, shown.calls
    ('Read all files.', True, ())
    """
    messages = without_summary_prompt(body["messages"])
    system = _system(body)
    request = active_request(messages) or ""
    start = _request_at(messages)
    left = [(i, b["text"]) for i, m in enumerate(messages) for b in blocks(m) if is_summary(b)]
    summaries = [(i, summary_alone(text)) for i, text in left]
    said = list(_said(messages))
    newest = summaries[-1] if summaries else (-1, "")
    carried = _is_about(newest[1], request) and not _repeated(
        request, messages[max(newest[0], 0) : max(start, 0)]
    )
    after = [event for i, text in said if i > start for event in events(text)]
    size = len(system) + len(str(body.get("tools", ""))) + sum(map(_chars, messages))
    return View(
        request=request or _task(newest[1]),
        earlier=tuple(_earlier(messages, start)),
        unanswered=tuple(_unanswered(messages, start)),
        summary=newest[1],
        calls=(*(put_back(left[-1][1]) if carried else ()), *calls_after(messages, start)),
        own=(*(_progress(newest[1]) if carried else ()), *after),
        known=tuple(
            e for _, text in sorted([*summaries, *said], key=lambda x: x[0]) for e in events(text)
        ),
        summarised=carried,
        first=not any(message["role"] == "assistant" for message in messages[start + 1 :]),
        follows_work=start > 0 and _is_finished(messages[start - 1]),
        tools=frozenset(tool["name"] for tool in body.get("tools", ())),
        size=int(size / _CHARS_PER_TOKEN),
        window=_number(_WINDOW, system),
        compacted_at=_number(_COMPACTED_AT, system),
        max_tokens=body.get("max_tokens", 4_096),
    )


def summary_prompt(messages: Sequence[Message]) -> str | None:
    """The text that asks for a summary, where the request ends with one."""
    texts = [b["text"] for b in blocks(messages[-1]) if b["type"] == "text"] if messages else []
    return next((text for text in texts if text.startswith(SUMMARY_WANTED)), None)


def without_summary_prompt(messages: Sequence[Message]) -> list[Message]:
    """The conversation itself."""
    if summary_prompt(messages) is None:
        return list(messages)
    last_one = messages[-1]
    rest = [b for b in blocks(last_one) if not b.get("text", "").startswith(SUMMARY_WANTED)]
    return [*messages[:-1], *([{**last_one, "content": rest}] if rest else [])]


def rough_tokens(text: str) -> int:
    """Tokens of a text by the model's own rough count: 3.5 characters each, Chinese 1.2.

    >>> rough_tokens("x" * 35)
    10
    """
    wide = (
        0 if text.isascii() else len(re.findall(r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]", text))
    )
    return int((len(text) - wide) / _CHARS_PER_TOKEN + wide / 1.2)


def _system(body: Mapping[str, Any]) -> str:
    system = body.get("system", "")
    return system if isinstance(system, str) else "\n".join(block["text"] for block in system)


def _number(form: re.Pattern[str], text: str) -> int:
    match = form.search(text)
    return int(match[1].replace(",", "")) if match else 0


def _chars(message: Message) -> int:
    return sum(len(_text_of(block)) for block in blocks(message))


def _text_of(block: Block) -> str:
    if block["type"] == "text":
        return block["text"]
    if block["type"] == "tool_result":
        return result_text(block)
    return str(block.get("input", "")) + block.get("thinking", "")


def _request_at(messages: Sequence[Message]) -> int:
    """Index of the message with the person's last words."""
    for i in range(len(messages) - 1, -1, -1):
        if messages[i]["role"] == "user" and _words(messages[i]):
            return i
    return -1


def _words(message: Message) -> list[str]:
    return [b["text"] for b in blocks(message) if b["type"] == "text" and not is_summary(b)]


def _earlier(messages: Sequence[Message], start: int) -> Iterator[str]:
    for message in messages[: max(start, 0)]:
        if message["role"] == "user":
            yield from _words(message)


def _unanswered(messages: Sequence[Message], start: int) -> Iterator[str]:
    """Words that were followed by other words before their work was finished."""
    spoken = [i for i, m in enumerate(messages[: start + 1]) if m["role"] == "user" and _words(m)]
    for said, following in pairwise(spoken):
        hidden = any(is_summary(b) for m in messages[said : following + 1] for b in blocks(m))
        if not hidden and not _is_finished(messages[following - 1]):
            yield "\n\n".join(_words(messages[said]))


def _said(messages: Sequence[Message]) -> Iterator[tuple[int, str]]:
    """What the model said itself, with the index of the message."""
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            yield from ((i, b["text"]) for b in blocks(message) if b["type"] == "text")


def edits_made(view: View) -> int:
    """All edits made for this request, as far as notes and calls tell: each is said by its number,
    so that one which a summary counted and which still stands beside it counts once."""
    before = last(view.own, "count")
    numbers = [int(before[1].split()[0])] if before else [0]
    for call in view.calls:
        if call.name == "edit_file" and call.made:
            numbers += [int(parts[2]) for kind, parts in call.said if kind == "editing"]
    return max(numbers)


def one_line(text: str, size: int = 200) -> str:
    """A text on one line, its start only where it is long."""
    return " ".join(text.split())[:size]


def _task(summary: str) -> str:
    """What it says was being worked on; where nobody summarised, the last request in it."""
    found = last(events(summary), "task") or last(events(summary), "request")
    return one_line(found[0]) if found else ""


def _progress(summary: str) -> Iterator[Event]:
    """What a summary says of the work on the request; its notes on files that are read to their
    end may be of earlier requests, its done-list is not."""
    found = events(summary)
    if last(found, "task"):
        yield from unfinished(found)
    elif asked := last(found, "request"):  # what was said, word for word: what follows is about it
        yield from found[found.index(Event("request", asked)) + 1 :]


def _repeated(request: str, between: Sequence[Message]) -> bool:
    """The same words said twice are two requests: then the summary is about the first of them."""
    return request in map("\n\n".join, map(_words, between))


def _is_about(summary: str, request: str) -> bool:
    """Whether a summary was made while this very request was active."""
    task = _task(summary)
    return bool(task) and (not request or task == one_line(request))


def _is_finished(message: Message) -> bool:
    return message["role"] == "assistant" and not any(
        b["type"] == "tool_use" for b in blocks(message)
    )
