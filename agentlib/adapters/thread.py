"""A framework's list of messages as a session, and a view of it as the framework's own
messages again.

The list is read from its beginning. At each point where a decision is known
that was made when the list ended there, the decision is carried out. So whatever
becomes of a list (a fork, an edit, another branch), the decisions of its beginning
hold. A decision also holds for a list with another end, behind all that the decision is
about.

What stands before the newest reply is read once: a list that begins as the one before it
goes on from there, so a view costs what is new, and a look at the rest.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar, cast

from agentlib import messages as msg
from agentlib.adapters import shapes
from agentlib.api import replies
from agentlib.estimation import TokenMeter, breakdown, estimate_text, new_meter
from agentlib.messages import THINKING, Block, Message, interrupted
from agentlib.session.file import Line
from agentlib.step import Step
from agentlib.transcripts import Session

NOBODY = f"{msg.PINNED}\n(nobody said anything here)"
"""Stands where the session's rules want a user's message and the list has none. It is
no words of the person's, and is never sent."""
_SILENT = (NOBODY, "(thinking only)")
_BLANK = "(no output)"
_STAMP = re.compile(r"\d+(?:[-/:.T]\d+)+|\d{10,}")
"""A time, a date, or seconds since the epoch."""

_Any = TypeVar("_Any")

_PART = re.compile(
    rf"((?:{re.escape(msg.ON_THE_WAY)})?\[[^\[\]\n]+ [0-9a-f]{{16,64}}{shapes.DOT}*\])"
)
"""The text that stands for a part."""


@dataclass(kw_only=True, eq=False)
class Recorded(Session):
    """A session in memory that keeps its lines, for a file beside it."""

    lines: list[Line] = field(default_factory=list[Line])
    stamp: str = ""
    """What the next lines are about. Lines about something else get other uuids, even
    at the same place of another branch."""
    file: Path | None = None
    """Where the lines are written. None: nowhere."""
    _renamed: tuple[str, str] = ("", "")

    def archive(self) -> str:
        """Name the line of the file up to which the history stands there."""
        return f"{self.file.name}#{self.parent}" if self.file else "not saved"

    def fold(self, line: Line) -> None:
        """Take a line with a uuid that follows from its content, too."""
        old = line["uuid"]
        parent = line.get("parentUuid")
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{old}/{self.stamp}"))
        if parent and parent == self._renamed[0]:
            line = {**line, "parentUuid": self._renamed[1]}
        self._renamed = old, name
        self.lines.append({**line, "uuid": name})
        super().fold(self.lines[-1])


@dataclass(frozen=True)
class Entry:
    """One message of the framework's list."""

    own: Message
    """The message in the wire's shape, as the adapter wrote it."""
    original: Any
    digest: str
    """Of all messages up to this one, without those of the system."""
    seal: bytes | None = None
    """Of all that the message is, if it is a dict."""

    @property
    def is_system(self) -> bool:
        """Whether nobody said it: it stands in every view, and isn't in the session."""
        return self.own["role"] == "system"


def entries(
    messages: Sequence[Any],
    ours: Callable[[Any], Message],
    before: Sequence[Entry] = (),
) -> Iterator[Entry]:
    """Yield the framework's messages, each in the wire's shape.

    `before`: what was made of an earlier list. As far as this one begins with the same
    dicts, that is taken again.
    """
    digest = ""
    for number, message in enumerate(messages):
        seal = _seal(message)
        if number < len(before) and seal and seal == before[number].seal:
            own, digest = before[number].own, before[number].digest
            yield Entry(own, message, digest, seal)
            continue
        before = ()
        own = ours(message)
        if own["role"] != "system":
            content = [own["role"], [_named(block) for block in own["content"]]]
            if not digest and own["role"] == "user":
                content[1] = list(map(_undated, content[1]))
            words = f"{digest}{shapes.written(content)}"
            digest = sha256(words.encode()).hexdigest()[:32]
        yield Entry(own, message, digest, seal)


def _seal(message: Any) -> bytes | None:
    if not isinstance(message, dict):
        return None
    try:
        words = json.dumps(message, default=shapes.plain)
    except (TypeError, ValueError, RecursionError):
        return None
    return sha256(words.encode()).digest()


def _named(block: Block) -> Block:
    """Return a block without the objects of its parts."""
    if isinstance(block.get("content"), list):
        return {**block, "content": [_named(inner) for inner in block["content"]]}
    return {
        key: value for key, value in shapes.unmarked(block).items() if key != "part"
    }


def _undated(block: Block) -> Block:
    """Return a block without the numbers that a clock may have written: programs write
    the time into the first message of every request."""
    return (
        {**block, "text": _STAMP.sub("", block["text"])} if "text" in block else block
    )


def newest_reply(listed: Sequence[Entry]) -> int:
    """Return the number of messages up to the newest reply, 0 without one."""
    replies = (n for n, each in enumerate(listed, 1) if each.own["role"] == "assistant")
    return max(replies, default=0)


def _first(listed: Sequence[Entry]) -> Message | None:
    return next((entry.own for entry in listed if not entry.is_system), None)


class Thread:
    """The session that a list and the known decisions make."""

    def __init__(self, session: Recorded, at: float) -> None:
        self.session = session
        self.persons: frozenset[str] = frozenset()
        """Texts that the person wrote."""
        self.said: list[str] = []
        """Those that are words and stand for no part, in order."""
        self.places: dict[str, int] = {}
        """Digest -> number of lines, at each point where the list is known to have
        ended."""
        self.is_changed = False
        """Whether a decision replaced anything."""
        self.is_signed = False
        """Whether replies of this list, or earlier summaries, show that a provider made
        them."""
        self.newest_reply = 0
        self.counts: list[int] = []
        """For each message of the list, the number of lines up to it. A reply's line
        may come later."""
        self.begun: Thread | None = None
        """The thread as it was before the newest reply. It stays as it is."""
        self._at = at
        self._listed: Sequence[Entry] = ()
        self._known: dict[str, list[Step]] = {}
        """Digest -> decisions, at each point where the list is known to have ended."""
        self._meter: TokenMeter | None = None
        self._metered = 0, 0
        """Characters of the system prompt and the tools, and requests that the meter
        has seen."""
        self._parts: dict[str, Any] = {}
        self._is_at_work = False
        """Whether the newest reply so far has a call."""
        self._reply: list[tuple[int, list[Block]]] = []
        self._usage: Mapping[str, Any] = {}
        self._taken: set[str] = set()
        self._open: dict[str, list[str]] = {}
        self._ids: dict[str, str] = {}
        """Our id of a call -> the framework's."""
        self._owners: dict[object, int] = {}
        """What a block is known by -> the index of its message in the list. -1: it is
        in no message."""
        self._blocks: dict[int, list[Block]] = {}
        session.begin(session.settings, "", [], at=at)
        self.places[""] = len(session.lines)

    @property
    def listed(self) -> Sequence[Entry]:
        """What it has read."""
        return self._listed[: len(self.counts)]

    @property
    def digest(self) -> str:
        """Of the list, without the messages of the system."""
        return self._listed[-1].digest if self._listed else ""

    def goes_on(
        self, session_id: str, listed: Sequence[Entry], known: dict[str, list[Step]]
    ) -> bool:
        """Return whether a list begins with what was read, and the same is known of
        that. The first message has to be the same to the second that stands in it."""
        digests = [entry.digest for entry in self.listed]
        inner = {*digests} - {""}
        return (
            self.session.session_id == session_id
            and digests == [entry.digest for entry in listed[: len(digests)]]
            and len(digests) < newest_reply(listed)
            and _first(self.listed) == _first(listed)
            and self._known == {key: known[key] for key in known if key in inner}
        )

    def copy(self, file: Path | None, at: float) -> "Thread":
        """Make another one, which goes on in a file while this one stays."""
        thread = _twin(self)
        thread.begun = None
        thread._meter = self._meter and _twin(self._meter)
        thread.session = _twin(self.session)
        thread.session.extras = _twin(self.session.extras)
        thread.session.file = file
        thread.session.used_at = at if self.session.requests else 0.0
        thread._at = at
        return thread

    def read(self, listed: Sequence[Entry], known: dict[str, list[Step]]) -> None:
        """Read a list from where it stands to the end."""
        bills = (
            bill for steps in known.values() for step in steps for bill in step.usage
        )
        self.is_signed = any(any(bill.values()) for bill in bills) or any(
            map(shapes.is_signed, (entry.own for entry in listed))
        )
        self.newest_reply = newest_reply(listed)
        self._listed = listed
        settled = _settled(listed)
        session = self.session
        held = list[Step]()  # until the calls before them are answered
        for index, entry in enumerate(listed[len(self.counts) :], len(self.counts)):
            if index and index == settled and not session.pending:
                self.begun = self.copy(session.file, self._at)
            if entry.is_system:
                self.counts.append(len(session.lines))
                continue
            session.stamp = entry.digest
            self._add(index, entry.own)
            self.counts.append(len(session.lines))
            if entry.digest in known:
                self._known[entry.digest] = known[entry.digest]
                self._flush()
                held += known[entry.digest]
            if held and not self._reply and not session.pending:
                self._take_all(held)
            if entry.digest in known:
                self.places[entry.digest] = len(session.lines)
        self._flush()
        self._take_all(held)

    def meter(self, base: str) -> TokenMeter:
        """Return a meter that has seen the bills of all requests.

        `base`: the system prompt and the tools, as far as they aren't in the list.
        """
        chars = len(base) + sum(map(len, self.system_texts()))
        if self.begun is not None:
            self._meter, self._metered = (
                _twin(self.begun.meter(base)),
                self.begun._metered,
            )
        if self._meter is None or self._metered[0] != chars:
            self._meter = new_meter(self.session.settings.estimator, chars)
            self._metered = chars, 0
        for sent in self.session.requests[self._metered[1] :]:
            self._meter.observe(sent.context, sent.usage)
        self._metered = chars, len(self.session.requests)
        return self._meter

    def _take_all(self, steps: list[Step]) -> None:
        while steps:
            self.take(steps.pop(0))

    def take(self, step: Step) -> None:
        """Carry out a decision. One that doesn't fit the session is left out.

        It may have been made for a longer list. What it kept there is no part of it.
        """
        summary = step.summary
        size = len(self.session.context)
        step = replace(step, kept=tuple(index for index in step.kept if index < size))
        is_whole = all(index >= 0 for index in step.kept) and (
            summary is None or replies.is_content(summary["content"])
        )
        if not is_whole:
            return
        self.session.stamp += str((step.usage, summary))
        self.session.take(step, at=self._at)
        self.is_changed = self.is_changed or bool(step.cleared or step.summary)

    @property
    def digests(self) -> list[str]:
        """For each message of the list, the digest of all up to it."""
        return [entry.digest for entry in self._listed]

    def covered(self, step: Step) -> int:
        """Return how many messages of the list a decision is about. Those behind them
        stay as they are, whatever they are."""
        context = self.session.context
        start = len(context)
        while step.summary and start - 1 in step.kept:
            start -= 1
        behind = [block for m in context[start:] for block in msg.blocks(m)]
        places = [self._owners.get(_key(block), -1) for block in behind]
        first = min((n for n in places if n >= 0), default=len(self._listed))
        changed = [self._owners.get(("tool_result", name), -1) for name in step.texts]
        changed += [self._owners.get(("tool_use", name), -1) for name in step.inputs]
        return max([first if step.summary else 0, *(place + 1 for place in changed)])

    def system_texts(self) -> Iterator[str]:
        """Yield the texts of the system messages in the view, which have a weight,
        too."""
        gone = self._gone(self.session.context)
        for index, entry in enumerate(self._listed):
            if entry.is_system and index not in gone:
                yield from (b["text"] for b in entry.own["content"] if "text" in b)

    def fills(self, base: str) -> str:
        """Say how many tokens of the view are what, the most first.

        `base`: the system prompt and the tools, as far as they aren't in the list.
        """
        context = self.session.context
        weights = breakdown(context, system=base + "".join(self.system_texts()))
        weights["pictures and other parts"] = 0
        for kind, text in (each for m in context for each in msg.kinds_of(m)):
            if shapes.bare(text) != text:
                tokens = round(estimate_text(text, kind))
                weights["pictures and other parts"] += tokens
                weights[kind] -= tokens
        largest = sorted(weights.items(), key=lambda pair: -pair[1])[:3]
        return ", ".join(f"{kind} {tokens:,}" for kind, tokens in largest if tokens > 0)

    def _gone(self, context: Sequence[Message]) -> set[int]:
        """Return the places of the system messages that a summary stands for.

        Those before all others stay, because they are the prompt. Others are notes of
        the program's, of which the newest one stays.
        """
        systems = [n for n, entry in enumerate(self._listed) if entry.is_system]
        start = next((n for n, e in enumerate(self._listed) if not e.is_system), 0)
        if all(n < start for n in systems):
            return set()
        owned = list(self._owned(context))
        gone = set[int]()
        for number, (_, block) in enumerate(owned):
            if msg.is_summary(block):
                before = [n for n, _ in owned[:number] if n is not None]
                later = (n for n, _ in owned[number:] if n is not None)
                stop = next(later, len(self._listed))
                gone |= {n for n in systems if max(before, default=start) <= n < stop}
        return gone - {max(systems, default=0)}

    def written(self, context: Sequence[Message], wrote: "Writer") -> list[Any]:
        """Write a context as the framework's own messages.

        A message that stays whole is the framework's object. System messages stand in
        their places, or in front of the summary if their place is gone and they stay.
        """
        groups = [
            (owner, [block for _, block in group])
            for owner, group in groupby(self._owned(context), lambda pair: pair[0])
        ]
        gone = self._gone(context)
        systems = [
            index
            for index, entry in enumerate(self._listed)
            if entry.is_system and index not in gone
        ]
        view = list[Any]()
        for number, (owner, blocks) in enumerate(groups):
            later = (each for each, _ in groups[number:] if each is not None)
            place = next(later, len(self._listed))
            while systems and systems[0] < place:
                view.append(self._listed[systems.pop(0)].original)
            if owner is None:
                view.append(wrote.said(list(self._spoken(blocks))))
            else:
                view.append(self._rewritten(owner, blocks, wrote))
        return view + [self._listed[index].original for index in systems]

    # -- from the list to the session --------------------------------------------------

    def _add(self, index: int, own: Message) -> None:
        if own["role"] == "assistant":
            self._add_reply(index, own)
            return
        self._flush()
        self._blocks[index] = []
        results = [b for b in own["content"] if b["type"] == "tool_result"]
        for block in results:
            self._answer(index, block)
        others = [b for b in own["content"] if b["type"] != "tool_result"]
        is_past = self._is_at_work and index < self.newest_reply
        spoken = [self._spoken_block(block, is_past) for block in others]
        kept = [block for block in spoken if block["text"].strip()]
        if kept or not results:
            shown = kept or [shapes.text(NOBODY)]
            self._close()
            self.session.say(shown, at=self._at)
            self._own(index, shown)
            texts = [b["text"] for b in kept if not self._is_on_the_way(b["text"])]
            self.persons |= {*texts}
            self.said += [text for text in texts if text not in self._parts]

    def _add_reply(self, index: int, own: Message) -> None:
        given = [_named(block) for block in own["content"]]
        content: list[Block] = replies.received({"content": given}, self._taken)[
            "content"
        ]
        names = [block["id"] for block in given if block["type"] == "tool_use"]
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        for name, call in zip(names, calls, strict=True):
            self._ids[call] = name
        self._taken |= {*calls}
        self._is_at_work = bool(calls)
        self._reply.append((index, content))
        usage: dict[str, Any] = own.get("usage") or {}
        if not self._usage and any(usage.values()):
            self._usage = usage

    def _flush(self) -> None:
        """Note the parts of a reply, which follow one another, as one message."""
        if not self._reply:
            return
        self._make_room()
        content = [block for _, blocks in self._reply for block in blocks]
        message = {"role": "assistant", "content": content, "usage": self._usage}
        self.session.reply(message, at=self._at)
        for index, blocks in self._reply:
            self._blocks[index] = []
            self._own(index, blocks)
            for block in blocks:
                if block["type"] == "tool_use":
                    name = self._ids[block["id"]]
                    self._open.setdefault(name, []).append(block["id"])
        self._reply = []
        self._usage = {}

    def _answer(self, index: int, block: Block) -> None:
        names = self._open.get(block["tool_use_id"])
        name = names.pop(0) if names else self._unknown_call(block["tool_use_id"])
        content = block.get("content") or ""
        if isinstance(content, str):
            inner: Any = msg.whole(content) if content.strip() else _BLANK
        else:
            marked = [self._spoken_block(each) for each in content]
            inner = [each for each in marked if each["text"].strip()] or _BLANK
        noted = msg.tool_result(name, "", wrong=bool(block.get("is_error")))
        noted["content"] = inner
        self.session.answer(noted, at=self._at)
        self._own(index, [noted])

    def _unknown_call(self, name: str) -> str:
        """Note a call for a result that has none, as at the beginning of a trimmed
        list."""
        call = shapes.use(name, "unknown", {})
        [call] = replies.received({"content": [call]}, self._taken)["content"]
        self._make_room()
        self.session.reply(
            {"role": "assistant", "content": [call], "usage": {}}, at=self._at
        )
        self._taken.add(call["id"])
        self._ids[call["id"]] = name
        self._own(-1, [call])
        return call["id"]

    def _make_room(self) -> None:
        """See that the next message may be the assistant's."""
        self._close()
        history = self.session.history
        if not history or history[-1]["role"] == "assistant":
            self.session.say([shapes.text(NOBODY)], at=self._at)

    def _close(self) -> None:
        """Answer the calls that the list left open."""
        for name in self.session.pending:
            [block] = interrupted(name)["content"]
            self.session.answer(block, at=self._at)
            self._own(-1, [block])
        self._open = {}

    def _spoken_block(self, block: Block, is_past: bool = False) -> Block:
        """Return the text of a block, and keep the part that it may stand for.

        `is_past`: a reply has seen it, and the work goes on. Then it ages like a result.
        """
        words = msg.whole(str(block.get("text") or ""))
        if "part" not in block:
            return shapes.text(words)
        for shown in (words, f"{msg.ON_THE_WAY}{words}"):
            self._parts[shown] = block["part"]
        return shapes.text(f"{msg.ON_THE_WAY}{words}" if is_past else words)

    def _is_on_the_way(self, text: str) -> bool:
        return text in self._parts and text.startswith(msg.ON_THE_WAY)

    def _own(self, index: int, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._owners[_key(block)] = index
        if index >= 0:
            self._blocks[index] += blocks

    # -- from a context to the list ----------------------------------------------------

    def _owned(self, context: Sequence[Message]) -> Iterator[tuple[int | None, Block]]:
        """Yield the blocks to send, each with the index of its message. None: it is
        new."""
        for message in context:
            for block in msg.blocks(message):
                owner = self._owners.get(_key(block))
                is_filler = owner is None and block.get("text") in _SILENT
                if owner != -1 and not is_filler:
                    yield owner, block

    def _rewritten(self, owner: int, blocks: list[Block], wrote: "Writer") -> Any:
        original = self._listed[owner].original
        own = self._blocks[owner]
        if blocks == own:
            return original
        old = msg.results([{"role": "user", "content": own}])
        texts = {
            self._ids[name]: shapes.bare(msg.result_text(block))
            for name, block in msg.results(
                [{"role": "user", "content": blocks}]
            ).items()
            if block["content"] != old[name]["content"]
        }
        had, has = (
            any(block["type"] in THINKING for block in each) for each in (own, blocks)
        )
        if not texts and had == has:
            return original
        return wrote.changed(original, texts, thinking=has)

    def _spoken(self, blocks: Sequence[Block]) -> Iterator[Any]:
        """Yield the texts of new blocks, and the framework's parts where their marks
        stand."""
        for block in blocks:
            text: str = block.get("text") or msg.result_text(block)
            if msg.is_summary(block) or not self._parts:
                yield shapes.bare(text)
                continue
            for piece in _PART.split(text):
                if piece in self._parts:
                    part = self._parts[piece]
                    is_block = isinstance(part, dict)
                    yield shapes.unmarked(cast(Block, part)) if is_block else part
                elif piece.strip():
                    yield piece.strip() if piece != text else text


def _settled(listed: Sequence[Entry]) -> int:
    """Return how many messages stand before the newest reply and what it follows on: no
    later one changes how these are read."""
    number = newest_reply(listed)
    while number and (
        listed[number - 1].is_system or listed[number - 1].own["role"] == "assistant"
    ):
        number -= 1
    return number


def _twin(whole: _Any) -> _Any:
    """Copy an object with its own lists, dicts and sets."""
    twin = copy(whole)
    for name, value in vars(whole).items():
        if isinstance(value, (list, dict, set)):
            setattr(twin, name, copy(cast(Any, value)))
    return twin


class Writer:
    """How an adapter writes its framework's messages."""

    def said(self, parts: list[Any]) -> Any:
        """Write a user's message of texts, and of parts that are the framework's."""
        raise NotImplementedError

    def changed(
        self, original: Any, texts: Mapping[str, str], *, thinking: bool
    ) -> Any:
        """Write a message with other results, by the ids of their calls, and without
        its thinking if it may not keep it."""
        raise NotImplementedError


def _key(block: Block) -> object:
    """Return what a block is known by, even if its text has changed."""
    return block["type"], block.get("tool_use_id") or block.get("id") or id(block)
