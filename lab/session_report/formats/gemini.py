"""Read gemini-cli's session files.

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
from session_report import events
from session_report.events import Compacted, Event, Reply, Who
from session_report.formats import Format
from session_report.formats import Reader as Base
from session_report.speakers import words_in

_COUNTS = "input", "tool", "output", "thoughts", "cached"


def knows(line: Line) -> bool:
    """Return whether a line is of gemini-cli's files: a head, a reply or a change."""
    return "projectHash" in line or line.get("type") == "gemini" or "$set" in line


def messages(line: Line) -> list[Line]:
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
    """Reads one line after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.told = dict[str, list[Event]]()
        """What each message told the model. A reply is the first of its events."""
        self.names = set[str]()
        """The messages in the context."""

    def read(self, number: str, line: Line) -> None:
        name = str(line.get("id") or number)
        if "projectHash" in line:
            self.about.thread = str(line.get("sessionId") or "")
            self.about.kind = "subagent" if line.get("kind") == "subagent" else ""
        match line:
            case {"$set": {"messages": records}}:
                self._snapshot(number, line.get("timestamp"), records)
            case {"type": "user", "content": content} if name not in self.told:
                who = Who.PERSON if words_in(content) else Who.PROGRAM
                at = self.clock.said(line.get("timestamp"))
                self.told[name] = self.tell(name, at, events.blocks(content), who)
                self.names.add(name)
            case {"type": "gemini"} if name not in self.told or name in self.names:
                self._reply(name, line)
            case _:
                pass

    def _reply(self, name: str, line: Line) -> None:
        """Take in a reply, or what was added to it since it was written before."""
        calls: list[Block] = line.get("toolCalls") or []
        content = list(_reply(line))
        bill = _bill(line)
        results = [
            (
                call["id"],
                events.result(call["id"], given, failed=call["status"] == "error"),
            )
            for call in calls
            if (given := call.get("result"))
        ]
        at = self.clock.asked(line.get("timestamp"))
        if name not in self.told:
            reply = Reply(name=name, at=at, model=str(line.get("model") or ""))
            self.told[name] = [reply]
            self.names.add(name)
            self.events.append(reply)
        for reply in self.told[name]:
            if isinstance(reply, Reply):
                reply.blocks += content
                reply.bill = bill or reply.bill
        for call, block in results:
            self.tell(f"{name}/{call}", self.clock.newest, [block])

    def _snapshot(self, number: str, stamp: object, records: list[Line]) -> None:
        """Take the whole history. If it lacks messages, its first new one is their
        summary."""
        names = {record["id"] for record in records}
        new = [record for record in records if record["id"] not in self.names]
        if new and self.names - names:
            head = new.pop(0)
            text = result_text({"content": events.blocks(head["content"])})
            kept = [e for name in self.names & names for e in self.told.get(name, ())]
            at = self.clock.said(stamp)
            compacted = Compacted(name=head["id"], at=at, summary=text, kept=kept)
            self.events.append(compacted)
            self.told[head["id"]] = [compacted]
            self.names = self.names & names | {head["id"]}
        for record in new:
            if record["type"] == "user" or record.get("tokens"):
                self.read(number, record)


def _bill(line: Line) -> Block:
    """Read a bill. Its input has the tokens read from the cache, its output has no
    thoughts."""
    tokens: Block = line.get("tokens") or {}
    prompt, tool, output, thoughts, read = (tokens.get(name) or 0 for name in _COUNTS)
    return (
        events.bill(prompt + tool - read, 0, read, output + thoughts) if tokens else {}
    )


def _reply(line: Line) -> Iterator[Block]:
    for thought in line.get("thoughts") or ():
        text = f"{thought['subject']}: {thought['description']}"
        yield {"type": "thinking", "thinking": text}
    yield from events.blocks(line.get("content"))
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
    lines=messages,
)
