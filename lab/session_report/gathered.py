"""Gather lines of Claude Code's form into the same `Session` as ours.

Claude Code's own file is a log, not a conversation. One response may be fourteen lines with its
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
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, cast

from agentlib import messages
from agentlib.api import replies
from agentlib.api.spending import listed_name
from agentlib.auto_compact import summary_message
from agentlib.compaction.around import Hooks, hooked
from agentlib.compaction.hooks import READS, file_of
from agentlib.estimation import message_tokens, prompt_tokens
from agentlib.messages import (
    Block,
    Message,
    blocks,
    interrupted,
    result_text,
    tool_names,
)
from agentlib.presets import CLAUDE_CODE
from agentlib.session import file
from agentlib.session.extras import Extra
from agentlib.session.file import Line
from agentlib.session.mending import MISSING
from agentlib.transcripts import Session
from session_report.formats import About
from session_report.formats.claude_code import is_message
from session_report.keep import texts_of_hooks
from session_report.speakers import is_command, is_programs, said
from session_report.usages import calls_of

_NEEDED = ("message", "compactMetadata", "microcompactMetadata", "costUSD", "isMeta")
_MARKS = (file.COMPACT, file.MICRO)
_END_OF_TIME = 32_503_680_000.0
"""The year 3000. A later time is a mistake, and few calendars know it."""
_ODD = 86_400.0
"""Seconds by which no clock goes back. What was before had a wrong time."""
_NO_SUMMARY = "[a summary that is not in the file]"
_WRITTEN = ("text", "thinking", "redacted_thinking", "tool_use", "server_tool_use")
"""Blocks that the model writes itself. Results of the server's tools, an advisor's
words among them, come from elsewhere."""
_WRITTEN_SUM = "cache_creation_input_tokens"
BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a line can raise that has other fields than expected."""


@dataclass(kw_only=True, eq=False)
class Recorded(Session):
    """A session of another program, with what only its file says."""

    about: About = field(default_factory=About)
    asides: "list[Recorded]" = field(default_factory=list["Recorded"])
    """Conversations of sub-agents that stand in the session's own file."""
    person: set[int] = field(default_factory=set[int])
    """Which messages of the history are the person's words."""
    is_cut: bool = False
    """Whether the file begins in the middle: its first message follows another."""
    queued: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Words that the person typed while the agent worked, with the length of the
    history then."""
    hooked: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Texts that hooks put into the context at its beginning, with the number of
    compactions before. Claude Code alone has them."""


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
    request: str = ""
    """The id of a response's request, if the file has it."""
    after: int = 0
    """How many words of the person came before its newest line."""
    identity: str = ""
    """What a copy of a response has, too."""
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
        self._events = dict[str, _Event]()
        self._seen = set[str]()
        self._newest = 0.0
        self._subagent = True
        self._asides = dict[str, Gathered]()
        self._agents = dict[str, str]()
        self._begun = set[str]()
        self._parents = dict[str, _Place]()
        self._places = dict[str, _Place]()
        self._place = _Place("", "")
        self._tip = self._place
        """The place of the newest response that is no copy."""
        self._keys = dict[str, list[str]]()
        self._words = 0
        """The keys of the responses with an id, and how many words the person said."""
        self._pending = list[str]()
        self._queued = list[_Event]()
        self._is_cut: bool | None = None

    def session(self, name: str, about: About | None = None) -> Recorded:
        """Make the session. What breaks a rule is left out, and `damage` tells.

        Call it once, because it gives the blocks away. Raises ValueError if there is no
        message.
        """
        session = Recorded(session_id=name, about=about or About())
        session.is_cut = bool(self._is_cut)
        past = list[_Event]()
        events = list(self._events.values())
        self._number_branches()
        self._identify()
        _hand_out_results(events)
        bare = _without_summary(events)
        for event in events:
            try:
                for line in _our_lines(event, past, session):
                    _fold(session, line)
                if event.name in bare:
                    session.fold(_summary_line(event, _NO_SUMMARY, past, session))
            except BROKEN as error:
                session.damage.append(
                    f"the event {event.name} is left out: {error!r:.200}"
                )
            event.lines = []
            event.results = {}
            past.append(event)
        self._add_asides(session)
        if not session.history:
            raise ValueError("it holds no conversation: none of its lines is a message")
        return session

    def _add_asides(self, session: Recorded) -> None:
        for number, (agent, gathered) in enumerate(self._asides.items(), 1):
            with suppress(ValueError):
                about = About(kind="subagent", thread=agent)
                aside = gathered.session(f"{session.session_id}#{number}", about)
                session.asides.append(aside)
        self._asides = {}

    def add(self, line: Line, name: str) -> None:
        """Add the next line to its event. `name`: what it is called if it has no
        uuid."""
        if self._subagent and is_message(line) and not line.get("isSidechain"):
            self._leave_subagents()
        if line.get("isSidechain") and not self._subagent and is_message(line):
            self._aside(line, name).add(line, name)
            return
        if self._is_cut is None and is_message(line):
            parent = line.get("parentUuid")
            self._is_cut = bool(parent) and parent not in self._places
        kind = _kind(line, self._subagent)
        uuid = line.get("uuid") or name
        at = _seconds(line) or self._newest
        is_new = uuid not in self._seen  # a resume or a fork copies lines
        is_reply = kind == "response" and is_new
        key = self._key(line, uuid) if is_reply else uuid
        begins = self._begins(line, key)
        if kind and is_new:
            begin = min(self._newest or at, at) if is_reply else at
            if kind == "words" and self._events and begins:
                self._events[f"{key}/cleared"] = _Event(
                    kind=Extra.EMPTIED, name=uuid, at=begin
                )
            event = self._events.setdefault(key, _Event(kind=kind, name=uuid, at=begin))
            event.uuids.add(uuid)
            needed = {key: line[key] for key in _NEEDED if line.get(key) is not None}
            if kind == "words" and not said(line):
                needed["isMeta"] = True  # somebody else speaks
            event.lines += [needed] if needed not in event.lines else []
            event.request = event.request or str(line.get("requestId") or "")
            self._words += kind == "words" and _is_said(line)
            event.after = self._words
        elif line.get("type") == "queue-operation":
            self._queue(line, uuid, at)
        elif is_new and line.get("type") == "attachment":
            self._attach(line, uuid, at)
        self._seen.add(uuid)
        is_late = at < self._newest - _ODD  # the clock was wrong before
        self._newest = at if is_late else max(self._newest, at)

    def _key(self, line: Line, uuid: str) -> str:
        """Return the key of the response that a line is a part of.

        Lines of one response share an id. But there are relays that give every response
        the same one.
        """
        message = line["message"]
        request = line.get("requestId")
        name = str(message.get("id") or request or uuid)
        keys = self._keys.setdefault(name, [])
        newest = self._events.get(keys[-1]) if keys else None
        if newest is None or not self._is_part(newest, line):
            keys.append(f"{name}#{len(keys)}" if keys else name)
        return keys[-1]

    def _is_part(self, event: _Event, line: Line) -> bool:
        """Tell whether a line with the id of a response is a part of that response."""
        message = line["message"]
        request = line.get("requestId")
        if message.get("exact") or (request and event.request == request):
            return True
        if request and event.request:
            return False
        if any(message == known["message"] for known in event.lines):
            return True  # a copy
        prompts = [
            _prompt(each)
            for each in (message, *(known["message"] for known in event.lines))
        ]
        usage: Any = message.get("usage")
        is_rolled = bool(usage and usage.get("iterations"))
        is_same = is_rolled or len({each for each in prompts if each}) < 2
        return is_same and event.after == self._words

    def _identify(self) -> None:
        """Give each response what a copy of it in another file has, too.

        An id that several responses of a file have says nothing without their requests.
        """
        for name, keys in self._keys.items():
            for event in (self._events[key] for key in keys if key in self._events):
                is_own = len(keys) == 1 or event.request
                event.identity = name if is_own else event.name

    def _leave_subagents(self) -> None:
        """Put aside what stood before the first line of the main conversation."""
        early = {
            key: event
            for key, event in self._events.items()
            if event.kind not in _MARKS
        }
        if early:
            self._asides[""] = aside = Gathered()
            aside._events = early
            aside._keys = self._keys
            self._keys = {}
        self._events = {
            key: event for key, event in self._events.items() if event.kind in _MARKS
        }
        self._subagent = False

    def _aside(self, line: Line, name: str) -> "Gathered":
        """Return the conversation of the sub-agent that wrote a line."""
        uuid = str(line.get("uuid") or name)
        parent = str(line.get("parentUuid"))
        agent = str(line.get("agentId") or self._agents.get(parent) or uuid)
        self._agents[uuid] = agent
        return self._asides.setdefault(agent, Gathered())

    def _queue(self, line: Line, name: str, at: float) -> None:
        """Note words that wait until the agent has time for them, or that go to it."""
        match line:
            case {"operation": "enqueue", "content": str(text)}:
                self._pending += [] if is_programs(text) else [text]
            case {"operation": "popAll"}:
                self._pending = []
            case {"operation": "remove" | "dequeue"} if self._pending:
                text = self._pending.pop(0)
                if not is_command(text):
                    event = _Event(kind="queued", name=text, at=at)
                    self._events[f"{name}/queued/{len(self._queued)}"] = event
                    self._queued.append(event)
            case _:
                pass

    def _attach(self, line: Line, name: str, at: float) -> None:
        """Note the texts of hooks, and words that the agent got while it worked."""
        for number, text in enumerate(texts_of_hooks(line)):
            key = f"{name}/hook/{number}"
            self._events[key] = _Event(kind="hook", name=text, at=at)
        if text := said(line):
            self._events[f"{name}/queued"] = _Event(kind="queued", name=text, at=at)

    def _begins(self, line: Line, key: str) -> bool:
        """Return whether words begin a conversation with an empty context: from a new
        root.

        `key`: that of its event. The chain goes on behind a compaction, whose boundary
        has no parent either.
        """
        uuid = line.get("uuid")
        parent = line.get("parentUuid", "")
        if not uuid or uuid in self._places or line.get("isSidechain"):
            return False
        place = self._places.get(parent or "", self._place)
        if line.get("subtype") == file.COMPACT:
            place = self._tip  # what is compacted is the conversation that goes on
        elif parent is None:
            place = _Place(uuid, "")
        if _kind(line, subagent=False) == "response":
            self._parents.setdefault(key, place)
            self._tip = place = _Place(place.root, key)
        self._places[uuid] = self._place = place
        if not is_message(line) or place.root in self._begun:
            return False
        self._begun.add(place.root)
        return len(self._begun) > 1 and line["type"] == "user"

    def _number_branches(self) -> None:
        """Give each response the number of its branch, from the newest response of each
        root."""
        numbers = dict[str, int]()
        roots = set[str]()
        tips = count(1)
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


def _is_said(line: Line) -> bool:
    """Return whether a user's line has words of the person, and no results. A text
    beside a result is a program's reminder."""
    types = {block["type"] for block in blocks(line["message"])}
    return "text" in types and "tool_result" not in types and not line.get("isMeta")


def _prompt(message: Message) -> int:
    """Return the prompt that a line of a response says, 0 if it says none."""
    return prompt_tokens(replies.counts(message.get("usage")))


def _without_summary(events: Sequence[_Event]) -> set[str]:
    """Name the boundaries behind which no summary stands, but a response."""
    bare = set[str]()
    boundary = ""
    for event in events:
        if event.kind in ("response", file.COMPACT) and boundary:
            bare.add(boundary)
            boundary = ""
        if event.kind == file.COMPACT:
            boundary = event.name
        if event.kind == "summary":
            boundary = ""
    return bare


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
        at = file.seconds(line["timestamp"])
        return at if 0 < at < _END_OF_TIME else 0.0
    except (KeyError, TypeError, ValueError, ArithmeticError):
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


def _our_lines(
    event: _Event, before: Sequence[_Event], session: Recorded
) -> list[Line]:
    """Put an event into the lines that `transcripts` folds. `before`: all earlier
    events."""
    match event.kind:
        case "queued":
            session.queued.append((len(session.history), event.name))
            return []
        case "hook":
            session.hooked.append((len(session.compactions), event.name))
            return []
        case "response" if event.lines[0]["message"].get("unsent"):
            session.requests.append(_unsent(event, session))
            return []
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
            is_person = bool(words) and not event.lines[0].get("isMeta")
            line = {**_line(event, "user", content), "isPerson": is_person}
            return [line] if words else []
        case "summary":
            text = "\n".join(block["text"] for block in event.blocks("text"))
            return [_summary_line(event, text, before, session)]
        case Extra.EMPTIED:
            return [
                {
                    "type": "system",
                    "subtype": Extra.EMPTIED,
                    "uuid": event.name + "/cleared",
                }
            ]
        case file.COMPACT:
            return [_boundary(event, before, _archive(before, session))]
        case _:
            return [_micro(event, session.context)]


def _archive(before: Sequence[_Event], session: Session) -> str:
    names = (
        other.name for other in reversed(before) if other.kind in ("response", "words")
    )
    return f"{session.session_id}.jsonl#{next(names, '')}"


def _summary_line(
    event: _Event, text: str, before: Sequence[_Event], session: Session
) -> Line:
    is_theirs = event.lines and event.lines[0].get("message", {}).get("exact")
    text = text if is_theirs else _attached_again(text, session)
    archive = _archive(before, session)
    content = summary_message(text, archive, reference_only=False)["content"]
    name = "/summary" * (event.kind != "summary")
    return {**_line(event, "user", content, part=name), "isCompactSummary": True}


def _fold(session: Recorded, line: Line) -> None:
    """Fold a line, and note whether it has words of the person."""
    size = len(session.history)
    session.fold(line)
    if line.get("isPerson") and len(session.history) > size:
        session.person.add(size)


def _unsent(event: _Event, session: Session) -> file.Request:
    """Make the request of a reply that was aborted, which no later prompt has."""
    reply, *_ = _exchange(event)
    return file.Request(
        sent=file.Prefix(list(session.context), len(session.context)),
        usage=reply["message"]["usage"],
        reply={"role": "assistant", "content": reply["message"]["content"]},
        at=event.at,
        seen=len(session.history),
        stop_reason=reply["message"]["stop_reason"],
    )


def _attached_again(summary: str, session: Session) -> str:
    """Put the last five files read behind a summary, at most 5,000 tokens of each.

    Claude Code attaches them again after a compaction and doesn't log it.
    """
    results = dict[str, str]()
    files = dict[str, str]()
    since = session.history[(session.extras.emptied or [0])[-1] :]
    for block in (b for m in reversed(since) for b in reversed(blocks(m))):
        if block["type"] == "tool_result":
            results[block["tool_use_id"]] = result_text(block)
        elif block["type"] == "tool_use" and block["name"] in READS:
            path = file_of(block)
            text = results.get(block["id"])
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
    most have no stop_reason. So any stop_reason is taken, and see `_usage`.
    """
    parts = [line["message"] for line in event.lines]
    usage = _usage(event)
    stops = [str(part["stop_reason"]) for part in parts if part.get("stop_reason")]
    stop = (stops or ["tool_use" if event.results else "end_turn"])[-1]
    own = (block for block in event.blocks() if block["type"] != "tool_result")
    content = [b for b in own if b["type"] != "tool_use" or b["id"] in event.results]
    results = [result for result in event.results.values() if result]
    lost = [interrupted(name) for name, result in event.results.items() if not result]
    results += [block for message in lost for block in blocks(message)]
    reply = replies.stripped(content)
    told = replies.stripped(results)
    lines = [_line(event, "assistant", reply, usage=usage, stop_reason=stop)]
    return lines + [_line(event, "user", told, part="/results")] * bool(results)


def _usage(event: _Event) -> Block:
    """Return the usage of a response: of its last call, and what it says beside.

    `model`, `branch` and `id` name who answered, the branch and the response. `calls`
    are the usages of its other calls, each with a `model`. `is_estimated` says that the
    answer's count is an estimate, `stated` has the dollars of the file. Of the usages
    of its lines the largest prompt counts, of equal ones the last. Other agents rewrite
    theirs, so there it is the last.
    """
    parts = [line["message"] for line in event.lines]
    usages = [_bill(part) for part in parts if part.get("usage")] or [{}]
    model = str(parts[0].get("model") or "")
    is_exact = bool(parts[0].get("exact"))
    top = usages[-1]
    if not is_exact:
        prompts = [prompt_tokens(usage) for usage in usages]
        top = [u for u, n in zip(usages, prompts, strict=True) if n == max(prompts)][-1]
    count, is_estimated = _answer(event, usages)
    last, earlier, beside = calls_of(top, model)
    last["output_tokens"] = (last.get("output_tokens") or 0) + max(
        0, count - (top.get("output_tokens") or 0)
    )
    given: list[Block] = [call for part in parts for call in part.get("calls") or ()]
    calls = [{**call, "model": str(call.get("model") or model)} for call in beside]
    for call in earlier:
        other = str(call.get("model") or model)
        is_same = listed_name(other) == listed_name(model)
        if is_same:  # what it wrote is a part of this reply
            last["output_tokens"] += call.get("output_tokens") or 0
            call = {**call, "output_tokens": 0, "type": ""}
        calls.append({**call, "model": model if is_same else other})
    usage: Block = {**last, "model": model}
    origins = [part["origin"] for part in parts if part.get("origin")]
    usage |= {} if is_exact else {"id": event.identity or None}
    usage |= {"request": event.request} if event.request else {}
    usage |= {"origin": origins[-1]} if origins else {}
    usage |= {"branch": event.branch} if event.branch else {}
    usage |= {"is_edited": True} if any(map(_is_edited, parts)) else {}
    usage |= {"calls": [*calls, *given]} if calls or given else {}
    usage |= {"is_estimated": True} if is_estimated else {}
    stated = [line["costUSD"] for line in event.lines if "costUSD" in line]
    stated += [each["stated"] for each in usages if "stated" in each]
    stated = [
        usd for usd in stated if isinstance(usd, int | float) and 0 <= usd < 10**6
    ]
    return usage | ({"stated": float(stated[-1])} if stated else {})


def _is_edited(part: Message) -> bool:
    """Return whether a part of a response says that its prompt was cut on purpose."""
    match part:
        case {"edited": True} | {"context_management": {"applied_edits": [_, *_]}}:
            return True
        case _:
            return False


def _bill(message: Message) -> Mapping[str, Any]:
    """Return the usage of a response. Raises what `BROKEN` lists if no API can have
    sent it."""
    usage: Block = replies.received({"usage": message["usage"]})["usage"]
    split = usage.get("cache_creation")
    if split and usage.get(_WRITTEN_SUM) is None:  # some relays leave the sum out
        usage = {**usage, _WRITTEN_SUM: sum(filter(None, split.values()))}
    for each in (usage, *_dicts(usage.get("iterations"))):
        _check_counts(replies.counts(each))
    return usage


def _dicts(value: Any) -> list[Block]:
    values = cast(list[Any], value) if isinstance(value, list) else []
    return [each for each in values if isinstance(each, dict)]


def _check_counts(usage: Block) -> None:
    numbers = [count for name, count in usage.items() if name.endswith("_tokens")]
    split: Block = usage.get("cache_creation") or {}
    if not all(0 <= (count or 0) < 10**9 for count in (*numbers, *split.values())):
        raise ValueError("no response has so many tokens")


def _answer(event: _Event, usages: Sequence[Mapping[str, Any]]) -> tuple[int, bool]:
    """Return the tokens of an answer, and whether that is an estimate of its blocks.

    Three counts of four are of a stream's beginning. A count under half of the estimate
    is one, unless the response has a stop_reason, which comes with the final count. The
    counts of other agents are final, too.
    """
    count = max(usage.get("output_tokens") or 0 for usage in usages)
    parts = [line["message"] for line in event.lines]
    if any(part.get("exact") or part.get("stop_reason") for part in parts):
        return count, False
    content = event.blocks(*_WRITTEN)
    weight = round(message_tokens({"role": "assistant", "content": content}))
    return (count, False) if 2 * count >= weight else (weight, True)


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
