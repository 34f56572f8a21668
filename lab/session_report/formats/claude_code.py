"""Read Claude Code's session files, and say what their places mean.

A project's folder has a file for each session. Files of sub-agents begin with "agent-".
They lie beside the session's file, or below a folder of its name in `subagents`, some
in a folder for each workflow. What `--output-format stream-json` prints, and Cowork's
audit.jsonl, have the same messages with other fields around them.

Such a file is a log, not a conversation. One response may be fourteen lines with its
results between them, and there are copies, torn lines and other agents' lines. So the
lines of one response are gathered first, and the events are made when the file has
ended.

Each line names the line before it, so a file is a tree. A person who rewinds leaves a
branch. Its messages stay in the context here, and its responses are marked with the
number of that "branch".
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

from agentlib.api import replies
from agentlib.api.spending import listed_name
from agentlib.estimation import message_tokens, prompt_tokens
from agentlib.messages import Block, Message, blocks
from agentlib.session import file
from agentlib.session.file import Line
from session_report.events import (
    BROKEN,
    Cleared,
    Compacted,
    Emptied,
    Event,
    Reply,
    Said,
    Who,
    check_counts,
    distinct,
    is_content,
)
from session_report.formats import About, Format
from session_report.formats import Reader as Base
from session_report.keep import texts_of_hooks
from session_report.speakers import is_command, is_programs, said
from session_report.usages import calls_of

PROJECTS = Path.home() / ".claude" / "projects"
"""Where Claude Code keeps its session files, unless `places` says otherwise."""
_SUBAGENTS = "subagents"
_STREAM = {"request_id": "requestId", "_audit_timestamp": "timestamp"}
"""Fields of a saved stream, and what a session's file calls them."""
_NEEDED = ("message", "compactMetadata", "microcompactMetadata", "costUSD", "isMeta")
_MARKS = (file.COMPACT, file.MICRO)
_WRITTEN = ("text", "thinking", "redacted_thinking", "tool_use", "server_tool_use")
"""Blocks that the model writes itself. Results of the server's tools, an advisor's
words among them, come from elsewhere."""
_WRITTEN_SUM = "cache_creation_input_tokens"
_COUNT = re.compile("[0-9]{1,12}")


def places() -> list[Path]:
    """List the folders with Claude Code's sessions: those that `CLAUDE_CONFIG_DIR`
    names, with commas between, or else `PROJECTS` and the one in ~/.config."""
    named = [
        text.strip() for text in os.environ.get("CLAUDE_CONFIG_DIR", "").split(",")
    ]
    if any(named):
        return [Path(text).expanduser() / PROJECTS.name for text in named if text]
    every = [PROJECTS, Path.home() / ".config" / "claude" / PROJECTS.name]
    return [each for each in every if each.exists()] or [PROJECTS]


def is_message(line: Line) -> bool:
    """Return whether a line is a message in Claude Code's envelope."""
    message = line.get("message")
    is_spoken = line.get("type") in ("user", "assistant")
    return is_spoken and isinstance(message, dict) and "content" in message


def project_of(path: Path) -> str:
    """Name the project of a file: Claude Code's folder for it, or else the file's own
    folder.

    >>> project_of(Path("/home/ada/.claude/projects/-home-ada-shop/5f1c/subagents/agent-1.jsonl"))
    '-home-ada-shop'
    >>> project_of(Path("/backup/shop/5f1c/subagents/workflows/wf_1/agent-2.jsonl"))
    'shop'
    """
    *_, mark, folders = path.as_posix().rpartition(f"/{PROJECTS.name}/")
    if mark and "/" in folders:
        return folders.split("/")[0]
    parts = path.resolve().parent.parts
    if _SUBAGENTS in parts[2:]:
        parts = parts[: parts.index(_SUBAGENTS, 2) - 1]
    return parts[-1]


def kind_of(path: Path) -> str:
    """Name whose conversation a file is, by the names that Claude Code gives.

    >>> kind_of(Path("agent-a1.jsonl")), kind_of(Path("agent-acompact-a1.jsonl"))
    ('subagent', 'compaction call')
    """
    if not path.name.startswith("agent-"):
        return "session"
    return "compaction call" if path.name.startswith("agent-acompact") else "subagent"


@dataclass(kw_only=True)
class _Gathered:
    """The lines of a response, of a user's words, of a summary or of a mark."""

    kind: str
    name: str
    """The uuid of its first line."""
    at: float
    """Seconds since the epoch. For a response: when its request was sent."""
    lines: list[Line] = field(default_factory=list[Line])
    """What is needed of its lines, each different one once."""
    uuids: set[str] = field(default_factory=set[str])
    """The uuids of all its lines."""
    request: str = ""
    """The id of a response's request, if the file has it."""
    after: int = 0
    """How many words of the person came before its newest line."""

    @property
    def messages(self) -> list[Message]:
        """The messages of its lines."""
        return [line["message"] for line in self.lines]

    @property
    def content(self) -> list[Block]:
        """The blocks of its lines."""
        return [block for message in self.messages for block in blocks(message)]


class Reader(Base):
    """Gathers what belongs together. A response stands where its first line stands.

    Only what a session needs of a line stays in memory. A file that has only sidechain
    lines is a subagent's. There they are the conversation.
    """

    def __init__(self) -> None:
        super().__init__()
        self._gathered = dict[str, _Gathered | Event]()
        self._seen = set[str]()
        self._is_subagent = True
        self._agents = dict[str, Reader]()
        """The conversations of sub-agents, by the agent."""
        self._writers = dict[str, str]()
        """The sub-agent of each of their lines."""
        self._tree = _Tree()
        self._keys = dict[str, list[str]]()
        """The keys of the responses with an id."""
        self._words = 0
        """How many words the person said."""
        self._pending = list[str]()
        """Words of the person that wait in the queue."""
        self._is_begun = False
        self._boundary: _Gathered | None = None
        """The boundary of a compaction whose summary is still to come."""
        self._places = dict[str, list[Event]]()
        """The events of each line."""
        self._kept = list[tuple[list[Event], set[str]]]()
        """For each compaction the events that stay, and the lines that stay, too."""

    def read(self, number: str, line: Line) -> None:
        match line:
            case {"type": "cost-state", "totalCostUSD": int() | float() as stated} | {
                "type": "result",
                "total_cost_usd": int() | float() as stated,
            }:
                self.about.stated = float(stated)
            case {"toolUseResult": {"agentId": str(agent), "totalTokens": int(tokens)}}:
                self.about.agents[agent] = tokens
            case _:
                pass
        names = {theirs: ours for theirs, ours in _STREAM.items() if theirs in line}
        more = {ours: line[theirs] for theirs, ours in names.items() if line[theirs]}
        if agent := line.get("parent_tool_use_id"):
            more |= {"isSidechain": True, "agentId": str(agent)}
        self._add({**line, **more} if more else line, f"object {number}")

    def _add(self, line: Line, name: str) -> None:
        """Add the next line. `name`: what it is called if it has no uuid."""
        has_message = is_message(line)
        if self._is_subagent and has_message and not line.get("isSidechain"):
            self._leave_subagents()
        if line.get("isSidechain") and not self._is_subagent and has_message:
            self._writer(line, name)._add(line, name)
            return
        if has_message and not self._is_begun:
            self._is_begun = True
            self.is_cut = self._tree.is_cut(line)
        kind = _kind(line, self._is_subagent)
        uuid = str(line.get("uuid") or name)
        is_new = uuid not in self._seen  # a resume or a fork copies lines
        is_reply = kind == "response" and is_new
        stamp = line.get("timestamp")
        at = self.clock.asked(stamp) if is_reply else self.clock.said(stamp)
        key = self._key(line, uuid) if is_reply else uuid
        begins = self._tree.grow(line, key, is_reply=kind == "response")
        if kind and is_new:
            if kind == "words" and self._gathered and begins:
                self._gathered[f"{key}/cleared"] = Emptied(name=uuid, at=at)
            self._gather(kind, key, line, uuid, at)
        elif line.get("type") == "queue-operation":
            self._queue(line, uuid, at)
        elif is_new and line.get("type") == "attachment":
            self._attach(line, uuid, at)
        self._seen.add(uuid)

    def _gather(self, kind: str, key: str, line: Line, uuid: str, at: float) -> None:
        new = _Gathered(kind=kind, name=uuid, at=at)
        gathered = self._gathered.setdefault(key, new)
        assert isinstance(gathered, _Gathered)
        gathered.uuids.add(uuid)
        needed = {key: line[key] for key in _NEEDED if line.get(key) is not None}
        if kind == "words" and not said(line):
            needed["isMeta"] = True  # somebody else speaks
        gathered.lines += [needed] if needed not in gathered.lines else []
        gathered.request = gathered.request or str(line.get("requestId") or "")
        self._words += kind == "words" and _is_said(line)
        gathered.after = self._words

    def _key(self, line: Line, uuid: str) -> str:
        """Return the key of the response that a line is a part of.

        Lines of one response share an id. But there are relays that give every response
        the same one.
        """
        message = line["message"]
        request = line.get("requestId")
        name = str(message.get("id") or request or uuid)
        keys = self._keys.setdefault(name, [])
        newest = self._gathered.get(keys[-1]) if keys else None
        if not isinstance(newest, _Gathered) or not self._is_part(newest, line):
            keys.append(f"{name}#{len(keys)}" if keys else name)
        return keys[-1]

    def _is_part(self, gathered: _Gathered, line: Line) -> bool:
        """Tell whether a line with the id of a response is a part of that response."""
        message = line["message"]
        request = line.get("requestId")
        if request and gathered.request:
            return gathered.request == request
        if message in gathered.messages:
            return True  # a copy
        prompts = {_prompt(each) for each in (message, *gathered.messages)}
        usage: Any = message.get("usage")
        is_rolled = bool(usage and usage.get("iterations"))
        is_same = is_rolled or len(prompts - {0}) < 2
        return is_same and gathered.after == self._words

    def _leave_subagents(self) -> None:
        """Put aside what stood before the first line of the main conversation."""
        marks = dict[str, _Gathered | Event]()
        early = dict[str, _Gathered | Event]()
        for key, each in self._gathered.items():
            is_mark = isinstance(each, _Gathered) and each.kind in _MARKS
            (marks if is_mark else early)[key] = each
        if early:
            self._agents[""] = aside = Reader()
            aside._gathered = early
            aside._keys = self._keys
            self._keys = {}
        self._gathered = marks
        self._is_subagent = False

    def _writer(self, line: Line, name: str) -> "Reader":
        """Return the conversation of the sub-agent that wrote a line."""
        uuid = str(line.get("uuid") or name)
        parent = str(line.get("parentUuid"))
        agent = str(line.get("agentId") or self._writers.get(parent) or uuid)
        self._writers[uuid] = agent
        return self._agents.setdefault(agent, Reader())

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
                    event = Said(name=name, at=at, content=text, who=Who.QUEUE)
                    self._gathered[f"{name}/queued/{len(self._gathered)}"] = event
            case _:
                pass

    def _attach(self, line: Line, name: str, at: float) -> None:
        """Note the texts of hooks, and words that the agent got while it worked."""
        for number, text in enumerate(texts_of_hooks(line)):
            event = Said(name=name, at=at, content=text, who=Who.HOOK)
            self._gathered[f"{name}/hook/{number}"] = event
        if text := said(line):
            event = Said(name=name, at=at, content=text, who=Who.QUEUE)
            self._gathered[f"{name}/queued"] = event

    # -- the events ----------------------------------------------------------------

    def finish(self) -> None:
        """Make the events of what was gathered. What can't be one is left out, and
        `damage` tells."""
        branches = self._tree.branches()
        identities = self._identities()
        bare = _without_summary(self._gathered.values())
        for key, each in self._gathered.items():
            if isinstance(each, Event):
                self.events.append(each)
                continue
            size = len(self.events)
            marks: Block = {"id": identities.get(key)}
            marks |= {"request": each.request} if each.request else {}
            marks |= {"branch": branches[key]} if branches.get(key) else {}
            try:
                self._make(each, marks, is_bare=each.name in bare)
            except BROKEN as error:
                text = f"the event {each.name} is left out: {error!r:.200}"
                self.damage.append(text)
            for uuid in each.uuids:
                self._places[uuid] = self.events[size:]
        for kept, uuids in self._kept:  # a result may come after the compaction
            kept += [event for uuid in uuids for event in self._places.get(uuid, ())]
        self._gathered = {}
        for agent, reader in self._agents.items():
            reader.about = About(kind="subagent", thread=agent)
            reader.finish()
            self.asides.append(reader)

    def _make(self, each: _Gathered, marks: Block, *, is_bare: bool) -> None:
        """Make the event of lines that were gathered. `is_bare`: no summary stands
        behind a boundary."""
        match each.kind:
            case "response":
                self.events.append(_reply(each, marks))
            case "words":
                content = each.lines[0]["message"]["content"]
                who = Who.PROGRAM if each.lines[0].get("isMeta") else Who.PERSON
                self.tell(each.name, each.at, content, who)
            case "summary":
                own = distinct(each.content)
                texts = [block["text"] for block in own if block["type"] == "text"]
                self._compact(self._boundary or each, each, "\n".join(texts))
                self._boundary = None
            case file.COMPACT if is_bare:
                self._compact(each, each, "")
            case file.COMPACT:
                self._boundary = each
            case _:
                details: Line = each.lines[0].get("microcompactMetadata") or {}
                ids: list[str] = details.get("compactedToolIds") or []
                self.events.append(Cleared(name=each.name, at=each.at, ids=ids))

    def _compact(self, first: _Gathered, last: _Gathered, summary: str) -> None:
        """Add a compaction by its boundary and its last line."""
        theirs: Line = first.lines[0].get("compactMetadata") or {}
        segment: dict[str, str] = theirs.get("preservedSegment") or {}
        ends = [
            self.events.index(event)
            for name in ("headUuid", "tailUuid")
            for event in self._places.get(str(segment.get(name)), ())
        ]
        kept = self.events[min(ends) : max(ends) + 1] if ends else []
        self._kept.append((kept, file.kept_uuids({"compactMetadata": theirs})))
        self.events.append(
            Compacted(
                name=last.name,
                at=first.at,
                summary=summary,
                kept=kept,
                trigger=theirs.get("trigger", "auto"),
                before=theirs.get("preTokens"),
                after=theirs.get("postTokens"),
                bills=theirs.get("usage") or [],
                restores=True,
            )
        )

    def _identities(self) -> dict[str, str]:
        """Return what a copy of each response in another file has, too, by its key.

        An id that several responses of a file have says nothing without their requests.
        """
        identities = dict[str, str]()
        for name, keys in self._keys.items():
            for key in keys:
                each = self._gathered.get(key)
                if isinstance(each, _Gathered):
                    is_own = len(keys) == 1 or each.request
                    identities[key] = name if is_own else each.name
        return identities


class _Place(NamedTuple):
    """Where a line stands in the tree."""

    root: str
    response: str
    """The key of the newest response up to the line."""


class _Tree:
    """The lines of a file by the lines before them."""

    def __init__(self) -> None:
        self._begun = set[str]()
        """The roots of conversations."""
        self._parents = dict[str, _Place]()
        """By the key of a response, where it was asked for."""
        self._places = dict[str, _Place]()
        self._newest = _Place("", "")
        self._tip = self._newest
        """The place of the newest response that is no copy."""

    def is_cut(self, line: Line) -> bool:
        """Return whether a line follows one that is not in the file."""
        parent = line.get("parentUuid")
        return bool(parent) and parent not in self._places

    def grow(self, line: Line, key: str, *, is_reply: bool) -> bool:
        """Take in a line, with the key of its response. Return whether its words begin
        a conversation with an empty context: from a new root.

        The chain goes on behind a compaction, whose boundary has no parent either.
        """
        uuid = line.get("uuid")
        parent = line.get("parentUuid", "")
        if not uuid or uuid in self._places or line.get("isSidechain"):
            return False
        place = self._places.get(parent or "", self._newest)
        if line.get("subtype") == file.COMPACT:
            place = self._tip  # what is compacted is the conversation that goes on
        elif parent is None:
            place = _Place(uuid, "")
        if is_reply:
            self._parents.setdefault(key, place)
            self._tip = place = _Place(place.root, key)
        self._places[uuid] = self._newest = place
        if not is_message(line) or place.root in self._begun:
            return False
        self._begun.add(place.root)
        return len(self._begun) > 1 and line["type"] == "user"

    def branches(self) -> dict[str, int]:
        """Return the number of each response's branch, from the newest response of each
        root. 0: the conversation that went on."""
        numbers = dict[str, int]()
        roots = set[str]()
        tips = count(1)
        for key, parent in reversed(self._parents.items()):
            if key not in numbers:
                numbers[key] = next(tips) if parent.root in roots else 0
            numbers.setdefault(parent.response, numbers[key])
            roots.add(parent.root)
        return numbers


def _kind(line: Line, subagent: bool) -> str | None:
    """Name what a line belongs to, None if it is no part of the conversation."""
    match line:
        case {"type": "system", "subtype": file.COMPACT | file.MICRO as kind}:
            return kind
        case {"isSidechain": True} if not subagent:
            return None
        case {"type": "user", "message": message} if is_content(message.get("content")):
            return "summary" if line.get("isCompactSummary") else "words"
        case {"type": "assistant", "message": message} if is_content(
            message.get("content")
        ):
            failed = (
                line.get("isApiErrorMessage") or message.get("model") == "<synthetic>"
            )
            return None if failed else "response"
        case _:
            return None


def _is_said(line: Line) -> bool:
    """Return whether a user's line has words of the person, and no results. A text
    beside a result is a program's reminder."""
    types = {block["type"] for block in blocks(line["message"])}
    return "text" in types and "tool_result" not in types and not line.get("isMeta")


def _prompt(message: Message) -> int:
    """Return the prompt that a line of a response says, 0 if it says none."""
    return prompt_tokens(replies.counts(_numeric(message.get("usage"))))


def _without_summary(every: Iterable[_Gathered | Event]) -> set[str]:
    """Name the boundaries behind which no summary stands, but a response."""
    bare = set[str]()
    boundary = ""
    for each in every:
        kind = each.kind if isinstance(each, _Gathered) else ""
        if kind in ("response", file.COMPACT) and boundary:
            bare.add(boundary)
            boundary = ""
        if kind == file.COMPACT:
            boundary = each.name
        if kind == "summary":
            boundary = ""
    return bare


def _reply(each: _Gathered, marks: Block) -> Reply:
    """Make the event of a response.

    The first lines of a response carry the token count that its stream began with, and
    most have no stop_reason. So any stop_reason is taken. Of the usages of its lines
    the largest prompt counts, of equal ones the last.
    """
    parts = each.messages
    model = str(parts[0].get("model") or "")
    content = distinct(each.content)
    usages = [_bill(part) for part in parts if part.get("usage")] or [Block()]
    prompts = [prompt_tokens(usage) for usage in usages]
    top = [u for u, n in zip(usages, prompts, strict=True) if n == max(prompts)][-1]
    stops = [str(part["stop_reason"]) for part in parts if part.get("stop_reason")]
    answer, is_estimated = _answer(content, usages, is_whole=bool(stops))
    bill, calls = _bills(top, answer, model)
    stated = [line["costUSD"] for line in each.lines if "costUSD" in line]
    return Reply(
        name=each.name,
        at=each.at,
        blocks=content,
        model=model,
        bill=bill,
        calls=calls,
        stop=(stops or [""])[-1],
        is_edited=any(map(_is_edited, parts)),
        is_estimated=is_estimated,
        stated=(stated or [None])[-1],
        marks=marks,
    )


def _bills(top: Block, answer: int, model: str) -> tuple[Block, list[Block]]:
    """Take a usage apart into that of a response's last call, and those of its other
    calls, each with a model. `answer`: the tokens of the whole answer, at least."""
    last, earlier, beside = calls_of(top, model)
    last["output_tokens"] = (last.get("output_tokens") or 0) + max(
        0, answer - (top.get("output_tokens") or 0)
    )
    calls = [{**call, "model": str(call.get("model") or model)} for call in beside]
    for call in earlier:
        other = str(call.get("model") or model)
        is_same = listed_name(other) == listed_name(model)
        if is_same:  # what it wrote is a part of this reply
            last["output_tokens"] += call.get("output_tokens") or 0
            call = {**call, "output_tokens": 0, "type": ""}
        calls.append({**call, "model": model if is_same else other})
    return last, calls


def _is_edited(part: Message) -> bool:
    """Return whether a part of a response says that its prompt was cut on purpose."""
    match part:
        case {"context_management": {"applied_edits": [_, *_]}}:
            return True
        case _:
            return False


def _bill(message: Message) -> Block:
    """Return the usage of a line. Raises ValueError if no API can have sent it."""
    usage = replies.counts(_numeric(message["usage"]))
    split = usage.get("cache_creation")
    if split and usage.get(_WRITTEN_SUM) is None:  # some relays leave the sum out
        usage = {**usage, _WRITTEN_SUM: sum(filter(None, split.values()))}
    for each in (usage, *_dicts(usage.get("iterations"))):
        check_counts(replies.counts(each))
    return usage


def _numeric(usage: Any) -> Block:
    """Read counts that some relays send as text.

    >>> _numeric({"input_tokens": "100", "speed": "fast"})
    {'input_tokens': 100, 'speed': 'fast'}
    """
    counted = cast(Block, usage) if isinstance(usage, dict) else Block()
    texts = {
        name: int(count)
        for name, count in counted.items()
        if isinstance(count, str) and _COUNT.fullmatch(count)
    }
    return counted | texts


def _dicts(value: Any) -> list[Block]:
    values = cast(list[Any], value) if isinstance(value, list) else []
    return [each for each in values if isinstance(each, dict)]


def _answer(
    content: Sequence[Block], usages: Sequence[Block], *, is_whole: bool
) -> tuple[int, bool]:
    """Return the tokens of an answer, and whether that is an estimate of its blocks.

    Three counts of four are of a stream's beginning. A count under half of the estimate
    is one, unless the response `is_whole`: it has a stop_reason, which comes with the
    final count.
    """
    answer = max(usage.get("output_tokens") or 0 for usage in usages)
    if is_whole:
        return answer, False
    written = [block for block in content if block["type"] in _WRITTEN]
    weight = round(message_tokens({"role": "assistant", "content": written}))
    return (answer, False) if 2 * answer >= weight else (weight, True)


FORMAT = Format(
    "Claude Code",
    '"type": "user", "message"',
    ("*.jsonl",),
    is_message,
    Reader,
    project_of,
    kind_of,
)
