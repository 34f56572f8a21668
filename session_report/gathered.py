"""Read Claude Code's own session files into the same `Session` as ours.

Such a file is a log, not a conversation. One response may be fourteen lines with its
results between them, and there are copies, torn lines and other agents' lines. So the
lines of one event are gathered first. Then each event is put into the form that
`transcripts` folds: one line for a response, its results in one message after it, a
compaction with our summary message.

System prompt and tools are not in those files. The files that are attached again after
a compaction aren't there either, so the last five that were read are put back beside
the summary.

Each line names the line before it, so a file is a tree. A person who rewinds leaves a
branch. Its messages stay in the context here, and the usages of its responses have the
number of that "branch".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from agentlib import messages
from agentlib import session_file as file
from agentlib.auto_compact import summary_message
from agentlib.estimation import message_tokens
from agentlib.hooks import READS, Hooks, file_of, hooked
from agentlib.messages import Block, Message, blocks, result_text, tool_names
from agentlib.presets import CLAUDE_CODE
from agentlib.session_file import Line
from agentlib.transcripts import MISSING, Session, interrupted

_NEEDED = ("message", "compactMetadata", "microcompactMetadata")


SUBAGENT = "left out, because a sub-agent wrote it: "
"""Begins the `damage` of a response that stands in the file of the session that asked
for it."""
BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a line can raise that has other fields than expected."""


def is_message(line: Line) -> bool:
    """Return whether a line is a message in Claude Code's envelope."""
    return line.get("type") in ("user", "assistant") and isinstance(
        line.get("message"), dict
    )


# -- which lines belong together -------------------------------------------------------


@dataclass(kw_only=True)
class _Event:
    """A response, a user's words, a summary, a boundary of a compaction, or a
    beginning.

    With all its lines.
    """

    kind: str
    name: str
    """The uuid of its first line."""
    at: float
    """Seconds since the epoch. For a response: when its request was sent."""
    lines: list[Line] = field(default_factory=list[Line])
    """What is needed of its lines, each different one once."""
    uuids: set[str] = field(default_factory=set[str])
    """The uuids of all its lines, and of the lines of its results."""
    results: dict[str, Block | None] = field(default_factory=dict[str, Block | None])
    """A result for each of its calls, None if there is none in the file."""
    branch: int = 0
    """The number of the branch that the person left. 0: the conversation that went
    on."""

    def blocks(self, *types: str) -> list[Block]:
        """List its blocks of these types, or all, without blank texts and repeated
        blocks."""
        distinct = list[Block]()
        for block in (b for line in self.lines for b in blocks(line["message"])):
            is_blank = block["type"] == "text" and not block["text"].strip()
            is_known = block in distinct or block.get("id") in tool_names(
                [{"content": distinct}]
            )
            if (block["type"] in types or not types) and not is_blank and not is_known:
                distinct.append(block)
        return distinct


class Gathered:
    """The events of the main conversation. A response stands where its first line
    stands.

    Only what a session needs of a line stays in memory. A file that has only sidechain
    lines is a subagent's. There they are the conversation.
    """

    def __init__(self) -> None:
        self._events, self._seen, self._newest = dict[str, _Event](), set[str](), 0.0
        self._subagent, self._aside = True, dict[str, None]()
        self._begun, self._parents = set[str](), dict[str, _Place]()
        self._places, self._place = dict[str, _Place](), _Place("", "")

    def session(self, name: str) -> Session:
        """Make the session. What breaks a rule is left out, and `damage` tells.

        Call it once, because it gives the blocks away. Raises ValueError if there is no
        message.
        """
        session, past, events = (
            Session(session_id=name),
            list[_Event](),
            self._events.values(),
        )
        session.damage += [] if self._subagent else map(SUBAGENT.__add__, self._aside)
        self._number_branches()
        _hand_out_results(events)
        for event in events:
            try:
                for line in _our_lines(event, past, session):
                    session.fold(line)
            except BROKEN as error:
                session.damage.append(
                    f"the event {event.name} is left out: {error!r:.200}"
                )
            event.lines, event.results = [], {}
            past.append(event)
        if not session.history:
            raise ValueError("it holds no conversation: none of its lines is a message")
        return session

    def add(self, line: Line, name: str) -> None:
        """Add the next line to its event. `name`: what it is called if it has no
        uuid."""
        if self._subagent and is_message(line) and not line.get("isSidechain"):
            marks = (file.COMPACT, file.MICRO)
            self._events = {
                key: e for key, e in self._events.items() if e.kind in marks
            }
            self._subagent = False
        kind, uuid = _kind(line, self._subagent), line.get("uuid") or name
        at, begins = _seconds(line) or self._newest, self._begins(line)
        if line.get("isSidechain") and _kind(line, subagent=True) == "response":
            self._aside[line["message"].get("id") or uuid] = None
        if kind and uuid not in self._seen:  # a resume or a fork copies lines
            key, begin = uuid, at
            if kind == "response":
                key, begin = line["message"].get("id") or uuid, self._newest or at
            if kind == "words" and self._events and begins:
                self._events[f"{key}/cleared"] = _Event(
                    kind=file.CLEARED, name=uuid, at=begin
                )
            event = self._events.setdefault(key, _Event(kind=kind, name=uuid, at=begin))
            event.uuids.add(uuid)
            needed = {key: line[key] for key in _NEEDED if key in line}
            event.lines += [needed] if needed not in event.lines else []
        self._seen.add(uuid)
        self._newest = max(self._newest, at)

    def _begins(self, line: Line) -> bool:
        """Return whether words begin a conversation with an empty context: from a new
        root.

        The chain goes on behind a compaction, whose boundary has no parent either.
        """
        uuid, parent = line.get("uuid"), line.get("parentUuid", "")
        if not uuid or uuid in self._places or line.get("isSidechain"):
            return False
        place = self._places.get(parent or "", self._place)
        if parent is None and line.get("subtype") != file.COMPACT:
            place = _Place(uuid, "")
        if _kind(line, subagent=False) == "response":
            name = line["message"].get("id") or uuid
            self._parents.setdefault(name, place)
            place = _Place(place.root, name)
        self._places[uuid] = self._place = place
        if not is_message(line) or place.root in self._begun:
            return False
        self._begun.add(place.root)
        return len(self._begun) > 1 and line["type"] == "user"

    def _number_branches(self) -> None:
        """Give each response the number of its branch, from the newest response of each
        root."""
        numbers, roots, tips = dict[str, int](), set[str](), count(1)
        for name, parent in reversed(self._parents.items()):
            if name not in numbers:
                numbers[name] = next(tips) if parent.root in roots else 0
            numbers.setdefault(parent.response, numbers[name])
            roots.add(parent.root)
            if name in self._events:
                self._events[name].branch = numbers[name]


class _Place(NamedTuple):
    """Where a line stands in the tree."""

    root: str
    response: str
    """The newest response up to the line."""


def _kind(line: Line, subagent: bool) -> str | None:
    """Name the kind of event that a line belongs to, None if it is no part of the
    conversation."""
    match line:
        case {"type": "system", "subtype": file.COMPACT | file.MICRO as kind}:
            return kind
        case {"isSidechain": True} if not subagent:
            return None
        case {"type": "user", "message": message} if _is_message(message):
            return "summary" if line.get("isCompactSummary") else "words"
        case {"type": "assistant", "message": message} if _is_message(message):
            failed = (
                line.get("isApiErrorMessage") or message.get("model") == "<synthetic>"
            )
            return None if failed else "response"
        case _:
            return None


def _is_message(message: Any) -> bool:
    """Return whether its content is a text, or blocks that have what is asked of their
    type."""
    content = message.get("content")
    return isinstance(content, str | list) and all(
        map(_is_block, blocks({"content": content}))
    )


def _is_block(block: Any) -> bool:
    match block:
        case {"type": "tool_result", "tool_use_id": str()}:
            return _is_message({"content": block.get("content") or ""})
        case {"type": "tool_use", "id": str(), "name": str(), "input": dict()}:
            return True
        case {"type": "text" | "thinking" as kind}:
            return isinstance(block.get(kind), str)
        case {"type": str(kind)}:
            return kind not in ("tool_result", "tool_use")
        case _:
            return False


def _seconds(line: Line) -> float:
    try:
        return file.seconds(line["timestamp"])
    except (KeyError, TypeError, ValueError):
        return 0.0


def _hand_out_results(events: Iterable[_Event]) -> None:
    """Give each result to the response that asked for it first, wherever the result's
    line is."""
    responses = dict[str, _Event]()
    for response in (event for event in events if event.kind == "response"):
        for call in response.blocks("tool_use"):
            if responses.setdefault(call["id"], response) is response:
                response.results[call["id"]] = None
    for words in (event for event in events if event.kind == "words"):
        for result in words.blocks("tool_result"):
            name = result["tool_use_id"]
            if (response := responses.get(name)) and response.results[name] is None:
                del response.results[name]
                response.results[name] = result  # in the order of the file
                response.uuids |= words.uuids


# -- in our form -----------------------------------------------------------------------


def _our_lines(event: _Event, before: Sequence[_Event], session: Session) -> list[Line]:
    """Put an event into the lines that `transcripts` folds. `before`: all earlier
    events."""
    names = (
        other.name for other in reversed(before) if other.kind in ("response", "words")
    )
    archive = f"{session.session_id}.jsonl#{next(names, '')}"
    match event.kind:
        case "response":
            is_answer = session.context and session.context[-1]["role"] == "user"
            lost = [] if is_answer else [_line(event, "user", MISSING, part="/before")]
            return [*lost, *_exchange(event)]
        case "words":
            content = event.lines[0]["message"]["content"]
            words = [
                b
                for b in event.blocks()
                if b["type"] not in ("tool_result", "tool_use")
            ]
            content = content if isinstance(content, str) else words
            return [_line(event, "user", content)] if words else []
        case "summary":
            text = "\n".join(block["text"] for block in event.blocks("text"))
            if not event.lines[0]["message"].get("exact"):  # another agent's
                text = _attached_again(text, session)
            content = summary_message(text, archive, reference_only=False)["content"]
            return [{**_line(event, "user", content), "isCompactSummary": True}]
        case file.CLEARED:
            return [
                {
                    "type": "system",
                    "subtype": file.CLEARED,
                    "uuid": event.name + "/cleared",
                }
            ]
        case file.COMPACT:
            return [_boundary(event, before, archive)]
        case _:
            return [_micro(event, session.context)]


def _attached_again(summary: str, session: Session) -> str:
    """Put the last five files read behind a summary, at most 5,000 tokens of each.

    Claude Code attaches them again after a compaction and doesn't log it.
    """
    results, files = dict[str, str](), dict[str, str]()
    since = session.history[(session.cleared or [0])[-1] :]
    for block in (b for m in reversed(since) for b in reversed(blocks(m))):
        if block["type"] == "tool_result":
            results[block["tool_use_id"]] = result_text(block)
        elif block["type"] == "tool_use" and block["name"] in READS:
            path, text = file_of(block), results.get(block["id"])
            if path and text is not None:
                files.setdefault(path, text)
        if len(files) == CLAUDE_CODE.restore_files:
            break
    attach = Hooks(restore=(lambda messages: [*files.items()],))
    ask = hooked(lambda messages, focus: summary, attach, CLAUDE_CODE.restore_tokens)
    return ask(session.context, "")


def _line(event: _Event, role: str, content: Any, part: str = "", **more: Any) -> Line:
    message = {"role": role, "content": content, **more}
    stamp = file.timestamp(event.at)
    return {
        "type": role,
        "uuid": event.name + part,
        "timestamp": stamp,
        "message": message,
    }


def _exchange(event: _Event) -> list[Line]:
    """Make one line of a response, and one of the results of all its calls.

    The first lines of a response carry the token count that its stream began with, and
    most have no stop_reason. So the last usage is taken with the largest count, and any
    stop_reason.
    """
    parts = [line["message"] for line in event.lines]
    usages = [_bill(part) for part in parts if part.get("usage")] or [{}]
    model = str(parts[0].get("model") or "")
    usage = {**usages[-1], "output_tokens": _answer(event, usages), "model": model}
    usage |= {"branch": event.branch} if event.branch else {}
    usage |= {} if parts[0].get("exact") else {"id": parts[0].get("id")}
    stops = [str(part["stop_reason"]) for part in parts if part.get("stop_reason")]
    stop = (stops or ["tool_use" if event.results else "end_turn"])[-1]
    own = (block for block in event.blocks() if block["type"] != "tool_result")
    content = [b for b in own if b["type"] != "tool_use" or b["id"] in event.results]
    results = [result for result in event.results.values() if result]
    lost = [interrupted(name) for name, result in event.results.items() if not result]
    results += [block for message in lost for block in blocks(message)]
    reply, told = messages.stripped(content), messages.stripped(results)
    lines = [_line(event, "assistant", reply, usage=usage, stop_reason=stop)]
    return lines + [_line(event, "user", told, part="/results")] * bool(results)


def _bill(message: Message) -> Mapping[str, Any]:
    """Return the usage of a response. Raises what `BROKEN` lists if no API can have
    sent it."""
    usage: Block = messages.received({"usage": message["usage"]})["usage"]
    counts = [count for name, count in usage.items() if name.endswith("_tokens")]
    split: Block = usage.get("cache_creation") or {}
    if not all(0 <= (count or 0) < 10**9 for count in (*counts, *split.values())):
        raise ValueError("no response has so many tokens")
    return usage


def _answer(event: _Event, usages: Sequence[Mapping[str, Any]]) -> int:
    """Return the tokens of a response: the largest count, or the estimate of its
    blocks.

    Three counts of four are of a stream's beginning. A count under half of the estimate
    is one, unless the file is another agent's, whose counts are exact.
    """
    count = max(usage.get("output_tokens") or 0 for usage in usages)
    if event.lines[0]["message"].get("exact"):
        return count
    weight = round(message_tokens({"role": "assistant", "content": event.blocks()}))
    return count if 2 * count >= weight else weight


def _boundary(event: _Event, before: Sequence[_Event], archive: str) -> Line:
    """Note a compaction with the exchanges that stay: whole, whichever of their lines
    it names."""
    theirs: dict[str, Any] = event.lines[0].get("compactMetadata") or {}
    segment: dict[str, str] = theirs.get("preservedSegment") or {}
    ends = {segment.get("headUuid"), segment.get("tailUuid")}
    places = [i for i, other in enumerate(before) if other.uuids & ends]
    uuids = file.kept_uuids({"compactMetadata": theirs})
    stay = [other for other in before if other.uuids & uuids]
    stay += before[places[0] : places[-1] + 1] if places else []
    names = [other.name + part for other in stay for part in ("", "/results")]
    ours = {"preservedMessages": {"uuids": names}, "archive": archive}
    details = {"trigger": "auto", **theirs, **ours}
    stamp = file.timestamp(event.at)
    return {
        "type": "system",
        "subtype": event.kind,
        "timestamp": stamp,
        "compactMetadata": details,
    }


def _micro(event: _Event, context: Sequence[Message]) -> Line:
    """Note the results that were cleared, with our placeholder."""
    details: dict[str, Any] = event.lines[0].get("microcompactMetadata") or {}
    listed: list[str] = details.get("compactedToolIds") or []
    tools = tool_names(context)
    new = {
        name: f"{messages.PLACEHOLDER}{tools[name]}]"
        for name in listed
        if name in tools
    }
    details = {**details, "replacements": new}
    return {"type": "system", "subtype": event.kind, "microcompactMetadata": details}
