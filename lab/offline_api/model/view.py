"""What one request shows: the offline model's only memory.

A `View` holds the person's words, the calls whose results can still be seen, and the
model's own notes, in its earlier text or in a summary. What a layer took away is not in
the view.

A result counts as seen only if it isn't a mark: one line in brackets, such as
"[cleared]", or a text that a layer cut. So the placeholders of any agent work.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import unescape
from itertools import pairwise
from typing import Any

from agentlib import messages as msg
from agentlib.messages import Block, Message
from offline_api.model import prompts
from offline_api.model.conversation import messages_in
from offline_api.model.habits import Habits
from offline_api.model.notes import Note, last, listed, note, notes_in, number, one_line

NOTHING = "(no output)"
NO_FOLDER = "no such directory"
NOTHING_SHOWN = "Nothing of the conversation was shown to me."
"""Stands in a summary of nothing."""
_FRAMED = re.compile(r"^[ \t>]*(?:\w[\w ]{0,20}: ?)?(?=- \[)", re.MULTILINE)
"""What a program puts before a line of the model's, such as "  Thought: "."""
_MARK = re.compile(
    r"\s*(?:[\[<][^\n]*[\]>]|\[\w+\] [^\n]*\b\d+ (?:chars|lines)\b[^\n]*)\s*"
)
_TRIMMED = re.compile(
    r"\[\.\.\. \d+ characters trimmed(?:; recall \S+ returns them)? \.\.\.\]"
)
_OFFER = re.compile(re.escape(msg.PLACEHOLDER) + r"\w+; recall (\S+) returns it\]")
_MORE = re.compile(
    r"\n?\.\.\. \((\d+) more(?: lines)?(?:; continue with offset=(\d+))?\)\s*\Z"
)
_PUT_BACK = re.compile(r"(.+?)\]\n(.*?)(?:\n\[End of summary\])?", re.DOTALL)
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]")


@dataclass(frozen=True)
class Call:
    """A tool call, and what can still be seen of its result."""

    name: str
    input: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    """The notes in the same message."""
    text: str = ""
    """The result, "" if it can't be seen or is an error."""
    error: str = ""
    succeeded: bool = False
    """It has a result and no error, even if that can't be seen."""
    cut: bool = False
    """A layer has cut the middle out of its result, so nothing of it counts as seen."""
    offer: str = ""
    """The id under which `recall` returns a cleared result."""

    @property
    def interrupted(self) -> bool:
        return not (self.succeeded or self.error)

    @cached_property
    def path(self) -> str:
        return re.sub(r"^(?:/workspace/|\./)+", "", str(self.input.get("path") or ""))

    @property
    def start(self) -> int:
        return int(self.input.get("offset") or 0)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of a file that the result shows, without a hint."""
        return _MORE.sub("", self.text).split("\n")

    @property
    def next_line(self) -> int:
        """The line at which a file that was read in part goes on, 0 at its end."""
        more = _MORE.search(self.text)
        upto = self.start + int(self.input.get("limit") or len(self.lines))
        return int(more[2] or upto) if more else 0


@dataclass(frozen=True)
class View:
    """What one request shows."""

    habits: Habits
    request: str
    """The person's last words."""
    earlier: tuple[str, ...]
    """What they said before."""
    unanswered: tuple[str, ...]
    """Which of that visibly got no answer."""
    summary: str
    """The newest summary, "" if there is none."""
    calls: tuple[Call, ...]
    """The calls made for this request, oldest first. Files put back beside a summary
    are first."""
    own: tuple[Note, ...]
    """The notes made for this request."""
    known: tuple[Note, ...]
    """All notes, those for earlier requests too."""
    summarised: bool
    """A summary was made while this request was worked on."""
    first: bool
    """Nothing was answered to this request yet."""
    follows_work: bool
    """An earlier request was finished."""
    tools: Mapping[str, frozenset[str]]
    """The inputs of each tool, none if its schema doesn't say."""
    size: int
    """Tokens of the request, roughly."""
    window: int
    compacted_at: int
    """0 if the system prompt names no compaction point."""
    max_tokens: int
    partial: bool = False
    """The conversation came as a text, which may be a part of it."""
    part: int = 48_000
    """Characters that one result of read_file can have."""
    said: str = ""
    """What it writes in the reply that is being made."""

    @cached_property
    def files(self) -> dict[str, Note]:
        """The notes on files, by path, the newest of each."""
        return {
            each.parts[0]: each
            for each in self.known
            if each.kind in ("file", "outline")
        }

    @cached_property
    def reading(self) -> dict[str, Note]:
        """The notes on the files that are read in parts and not finished."""
        can_go_on = "offset" in (self.tools.get("read_file") or ("offset",))
        mine = {each.parts[0]: each for each in self.own if each.kind == "file"}
        return {path: each for path, each in mine.items() if each.upto and can_go_on}

    @cached_property
    def done(self) -> set[str]:
        """The files that are finished, as far as they are named."""
        named = {path for each in listed(self.own, "done") for path in each.parts}
        kinds = ("file", "outline", "skipped")
        return {
            n.parts[0] for n in self.own if n.kind in kinds
        } - self.reading.keys() | named

    @cached_property
    def done_to(self) -> tuple[str, int]:
        """The path up to which files are finished and not named, and their number."""
        counted = last(self.own, "done to")
        return (counted.parts[0], number(counted.parts[1])) if counted else ("", 0)

    def is_done(self, path: str) -> bool:
        return path in self.done or path <= self.done_to[0]

    @property
    def done_count(self) -> int:
        return self.done_to[1] + sum(path > self.done_to[0] for path in self.done)

    @cached_property
    def spoken(self) -> list[str]:
        """The rules and decisions in the person's own words, oldest first."""
        said = (*self.earlier, self.request)
        return [rule for text in said for rule in prompts.rules_in(text)]

    @cached_property
    def rules(self) -> list[str]:
        """The person's rules and decisions, those noted first."""
        noted = [each.text for each in listed(self.known, "rule")]
        return list(dict.fromkeys([*noted, *self.spoken]))

    @property
    def in_force(self) -> list[str]:
        """The rules that it acts on: the person's own words, and those noted, as its
        habits say."""
        consents = self.habits.believes_consent
        rules = self.habits.obeys_retold
        trusted = [
            r for r in self.rules if (consents if prompts.is_consent(r) else rules)
        ]
        return [rule for rule in self.rules if rule in self.spoken or rule in trusted]

    @property
    def facts(self) -> list[str]:
        """Facts and decisions found in files."""
        return [each.text for each in listed(self.known, "fact")]

    @property
    def edits(self) -> int:
        """All edits made for this request. A summary's count and a call may be the same
        edit."""
        before = last(self.own, "progress")
        made = [
            call for call in self.calls if call.name == "edit_file" and call.succeeded
        ]
        numbers = [
            number(n.parts[0]) for c in made for n in c.notes if n.kind == "edit"
        ]
        return max([*numbers, number(before.parts[0]) if before else 0])

    @property
    def newest(self) -> Call | None:
        return self.calls[-1] if self.calls else None

    @property
    def before(self) -> str:
        """A note on the summary that stands there now, to tell it from a newer one."""
        told = f"a summary of {len(self.summary):,} characters"
        return note("before", told) if self.summary else ""

    @property
    def compacted(self) -> bool:
        """Whether a compaction happened since the request came."""
        known = str(last(self.own, "before"))
        return self.summarised or bool(
            self.summary and not self.first and known != self.before
        )

    def use(self, tool: str, **inputs: Any) -> Block:
        """Make a call with only those inputs that the tool's schema has."""
        known = self.tools.get(tool) or inputs.keys()
        sent = {name: value for name, value in inputs.items() if name in known}
        return {"type": "tool_use", "name": tool, "input": sent}

    def ran(self, call: Block) -> Call | None:
        """Return the newest call like this one."""
        wanted = (call["name"], call["input"])
        return next(
            (c for c in reversed(self.calls) if (c.name, c.input) == wanted), None
        )

    def again(self, call: Block) -> Block:
        """Make a call once more, by `recall` if its cleared result is offered there."""
        made = self.ran(call)
        if made and made.offer and "recall" in self.tools:
            return self.use("recall", tool_use_id=made.offer)
        return call

    def printed(
        self, call: Block, form: re.Pattern[str]
    ) -> tuple[list[Any], Block | None]:
        """Return what a call printed in a form, or the call to make if that can't be
        seen."""
        made = self.ran(call)
        found = form.findall(made.text) if made else []
        is_seen = found or (made and made.text.strip() in (NOTHING, NO_FOLDER))
        return found, None if is_seen else self.again(call)

    def knowing(self, text: str) -> "View":
        """Return the view with the notes of a text."""
        new = notes_in(text)
        return replace(self, own=(*self.own, *new), known=(*self.known, *new))

    def noting(self, text: str) -> "View":
        """Return the view with notes that the reply will hold."""
        return replace(self.knowing(text), said=f"{self.said}\n{text}".strip("\n"))


def view(body: Mapping[str, Any], habits: Habits, messages: Sequence[Message]) -> View:
    """Return what a request shows. `messages`: its conversation, see
    `conversation_of`."""
    system = "\n".join(_texts({"content": body.get("system") or ""}))
    messages = [part for message in messages for part in _apart(message)]
    left = _left(messages, system)
    at, whole = left[-1] if left else (-1, "")
    spoken = [_words(message) for message in messages]
    for i, message in enumerate(messages[1:]):
        answers = message["role"] == "assistant" and (
            (i + 1, _summary_in(message)) in left
        )
        if answers and prompts.understand("\n\n".join(spoken[i])).kind == "unknown":
            spoken[i] = []  # the program's own question, which the summary answers
    asked = [*map("\n\n".join, spoken), ""]
    new = [
        i for i, words in enumerate(asked) if words and not prompts.only_goes_on(words)
    ]
    start = new[-1] if new else -1
    request = asked[start]
    summary = _alone(whole)
    task = _task(summary)
    # Only a summary that was made while this very request was active tells of its
    # progress. One that knew of no request was made after the words that still stand.
    is_about = (
        not request or one_line(task) == one_line(request)
        if task
        else at > start and bool(last(notes_in(summary), "progress"))
    )
    carried = bool(is_about) and request not in asked[max(at, 0) : max(start, 0)]
    work = messages[start + 1 :]
    calls = list(_calls(work))
    replies = [message for message in work if message["role"] == "assistant"]
    told = dict(
        re.findall(r"(context window|compacted) (?:is|at) ([\d,]+) tokens", system)
    )
    # A conversation written as one text is larger than what could be read of it.
    chars = max(
        sum(_length(block) for message in shown for block in msg.blocks(message))
        for shown in (messages, body["messages"][-1:])
    )
    return View(
        habits=habits,
        request=request or task,
        earlier=(
            *(text for m in messages for b in msg.blocks(m) for text in msg.said_in(b)),
            *(text for texts in spoken[: max(start, 0)] for text in texts),
        ),
        unanswered=tuple(_unanswered(messages, asked[: start + 1])),
        summary=summary,
        calls=(*(_put_back(whole) if carried else ()), *calls),
        own=(*(_progress(summary) if carried else ()), *_noted(replies)),
        known=(*_noted(messages, system), *_searched(calls)),
        summarised=carried,
        first=not replies,
        follows_work=start > 0 and _is_finished(messages[start - 1]),
        tools={
            tool["name"]: frozenset(tool.get("input_schema", {}).get("properties", ()))
            for tool in body.get("tools", ())
        },
        size=int((len(system) + len(str(body.get("tools", ""))) + chars) / 3.5),
        window=number(told.get("context window", "")),
        compacted_at=number(told.get("compacted", "")),
        max_tokens=body.get("max_tokens", 4_096),
        partial=not msg.asks_for_summary(body["messages"])
        and not any(said is sent for said in messages for sent in body["messages"]),
        part=body.get("part", View.part),
    )


def conversation_of(
    body: Mapping[str, Any], prompts: Sequence[str] = ()
) -> tuple[str | None, list[Message]]:
    """Return the prompt that asks for a summary, None if there is none, and the
    conversation. `prompts`: what the person is known to say.

    A request asks for a summary if its last text does, in any words, and is none of the
    tasks. If tools are offered, the text must also be long and name the conversation.
    """
    asked, messages = _conversation_of(body, prompts)
    return asked, [*_of_persons(messages, prompts)] if prompts else messages


def _conversation_of(
    body: Mapping[str, Any], told: Sequence[str]
) -> tuple[str | None, list[Message]]:
    messages: list[Message] = list(body["messages"])
    # In a conversation written as one text, an older summary may stand beside the
    # prompt.
    texts = _words(messages[-1]) if body.get("tools") else _texts(messages[-1])
    text = texts[-1] if texts else ""
    is_told = bool(body.get("tools")) and bool([*_told_in(text, told)])
    if is_told or not _wants_summary(body, text):
        return None, messages
    rest = [b for b in msg.blocks(messages[-1]) if b.get("text") != text]
    before = [*messages[:-1], *([{**messages[-1], "content": rest}] if rest else [])]
    if text.startswith(msg.SUMMARY_WANTED):
        before = msg.summary_source([*before, messages[-1]])
    prompt, spoken = messages_in(text)
    text = text if spoken else _FRAMED.sub("", text)
    if not spoken and notes_in(text):
        asked = [{"role": "user", "content": words} for words in _asked_in(text)]
        said = {"role": "assistant", "content": text}
        return prompt[:2_000], [*before, *asked[-1:], said]
    prompt, summary = _parted(prompt)
    earlier: list[Message] = [{"role": "user", "content": summary}] if summary else []
    return prompt, [*before, *earlier, *spoken]


def _of_persons(
    messages: Sequence[Message], prompts: Sequence[str]
) -> Iterator[Message]:
    """Yield the messages, with no words of the person but known ones, each in a message
    of its own."""
    for message in messages:
        if message["role"] != "user":
            yield message
            continue
        summaries = _summaries(message)
        texts = [b for b in msg.of_type(message, "text") if b not in summaries]
        kept = [b for b in msg.blocks(message) if b not in texts]
        said = [words for b in texts for words in _told_in(b["text"], prompts)]
        spoken: list[Block] = [{"type": "text", "text": words} for words in said]
        if said == [b["text"] for b in texts]:
            yield message
            continue
        if kept or spoken:
            yield {**message, "content": [*kept, *spoken[:1]]}
        yield from ({**message, "content": [block]} for block in spoken[1:])


def _told_in(text: str, prompts: Sequence[str]) -> list[str]:
    """Return the known prompts that a text holds, in their order there."""
    flat = " ".join(unescape(text).split()) if prompts else ""
    places = ((flat.find(" ".join(each.split())), each) for each in prompts)
    return [each for at, each in sorted(places) if at >= 0]


def _parted(prompt: str) -> tuple[str, str]:
    """Return a program's prompt without the earlier summary in it, and that summary."""
    if not notes_in(prompt):
        return prompt, ""
    lines = prompt.split("\n")
    noted = [i for i, line in enumerate(lines) if notes_in(line)]
    start = noted[0]
    end = noted[-1] + 1
    # An earlier summary has headings with nothing below them, too.
    while start and _is_heading(lines[start - 1]):
        start -= 1
    while end < len(lines) and _is_heading(lines[end]):
        end += 1
    return "\n".join([*lines[:start], *lines[end:]]), "\n".join(lines[start:end])


def _is_heading(line: str) -> bool:
    return not line.strip() or line.startswith("#")


def _asked_in(text: str) -> Iterator[str]:
    """Yield the requests in a conversation whose frame nobody knows: the lines that
    are one of the tasks, behind whatever says who speaks."""
    for line in text.split("\n"):
        if 8 <= len(line) <= 400 and not notes_in(line):
            words = re.sub(r"\A\W*[\w ]{0,20}[:：>|\]]+\W*", "", line).strip()
            for each in dict.fromkeys((line.strip(), words)):
                if prompts.understand(each).kind not in ("unknown", "rules"):
                    yield each
                    break


def asked_title(body: Mapping[str, Any]) -> str:
    """Return the title that a program asks for, "" if it asks for none.

    Programs name their sessions that way, without tools, and show the name in lists.
    """
    if body.get("tools"):
        return ""
    system = "\n".join(_texts({"content": body.get("system") or ""}))
    said = [text for m in body["messages"] for text in _texts(m) if m["role"] == "user"]
    last = said[-1] if said else ""
    is_summary = "\n## " in last and prompts.SUMMARY_WORD.search(f"{system}\n{last}")
    asks = [text for text in said if prompts.wants_title(text[:600])]
    if not prompts.wants_title(system) and (is_summary or not asks):
        return ""
    words = next(_asked_in(last), last)
    return prompts.title_of(words, f"{system}\n{' '.join(said)}")


def _wants_summary(body: Mapping[str, Any], text: str) -> bool:
    if not text or text.startswith((msg.SUMMARY_HEADER, msg.SUMMARY_WANTED)):
        return text.startswith(msg.SUMMARY_WANTED)
    if prompts.understand(text).kind != "unknown":
        return False
    if body.get("tools"):
        return len(text) >= 100 and bool(prompts.SUMMARY_OF_TALK.search(text[:500]))
    shown = "\n".join(
        [*_texts({"content": body.get("system") or ""}), text[:2_000], text[-500:]]
    )
    is_talk = len(body["messages"]) > 1 or len(text) > 600
    return is_talk and bool(prompts.SUMMARY_WORD.search(shown))


def rough_tokens(text: str) -> int:
    """Estimate a text's tokens: 3.5 characters each, Chinese ones 1.2.

    >>> rough_tokens("x" * 35)
    10
    """
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return int((len(text) - wide) / 3.5 + wide / 1.2)


# -- calls and results -----------------------------------------------------------------


def _calls(messages: Sequence[Message]) -> Iterator[Call]:
    """Yield the calls with their results, or with what `recall` returned of them."""
    results = {
        r.get("tool_use_id"): r for m in messages for r in msg.of_type(m, "tool_result")
    }
    texts = {name: msg.result_text(result) for name, result in results.items()}
    uses = [
        (use, message)
        for message in messages
        for use in msg.of_type(message, "tool_use")
    ]
    recalled = {
        use["input"].get("tool_use_id"): _seen(
            texts.get(use.get("id"), msg.PLACEHOLDER)
        )
        for use, _ in uses
        if use["name"] == "recall"
    }
    for use, message in uses:
        result: Block = results.get(use.get("id"), {})
        shown = texts.get(use.get("id"), msg.PLACEHOLDER)
        text = _seen(shown)
        error = bool(result.get("is_error"))
        offer = _OFFER.match(shown)
        yield Call(
            name=use["name"],
            input=use["input"],
            notes=tuple(_noted([message])),
            text="" if error else text or recalled.get(use.get("id"), ""),
            # Nobody knows how far an interrupted call came.
            error=text if error and not text.startswith("interrupted") else "",
            succeeded=bool(result) and not error,
            cut=_is_trimmed(shown),
            offer=offer[1] if offer else "",
        )


def _seen(text: str) -> str:
    """Return what can be seen of a result: all of it or nothing."""
    is_mark = text.startswith(msg.PLACEHOLDER) or text.endswith(msg.TRUNCATED)
    if is_mark or _is_trimmed(text) or _MARK.fullmatch(text):
        return ""
    return text if text.strip() else NOTHING


def _is_trimmed(text: str) -> bool:
    # A layer leaves as much before its mark as after it; a file that quotes the mark
    # does not.
    return any(m.start() == len(text) - m.end() for m in _TRIMMED.finditer(text))


def _put_back(summary: str) -> Iterator[Call]:
    """Yield the files put back beside a summary, each as if it had just been read."""
    for part in summary.split(f"\n\n{msg.PUT_BACK}")[1:]:
        if match := _PUT_BACK.fullmatch(part):
            yield Call(
                "read_file",
                {"path": match[1]},
                text=_unquoted(match[2]),
                succeeded=True,
            )


def _searched(calls: Sequence[Call]) -> Iterator[Note]:
    """Yield the notes, and the person's rules, that the searches among the calls
    found."""
    for call in calls:
        if call.input.get("search"):
            yield from notes_in(call.text)
            yield from (Note("rule", (rule,)) for rule in prompts.rules_in(call.text))


# -- words and summaries ---------------------------------------------------------------


def _alone(summary: str) -> str:
    """Return a summary without the texts put back beside it, but with the rules noted
    in those."""
    text, _, rest = summary.partition(f"\n\n{msg.PUT_BACK}")
    return "\n".join([text, *map(str, listed(notes_in(_unquoted(rest)), "rule"))])


def _unquoted(text: str) -> str:
    return re.sub(r"^> ", "", text, flags=re.MULTILINE)


def _summaries(message: Message) -> list[Block]:
    """Return the texts in a user message that hold a summary, whichever agent put them
    there."""
    texts = msg.of_type(message, "text") if message["role"] == "user" else []
    return [b for b in texts if msg.is_summary(b) or holds_summary(b["text"])]


def holds_summary(text: str) -> bool:
    """Tell whether a text holds notes that the model writes in summaries alone."""
    notes = notes_in(text)
    is_empty = not notes and NOTHING_SHOWN in text
    return is_empty or any(each.kind in ("task", "progress") for each in notes)


def _summary_in(message: Message) -> str:
    """Return the text of an assistant message that holds a summary, "" if none does.

    Some programs put the summary into the model's mouth.
    """
    texts = (block["text"] for block in msg.of_type(message, "text"))
    return next((text for text in texts if holds_summary(text)), "")


def _left(messages: Sequence[Message], system: str) -> list[tuple[int, str]]:
    """Return the summaries in a request, each with the number of its message, oldest
    first.

    One in the system prompt has the number -1. One in an assistant's message counts
    only if no other stands there, because the model may have quoted that.
    """
    left = [(i, b["text"]) for i, m in enumerate(messages) for b in _summaries(m)]
    if left:
        return left
    said = [
        (i, text)
        for i, message in enumerate(messages)
        if message["role"] == "assistant" and (text := _summary_in(message))
    ]
    return said or ([(-1, system)] if holds_summary(system) else [])


def _texts(message: Message) -> list[str]:
    return [block["text"] for block in msg.of_type(message, "text")]


def _noted(messages: Sequence[Message], system: str = "") -> Iterator[Note]:
    """Yield the model's notes, in its own words and in summaries."""
    if holds_summary(system):
        yield from notes_in(system)
    for message in messages:
        is_own = message["role"] == "assistant"
        texts = (
            _texts(message)
            if is_own
            else (_alone(b["text"]) for b in _summaries(message))
        )
        yield from (each for text in texts for each in notes_in(text))


def _words(message: Message) -> list[str]:
    """Return what the person said in a message."""
    texts = msg.of_type(message, "text") if message["role"] == "user" else []
    return [
        block["text"]
        for block in texts
        if block not in _summaries(message)
        and not block["text"].startswith((msg.ANSWERED, msg.LEFT_OUT, msg.SAID))
    ]


def _apart(message: Message) -> list[Message]:
    """Part the words beside a summary, which the person said one after the other."""
    if not _summaries(message):
        return [message]
    words = [text for text in _words(message) if not text.startswith(msg.PINNED)]
    said = [each for text in words for each in _requests(text)]
    if len(said) < 2:
        return [message]
    others = [block for block in msg.blocks(message) if block.get("text") not in words]
    first = {**message, "content": [*others, {"type": "text", "text": said[0]}]}
    return [first, *({"role": "user", "content": text} for text in said[1:])]


def _requests(text: str) -> list[str]:
    """Part requests that somebody put into one text, with a blank line between them."""
    paragraphs = text.split("\n\n")
    if len(paragraphs) < 2 or prompts.understand(text).kind != "unknown":
        return [text]
    for place in range(1, len(paragraphs)):
        first, rest = ("\n\n".join(p) for p in (paragraphs[:place], paragraphs[place:]))
        others = _requests(rest)
        known = (
            prompts.understand(each).kind != "unknown" for each in (first, *others)
        )
        if all(known):
            return [first, *others]
    return [text]


def _unanswered(messages: Sequence[Message], asked: Sequence[str]) -> Iterator[str]:
    """Yield words that were followed by other words before their work was finished."""
    spoken = [i for i, words in enumerate(asked) if words]
    for i, following in pairwise(spoken):
        hidden = any(_summaries(message) for message in messages[i : following + 1])
        if not hidden and not _is_finished(messages[following - 1]):
            yield asked[i]


def _is_finished(message: Message) -> bool:
    return message["role"] == "assistant" and not msg.of_type(message, "tool_use")


def _task(summary: str) -> str:
    """Return what a summary says is worked on; if no model wrote it, its last
    request."""
    notes = notes_in(summary)
    task = last(notes, "task") or last(notes, "request")
    return task.text if task else ""


def _progress(summary: str) -> Iterable[Note]:
    """Return what a summary notes about the work on the request.

    Its notes on finished files may be about earlier requests; its list of finished
    files is not.
    """
    notes = notes_in(summary)
    asked = last(notes, "request")
    if asked and not last(notes, "task"):
        return notes[notes.index(asked) + 1 :]
    return [n for n in notes if n.kind != "outline" and (n.kind != "file" or n.upto)]


def _length(block: Block) -> int:
    """Return the characters of a block."""
    said = msg.result_text(block) or block.get("text") or block.get("thinking")
    return len(said or str(block.get("input", "")))
