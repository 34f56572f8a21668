"""Read pi's session files, version 1 to 3, as lines of Claude Code's.

The format: github.com/badlogic/pi-mono, packages/coding-agent/docs/session.md. The
entries form a tree. A branch that the person left stays in the context here, because no
line says what was sent. Since 1.0 requests beside the replies have their bills, too: to
warm the cache, to sum up a branch, within a tool. A tool that runs an agent whose own
file is read as well counts twice.
"""

from collections.abc import Iterator
from typing import Any

from agentlib.messages import Block
from agentlib.session.file import Line
from session_report import lines
from session_report.formats import About, Format
from session_report.formats import Reader as Base

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
    """Turns one entry after the other into lines of Claude Code's."""

    def __init__(self) -> None:
        super().__init__(About())
        self.names = list[str]()
        """The id of each entry. Version 1 has none, there it is the entry's number."""
        self.model = ""
        self.reply = ""
        """The id of the newest reply."""
        self.beside = list[Block]()
        """Bills of requests that no reply has taken yet."""
        self.is_edited = False
        """Whether the context was edited since the newest reply."""

    def __call__(self, number: str, line: Line) -> Iterator[Line]:
        name = str(line.get("id") or number)
        self.names.append(name)
        self._read_bill(line)
        match line:
            case {
                "type": "message",
                "message": {"role": "assistant", "stopReason": stop} as reply,
            }:
                yield from self._reply(name, stop, reply)
            case {"type": "compaction", "summary": str(summary)}:
                first: Any = line.get("firstKeptEntryId")
                place = (
                    self.names.index(first) if first else line["firstKeptEntryIndex"]
                )
                details: Block = {
                    "preTokens": line.get("tokensBefore"),
                    "usage": [_bill(line)],
                }
                yield from lines.compaction(
                    name, summary, self.names[place:], **details
                )
            case {"type": "message", "message": message} | (
                {"type": "custom_message"} as message
            ):
                yield lines.told(name, _content(message), line)
            case {"type": "branch_summary", "summary": str(summary)}:
                yield lines.told(name, summary, line)
            case {"type": "context_edit"}:
                self.is_edited = True
            case _:
                pass

    def finish(self) -> Iterator[Line]:
        """Return the bills that no later reply has taken, as those of the newest
        reply."""
        if self.beside and self.reply:
            more = {"id": self.reply, "model": self.model, "calls": self.beside}
            yield lines.message("the end", "assistant", [], **more)

    def _read_bill(self, entry: Line) -> None:
        """Note the bill of a request that is no reply."""
        message: Block = entry.get("message") or {}
        kinds = ("usage", "branch_summary")
        is_beside = entry.get("type") in kinds or message.get("role") == "toolResult"
        bill = _bill(message if "usage" in message else entry)
        if is_beside and lines.has_tokens(bill):
            model = entry.get("model") or message.get("model") or self.model
            self.beside.append({**bill, "type": "beside", "model": model})

    def _reply(self, name: str, stop: str, reply: Block) -> Iterator[Line]:
        bill = _bill(reply)
        is_sent = stop in _STOPS
        if not is_sent and not lines.has_tokens(bill):
            self.about.failed += 1
            return
        content = list(map(_block, reply["content"]))
        self.model = str(reply.get("model") or "")
        self.reply = name
        more = {
            "id": name,
            "model": self.model,
            "stop_reason": _STOPS.get(stop, stop),
            "unsent": not is_sent,
            "calls": self.beside,
            "edited": self.is_edited,
        }
        self.beside = []
        self.is_edited = False
        yield lines.message(name, "assistant", content, usage=bill, **more)


def _bill(entry: Block) -> Block:
    """Read a bill with the tokens written for an hour, and the dollars that it says."""
    usage: Block = entry.get("usage") or {}
    counts = map(usage.get, ("input", "cacheWrite", "cacheRead", "output"))
    bill = lines.bill(*counts, hour=usage.get("cacheWrite1h"))
    cost: Block = usage.get("cost") or {}
    parts = [part for name in _PAID if isinstance(part := cost.get(name), int | float)]
    stated = cost.get("total") or sum(parts)
    return {**bill, "stated": stated} if cost else bill


def _content(message: Block) -> Any:
    """Return what a message that no model wrote says to one."""
    match message:
        case {"role": "toolResult", "toolCallId": str(name), "content": content}:
            return lines.result(name, content, failed=message.get("isError"))
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
