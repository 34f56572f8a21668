"""Make the same `Session` as ours from the events of another program's file.

Each event becomes lines that `transcripts` folds: one for a reply, one with its results
after it, and two for a compaction, with our summary message. System prompt and tools
are not in such files.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agentlib import messages
from agentlib.api import replies
from agentlib.auto_compact import summary_message
from agentlib.compaction.around import Hooks, hooked
from agentlib.compaction.hooks import READS, file_of
from agentlib.messages import Block, blocks, interrupted, result_text, tool_names
from agentlib.presets import CLAUDE_CODE
from agentlib.session import file
from agentlib.session.extras import Extra
from agentlib.session.file import Line
from agentlib.session.mending import MISSING
from agentlib.transcripts import Session
from session_report.events import (
    BROKEN,
    Cleared,
    Compacted,
    Emptied,
    Event,
    Reply,
    Result,
    Said,
    Who,
    check_counts,
    distinct,
    is_block,
)
from session_report.formats import About

NO_SUMMARY = "[a summary that is not in the file]"
_RESULTS = "/results"
_MOST_USD = 10**6
"""No reply costs as much. A larger amount that a file states is none."""


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


def recorded(name: str, about: About, events: Sequence[Event]) -> Recorded:
    """Make the session `name` of the events of a file. What breaks a rule is left out,
    and `damage` tells.

    Raises ValueError if there is no message.
    """
    session = Recorded(session_id=name, about=about)
    fold = _Folding(session, events)
    for event in events:
        try:
            fold(event)
        except BROKEN as error:
            session.damage.append(f"the event {event.name} is left out: {error!r:.200}")
    if not session.history:
        raise ValueError("it holds no conversation: none of its lines is a message")
    return session


class _Folding:
    """Folds one event after the other into a session."""

    def __init__(self, session: Recorded, events: Sequence[Event]) -> None:
        self.session = session
        self.content = {
            id(e): distinct(e.blocks) for e in events if isinstance(e, Reply)
        }
        """The blocks of each reply."""
        self.results = dict[int, dict[str, Result | None]]()
        """For each reply a result for each of its calls, None if the file has none."""
        self.owners = dict[int, Reply]()
        """The reply of each result."""
        self._hand_out(events)
        self.newest = ""
        """The name of the newest reply or words."""

    def _hand_out(self, events: Sequence[Event]) -> None:
        """Give each result to the reply that asked for it first, wherever it stands."""
        first = dict[str, Reply]()
        for reply in (event for event in events if isinstance(event, Reply)):
            self.results[id(reply)] = {}
            for block in self.content[id(reply)]:
                if block["type"] == "tool_use" and block["id"] not in first:
                    first[block["id"]] = reply
                    self.results[id(reply)][block["id"]] = None
        for result in (event for event in events if isinstance(event, Result)):
            call = result.block.get("tool_use_id")
            if is_block(result.block) and (reply := first.get(str(call))):
                given = self.results[id(reply)]
                self.owners[id(result)] = reply
                if given[str(call)] is None:
                    del given[str(call)]
                    given[str(call)] = result  # in the order of the file

    def __call__(self, event: Event) -> None:
        session = self.session
        match event:
            case Said(who=Who.QUEUE):
                session.queued.append((len(session.history), str(event.content)))
            case Said(who=Who.HOOK):
                session.hooked.append((len(session.compactions), str(event.content)))
            case Said():
                self._said(event)
            case Reply():
                self._reply(event)
            case Compacted():
                self._compacted(event)
            case Cleared():
                session.fold(_cleared(event, session))
            case Emptied():
                session.fold({"type": "system", "subtype": Extra.EMPTIED})
            case _:
                pass
        is_line = not isinstance(event, Said) or event.who in (Who.PERSON, Who.PROGRAM)
        if isinstance(event, Said | Reply | Result) and is_line:
            self.newest = event.name

    def _said(self, event: Said) -> None:
        content = event.content
        own = distinct(blocks({"content": content}))
        words = [block for block in own if block["type"] != "tool_use"]
        if words:
            content = content if isinstance(content, str) else words
            self.session.fold(_line(event, "user", content))
            if event.who == Who.PERSON:
                self.session.person.add(len(self.session.history) - 1)

    def _reply(self, event: Reply) -> None:
        session = self.session
        results = self.results[id(event)]
        content = replies.stripped([
            block
            for block in self.content[id(event)]
            if block["type"] != "tool_use" or block["id"] in results
        ])  # fmt: skip
        told = replies.stripped(list(_results(results)))
        usage = _usage(event)
        stop = event.stop or ("tool_use" if results else "end_turn")
        if not event.is_sent:
            session.requests.append(_unsent(event, session, content, usage, stop))
            return
        if not (session.context and session.context[-1]["role"] == "user"):
            session.fold(_line(event, "user", MISSING, part="/before"))
        more: Block = {"usage": usage, "stop_reason": stop}
        session.fold(_line(event, "assistant", content, more=more))
        if results:
            session.fold(_line(event, "user", told, part=_RESULTS))

    def _compacted(self, event: Compacted) -> None:
        session = self.session
        archive = f"{session.session_id}.jsonl#{self.newest}"
        kept = (self.owners.get(id(each), each) for each in event.kept)
        names = [_uuid(each) + part for each in kept for part in ("", _RESULTS)]
        session.fold({
            "type": "system",
            "subtype": file.COMPACT,
            "timestamp": file.timestamp(event.at),
            "compactMetadata": {
                "trigger": event.trigger,
                "preTokens": event.before,
                "postTokens": event.after,
                "usage": event.bills,
                "archive": archive,
                "preservedMessages": {"uuids": names},
            },
        })  # fmt: skip
        text = event.summary or NO_SUMMARY
        text = _attached_again(text, session) if event.restores else text
        content = summary_message(text, archive, reference_only=False)["content"]
        session.fold({**_line(event, "user", content), "isCompactSummary": True})


def _results(results: dict[str, Result | None]) -> Iterator[Block]:
    """Yield a block for each call. Those without a result come last."""
    yield from (result.block for result in results.values() if result)
    for name, result in results.items():
        if not result:
            yield from blocks(interrupted(name))


def _uuid(event: Event, part: str = "") -> str:
    return f"{id(event)}{part}"


def _line(
    event: Event,
    role: str,
    content: str | list[Block],
    part: str = "",
    more: Block | None = None,
) -> Line:
    message = {"role": role, "content": content, **(more or {})}
    line = {"type": role, "uuid": _uuid(event, part), "message": message}
    # Only of a reply the time is read.
    return line | {"timestamp": file.timestamp(event.at)} if more else line


def _usage(event: Reply) -> Block:
    """Return the usage of a reply with what only another program's file says beside it.

    `model`, `branch` and `id` name who answered, the branch and the reply. `calls` are
    the usages of other calls, each with a `model`. `is_estimated` says that the
    answer's count is an estimate, `stated` has the dollars of the file. Raises
    ValueError if no API can have sent it.
    """
    bill = replies.counts(event.bill)
    for each in (bill, *map(replies.counts, event.calls)):
        check_counts(each)
    flags = {"is_edited": event.is_edited, "is_estimated": event.is_estimated}
    usage = {**bill, "model": event.model, **event.marks}
    usage |= {"calls": event.calls} if event.calls else {}
    usage |= {name: True for name, holds in flags.items() if holds}
    if isinstance(event.stated, int | float) and 0 <= event.stated < _MOST_USD:
        usage["stated"] = float(event.stated)
    return usage


def _unsent(
    event: Reply, session: Session, content: list[Block], usage: Block, stop: str
) -> file.Request:
    """Make the request of a reply that was aborted, which no later prompt has."""
    return file.Request(
        sent=file.Prefix(list(session.context), len(session.context)),
        usage=usage,
        reply={"role": "assistant", "content": content},
        at=event.at,
        seen=len(session.history),
        stop_reason=stop,
    )


def _attached_again(summary: str, session: Session) -> str:
    """Put the last five files read behind a summary, at most 5,000 tokens of each.

    Claude Code attaches them again after a compaction and doesn't log it.
    """
    results = dict[str, Block]()
    files = dict[str, str]()
    since = session.history[(session.extras.emptied or [0])[-1] :]
    for block in (b for m in reversed(since) for b in reversed(blocks(m))):
        if block["type"] == "tool_result":
            results[block["tool_use_id"]] = block
        elif block["type"] == "tool_use" and block["name"] in READS:
            path = file_of(block)
            if path and path not in files and block["id"] in results:
                files[path] = result_text(results[block["id"]])
        if len(files) == CLAUDE_CODE.restore_files:
            break
    if not files:
        return summary
    attach = Hooks(restore=(lambda messages: [*files.items()],))
    ask = hooked(lambda messages, focus: summary, attach, CLAUDE_CODE.restore_tokens)
    return ask(session.context, "")


def _cleared(event: Cleared, session: Session) -> Line:
    """Note the results that were cleared, with our placeholder."""
    tools = tool_names(session.context)
    known = [name for name in event.ids if name in tools]
    details = {
        "compactedToolIds": event.ids,
        "replacements": {n: f"{messages.PLACEHOLDER}{tools[n]}]" for n in known},
    }
    return {"type": "system", "subtype": file.MICRO, "microcompactMetadata": details}
