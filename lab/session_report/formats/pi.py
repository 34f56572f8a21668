"""Read pi's session files, version 1 to 3.

The format: github.com/badlogic/pi-mono, packages/coding-agent/docs/session.md. The
entries form a tree. A branch that the person left stays in the context here, because no
line says what was sent. Since 1.0 requests beside the replies have their bills, too: to
warm the cache, to sum up a branch, within a tool. A tool that runs an agent whose own
file is read as well counts twice.
"""

from typing import Any

from agentlib.messages import Block
from agentlib.session.file import Line
from session_report import events
from session_report.events import Compacted, Reply, Who
from session_report.formats import Format
from session_report.formats import Reader as Base
from session_report.speakers import words_in

_PAID = ("input", "output", "cacheRead", "cacheWrite")
_STOPS = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use"}
"""Reasons to stop. A reply that failed or was aborted has another one, and is sent to
no model. It was billed if it has tokens."""


def knows(line: Line) -> bool:
    """Return whether a line is of pi's files: a header, or a message in an entry."""
    match line:
        case {"type": "session", "cwd": _}:
            return True
        case {"type": "message", "message": {"role": "assistant", "stopReason": _}}:
            return True
        case _:
            return False


class Reader(Base):
    """Reads one entry after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.names = list[str]()
        """The id of each entry. Version 1 has none, there it is the entry's number."""
        self.places = list[int]()
        """For each entry, how many events came before it."""
        self.reply: Reply | None = None
        self.beside = list[Block]()
        """Bills of requests that no reply has taken yet."""
        self.is_edited = False
        """Whether the context was edited since the newest reply."""

    def read(self, number: str, line: Line) -> None:
        name = str(line.get("id") or number)
        stamp = line.get("timestamp")
        self.names.append(name)
        self.places.append(len(self.events))
        self._read_bill(line)
        match line:
            case {
                "type": "message",
                "message": {"role": "assistant", "stopReason": stop} as reply,
            }:
                self._reply(name, stamp, stop, reply)
            case {"type": "compaction", "summary": str(summary)}:
                self._compaction(name, stamp, summary, line)
            case {"type": "message", "message": message} | (
                {"type": "custom_message"} as message
            ):
                self._told(name, stamp, message)
            case {"type": "branch_summary", "summary": str(summary)}:
                self._told(name, stamp, {"content": summary})
            case {"type": "context_edit"}:
                self.is_edited = True
            case _:
                pass

    def finish(self) -> None:
        """Give the bills that no later reply has taken to the newest reply."""
        if self.reply:
            self.reply.calls += self.beside

    def _read_bill(self, entry: Line) -> None:
        """Note the bill of a request that is no reply."""
        message: Block = entry.get("message") or {}
        kinds = ("usage", "branch_summary")
        is_beside = entry.get("type") in kinds or message.get("role") == "toolResult"
        bill = _bill(message if "usage" in message else entry)
        if is_beside and events.has_tokens(bill):
            newest = self.reply.model if self.reply else ""
            model = entry.get("model") or message.get("model") or newest
            self.beside.append({**bill, "type": "beside", "model": model})

    def _reply(self, name: str, stamp: object, stop: str, reply: Block) -> None:
        bill = _bill(reply)
        is_sent = stop in _STOPS
        if not is_sent and not events.has_tokens(bill):
            self.about.failed += 1
            return
        self.reply = Reply(
            name=name,
            at=self.clock.asked(stamp),
            blocks=list(map(_block, reply["content"])),
            model=str(reply.get("model") or ""),
            bill=bill,
            calls=self.beside,
            stop=_STOPS.get(stop, stop),
            is_sent=is_sent,
            is_edited=self.is_edited,
            stated=bill.pop("stated", None),
        )
        self.events.append(self.reply)
        self.beside = []
        self.is_edited = False

    def _compaction(self, name: str, stamp: object, summary: str, line: Line) -> None:
        first: Any = line.get("firstKeptEntryId")
        place = self.names.index(first) if first else line["firstKeptEntryIndex"]
        compacted = Compacted(
            name=name,
            at=self.clock.said(stamp),
            summary=summary,
            kept=self.events[self.places[place] :],
            before=line.get("tokensBefore"),
            bills=[_bill(line)],
        )
        self.events.append(compacted)

    def _told(self, name: str, stamp: object, message: Block) -> None:
        """Take in what no model wrote."""
        is_person = message.get("role") == "user" and words_in(message["content"])
        who = Who.PERSON if is_person else Who.PROGRAM
        self.tell(name, self.clock.said(stamp), events.blocks(_content(message)), who)


def _bill(entry: Block) -> Block:
    """Read a bill with the tokens written for an hour, and the dollars that it says."""
    usage: Block = entry.get("usage") or {}
    counts = map(usage.get, ("input", "cacheWrite", "cacheRead", "output"))
    bill = events.bill(*counts, hour=usage.get("cacheWrite1h"))
    cost: Block = usage.get("cost") or {}
    parts = [part for name in _PAID if isinstance(part := cost.get(name), int | float)]
    stated = cost.get("total") or sum(parts)
    return {**bill, "stated": stated} if cost else bill


def _content(message: Block) -> Any:
    """Return what a message that no model wrote says to one."""
    match message:
        case {"role": "toolResult", "toolCallId": str(name), "content": content}:
            return events.result(name, content, failed=message.get("isError"))
        case {"role": "bashExecution", "command": command, "output": output}:
            return (
                []
                if message.get("excludeFromContext")
                else f"Ran `{command}`\n{output}"
            )
        case _:
            return message["content"]


def _block(block: Block) -> Block:
    match block:
        case {"type": "toolCall", "id": name, "name": tool, "arguments": given}:
            return {"type": "tool_use", "id": name, "name": tool, "input": given}
        case {"type": "thinking"}:
            return {**block, "signature": block.get("thinkingSignature") or ""}
        case _:
            return block


FORMAT = Format("pi", '"type": "session", "cwd"', ("*.jsonl",), knows, Reader)
