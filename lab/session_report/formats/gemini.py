"""Read gemini-cli's session files as lines of Claude Code's.

The format: github.com/google-gemini/gemini-cli,
packages/core/src/services/chatRecordingTypes.ts and chatRecordingService.ts. Older
files are one JSON object with all messages. In newer ones a line is a message, or
`{"$set": …}`. A message is written again whenever it changes. One that the person took
back (`$rewindTo`) stays in the context here.
"""

from collections.abc import Iterator
from pathlib import Path

from agentlib.messages import Block, result_text
from agentlib.session.file import Line
from session_report import lines
from session_report.formats import About, Format
from session_report.formats import Reader as Base

_COUNTS = "input", "tool", "output", "thoughts", "cached"


def knows(line: Line) -> bool:
    """Return whether a line is of gemini-cli's files: a head, a reply or a change."""
    return "projectHash" in line or line.get("type") == "gemini" or "$set" in line


def objects(line: Line) -> list[Line]:
    """Return the messages of a file that is one object, behind it. Else the line
    alone."""
    return (
        [line, *line["messages"]]
        if "projectHash" in line and "messages" in line
        else [line]
    )


def project_of(path: Path) -> str:
    """Name the project of a file: the folder that has its `chats`.

    >>> project_of(Path("/home/ada/.gemini/tmp/shop/chats/5f1c/agent.jsonl"))
    'shop'
    """
    parts = path.resolve().parent.parts
    return parts[parts.index("chats") - 1] if "chats" in parts[2:] else parts[-1]


class Reader(Base):
    """Turns one line after the other into lines of Claude Code's."""

    def __init__(self) -> None:
        super().__init__(About())
        self.names = set[str]()
        """The messages in the context."""

    def __call__(self, number: str, line: Line) -> Iterator[Line]:
        name = str(line.get("id") or number)
        if "projectHash" in line:
            self.about.thread = str(line.get("sessionId") or "")
            self.about.kind = "subagent" if line.get("kind") == "subagent" else ""
        match line:
            case {"$set": {"messages": records}}:
                yield from self._snapshot(number, records)
            case {"type": "user", "content": content}:
                self.names.add(name)
                yield lines.told(name, content, line)
            case {"type": "gemini"}:
                more = {"id": name, "model": line.get("model"), "usage": _bill(line)}
                uuid = f"{name}/{number}" if name in self.names else name
                self.names.add(name)
                yield lines.message(uuid, "assistant", list(_reply(line)), **more)
                for call in line.get("toolCalls") or ():
                    if given := call.get("result"):
                        result = lines.result(
                            call["id"], given, failed=call["status"] == "error"
                        )
                        yield lines.message(f"{name}/{call['id']}", "user", result)
            case _:
                pass

    def _snapshot(self, number: str, records: list[Line]) -> Iterator[Line]:
        """Take the whole history. If it lacks messages, its first new one is their
        summary."""
        names = {record["id"] for record in records}
        new = [record for record in records if record["id"] not in self.names]
        if new and self.names - names:
            head = new.pop(0)
            kept = names & self.names
            text = result_text({"content": lines.blocks(head["content"])})
            yield from lines.compaction(head["id"], text, kept)
            self.names = kept | {head["id"]}
        for record in new:
            if record["type"] == "user" or record.get("tokens"):
                for ours in self(number, record):
                    yield {"timestamp": record.get("timestamp"), **ours}


def _bill(line: Line) -> Block:
    """Read a bill. Its input has the tokens read from the cache, its output has no
    thoughts."""
    tokens: Block = line.get("tokens") or {}
    prompt, tool, output, thoughts, read = (tokens.get(name) or 0 for name in _COUNTS)
    return (
        lines.bill(prompt + tool - read, 0, read, output + thoughts) if tokens else {}
    )


def _reply(line: Line) -> Iterator[Block]:
    for thought in line.get("thoughts") or ():
        text = f"{thought['subject']}: {thought['description']}"
        yield {"type": "thinking", "thinking": text}
    yield from lines.blocks(line.get("content"))
    for call in line.get("toolCalls") or ():
        yield {
            "type": "tool_use",
            "id": call["id"],
            "name": call["name"],
            "input": call["args"],
        }


FORMAT = Format(
    "gemini-cli",
    '"sessionId", "projectHash"',
    ("*.jsonl", "session-*.json"),
    knows,
    Reader,
    project_of,
)
