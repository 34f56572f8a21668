"""Read pi's session files, version 1 to 3, as lines of Claude Code's.

The format: github.com/badlogic/pi-mono, packages/coding-agent/docs/session.md. The
entries form a tree. A branch that the person left stays in the context here, because no
line says what was sent.
"""

from collections.abc import Iterator
from typing import Any

from agentlib.messages import Block
from agentlib.session_file import Line
from session_report import lines

_STOPS = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use"}
"""Reasons to stop. A reply that failed or was aborted has another one, and is sent to
no model."""


def knows(line: Line) -> bool:
    """Return whether a line is of pi's files: a header, or a message in an entry."""
    kind, message = line.get("type"), line.get("message")
    return (kind == "session" and "cwd" in line) or (
        kind == "message" and bool(message)
    )


class Reader:
    """Turns one entry after the other into lines of Claude Code's."""

    def __init__(self) -> None:
        self.names = list[str]()
        """The id of each entry. Version 1 has none, there it is the entry's number."""

    def __call__(self, number: str, entry: Line) -> Iterator[Line]:
        name = str(entry.get("id") or number)
        self.names.append(name)
        match entry:
            case {
                "type": "message",
                "message": {"role": "assistant", "stopReason": stop} as reply,
            }:
                if stop in _STOPS:
                    content, bill = list(map(_block, reply["content"])), _bill(reply)
                    more = {
                        "id": name,
                        "model": reply.get("model"),
                        "stop_reason": _STOPS[stop],
                    }
                    yield lines.message(name, "assistant", content, usage=bill, **more)
            case {"type": "compaction", "summary": str(summary)}:
                first: Any = entry.get("firstKeptEntryId")
                place = (
                    self.names.index(first) if first else entry["firstKeptEntryIndex"]
                )
                details: Block = {
                    "preTokens": entry.get("tokensBefore"),
                    "usage": [_bill(entry)],
                }
                yield from lines.compaction(
                    name, summary, self.names[place:], **details
                )
            case {"type": "message", "message": message} | (
                {"type": "custom_message"} as message
            ):
                yield lines.message(name, "user", _content(message))
            case {"type": "branch_summary", "summary": str(summary)}:
                yield lines.message(name, "user", summary)
            case _:
                pass


def _bill(entry: Block) -> Block:
    usage: Block = entry.get("usage") or {}
    return lines.bill(*map(usage.get, ("input", "cacheWrite", "cacheRead", "output")))


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
