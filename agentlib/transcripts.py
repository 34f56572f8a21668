"""Transcripts: the append-only session, its file, and the view that is folded from it (lesson 05).

A `Session` holds the history, which only ever grows, and the context, which is the history as the
layers left it. Whatever happens is a line first: it goes to the file, then it is folded into the
session. `load` folds the same lines again, so what is read back is what was, and no settings are
needed for it. Not here: the shape of the lines (session_file), what changes the view (pipeline),
and files of other programs (lab.sessions).
"""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from agentlib import json_lines
from agentlib import session_file as file
from agentlib.interrupts import undisturbed
from agentlib.json_lines import Line
from agentlib.messages import (
    Block,
    Message,
    blocks,
    changes,
    drop_newest_thinking,
    drop_thinking,
    of_type,
    result_text,
    unanswered,
    with_results,
)
from agentlib.session_file import Compaction, Request
from agentlib.settings import Settings
from agentlib.step import Step

INTERRUPTED = "interrupted; check before repeating"


@dataclass(kw_only=True, eq=False)
class Session:
    """A conversation: `history` is everything said, `context` what the next request sends."""

    session_id: str
    path: Path | None = None
    """The session file. None: in memory, and `archive` writes snapshots to `archives`."""
    archives: Path = Path(".transcripts")
    clock: Callable[[], float] = time.time
    settings: Settings = field(default_factory=Settings)
    system: str = ""
    tools: list[Block] = field(default_factory=list[Block])
    history: list[Message] = field(default_factory=list[Message])
    context: list[Message] = field(default_factory=list[Message])
    requests: list[Request] = field(default_factory=list[Request])
    compactions: list[Compaction] = field(default_factory=list[Compaction])
    skipped: list[str] = field(default_factory=list[str])
    """What `load` could not read: torn lines, lines that are no JSON object."""
    settled: int = 0
    """Leading messages of the context that no layer will touch again."""
    resumed: bool = False
    """Whether it was loaded, and no settings line has been written since."""
    _ids: list[str] = field(default_factory=list[str])
    """For each message of the context, the uuid of its first line."""
    count: int = 0
    """Lines of the file."""
    _parent: str | None = None
    _boundary: Line | None = None
    """A compaction whose summary has not been read yet: until then nothing has changed."""
    _changed: bool = False
    """Whether the view changed since the last reply."""

    @classmethod
    def create(
        cls,
        folder: Path | str,
        *,
        settings: Settings,
        session_id: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """A new session with a file of its own, `<session_id>.jsonl` in `folder`, mode 0600.

        Without an id, the time and a count make one. An id that has a file already is refused
        (FileExistsError), so that two sessions never share one.
        """
        now = clock()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
        names = [session_id] if session_id else (f"{stamp}-{n}" for n in itertools.count(1))
        path = json_lines.create_first(Path(folder), (f"{name}.jsonl" for name in names))
        session = cls(session_id=path.stem, path=path, clock=clock)
        session.begin(settings, "", [], at=now)
        return session

    @property
    def pending(self) -> tuple[str, ...]:
        """Ids of the calls in the newest assistant message that have no result yet."""
        return unanswered(self.history)

    def recall(self, tool_use_id: str) -> str:
        """The whole text of a result, whatever became of it in the view; KeyError: no such id."""
        for message in reversed(self.history):
            for result in of_type(message, "tool_result"):
                if result["tool_use_id"] == tool_use_id:
                    return result_text(result)
        raise KeyError(f"no result of {tool_use_id!r} in this session")

    def archive(self) -> str:
        """The name of what holds the whole history: a place in the session file, where one is."""
        if self.path:
            return f"{self.path.name}#{self._parent}"
        return snapshot(self.history, self.archives, self.session_id).name

    # -- what happens to a session: each a line ---------------------------------------------------

    def begin(self, settings: Settings, system: str, tools: Sequence[Block], *, at: float) -> None:
        """Settings, system prompt and tools from here on."""
        noted = {"settings": asdict(settings), "system": system, "tools": list(tools)}
        self._write(at, {"type": "system", "subtype": file.SETTINGS, **noted})
        self.resumed = False

    def say(self, text: str, *, at: float) -> None:
        """The person's words."""
        self._write(at, {"type": "user", "message": {"role": "user", "content": text}})

    def answer(self, result: Block, *, at: float) -> None:
        """One tool_result, as it comes; those of one turn become one message."""
        self._write(at, {"type": "user", "message": {"role": "user", "content": [result]}})

    def reply(self, message: Mapping[str, Any], *, at: float, settled: int = 0) -> None:
        """The model's message with its usage and stop_reason; `at`: when its request was sent.

        `settled`: how much of that request no layer will touch again.
        """
        self._write(at, {"type": "assistant", "settled": settled, "message": dict(message)})

    def take(self, step: Step, *, at: float) -> None:
        """Note how a step changed the view."""
        if step.replaced:
            self._write(at, file.micro_line(step))
        if step.compaction == "failed":
            self._write(at, file.failed_line(step))
        elif step.compaction:
            boundary = file.boundary_line(step, [self._ids[i] for i in step.kept], self._parent)
            self._write(at, boundary, file.summary_line(step))

    def _write(self, at: float, *lines: Line) -> None:
        whole, parent = list[Line](), self._parent
        for number, line in enumerate(lines, self.count):
            whole.append({**file.envelope(self.session_id, number, parent, at), **line})
            parent = whole[-1]["uuid"]
        with undisturbed():
            if self.path:
                json_lines.append(self.path, whole)
            self.count += len(whole)
            fold(whole, self)

    # -- what a line means ------------------------------------------------------------------------

    def fold(self, line: Line) -> None:
        """Take one line into the session; a line of a kind unknown here changes nothing."""
        match line.get("subtype") if line.get("type") == "system" else line.get("type"):
            case "user":
                self._fold_user(line)
            case "assistant":
                self._fold_assistant(line)
            case file.SETTINGS:
                self._fold_settings(line)
            case file.MICRO:
                self._fold_micro(line)
            case file.COMPACT:
                self._boundary = line
            case file.FAILED:
                self.compactions.append(file.compaction(line, None, len(self.history)))
            case _:
                pass
        self._parent = line.get("uuid") or self._parent

    def _fold_settings(self, line: Line) -> None:
        if (self.system, self.tools) != (line["system"], line["tools"]):
            # Thinking is bound to these two as well.
            self.context, self._changed = drop_thinking(self.context, 0), True
        settings = Settings.from_dict(line["settings"])
        if settings != self.settings:
            self.settled = 0  # what no layer touches under the old ones, one may under the new
        self.settings = settings
        self.system, self.tools = line["system"], line["tools"]

    def _fold_user(self, line: Line) -> None:
        message: Message = {"role": "user", "content": line["message"]["content"]}
        if line.get("isCompactSummary"):
            self._fold_summary(message, line)
        elif self.history and _is_results(message) and _is_results(self.history[-1]):
            joined: list[Block] = [*self.history[-1]["content"], *message["content"]]
            self.history[-1] = self.context[-1] = {"role": "user", "content": joined}
        else:
            self._add(message, line)

    def _fold_assistant(self, line: Line) -> None:
        message: Message = {"role": "assistant", "content": line["message"]["content"]}
        self.requests.append(
            Request(
                context=list(self.context),
                usage=line["message"].get("usage") or {},
                reply=message,
                at=file.seconds(line["timestamp"]),
                seen=len(self.history),
                stop_reason=line["message"].get("stop_reason") or "end_turn",
            )
        )
        if self._changed:
            self.context, self._changed = drop_newest_thinking(self.context), False
        self.settled = line.get("settled", self.settled)
        self._add(message, line)

    def _add(self, message: Message, line: Line) -> None:
        self.history.append(message)
        self.context.append(message)
        self._ids.append(line["uuid"])

    def _fold_micro(self, line: Line) -> None:
        details = line["microcompactMetadata"]
        view = with_results(self.context, details.get("replacements") or {})
        first = next(changes(self.context, view), len(view))
        self.context, self._changed = drop_thinking(view, first), True
        self.settled = details.get("settled") or 0

    def _fold_summary(self, message: Message, line: Line) -> None:
        boundary = self._boundary or {**line, "compactMetadata": {"trigger": "auto"}}
        kept = file.preserved(boundary)
        stay = [i for i, name in enumerate(self._ids) if name in kept]
        head = next((n for n, i in enumerate(stay) if n != i), len(stay))
        view, ids = [self.context[i] for i in stay], [self._ids[i] for i in stay]
        view.insert(head, message)
        ids.insert(head, line["uuid"])
        self.context, self._ids = drop_thinking(view, head), ids
        self._changed, self._boundary, self.settled = True, None, head + 1
        self.compactions.append(file.compaction(boundary, message, len(self.history)))


def _is_results(message: Message) -> bool:
    return message["role"] == "user" and all(b["type"] == "tool_result" for b in blocks(message))


def fold(lines: Iterable[Line], session: Session) -> Session:
    """Fold lines into a session, in order; ValueError names the first that lacks something."""
    for number, line in enumerate(lines, 1):
        try:
            session.fold(line)
        except (AttributeError, KeyError, TypeError) as error:
            what = f"line {number} of the session, of type {line.get('type')!r}, is incomplete"
            raise ValueError(f"{what} ({error!r}): mend it or take it out") from error
    return session


def load(path: Path | str) -> Session:
    """A session as its file has it; go on with it by `loop.run(session=…)`.

    Torn and broken lines are skipped and stand in `skipped`; calls without a result in `pending`.
    Raises ValueError where no line of the file is a session's, or one of them is incomplete.
    """
    path = Path(path)
    lines, skipped = json_lines.read(path)
    count = len(lines) + len(skipped)
    name = next((line["sessionId"] for line in lines if line.get("sessionId")), None)
    if name is None:
        raise ValueError(f"{path} is not a session file: none of its {count} lines has a sessionId")
    session = Session(session_id=name, path=path, skipped=skipped, count=count, resumed=True)
    return fold(lines, session)


def snapshot(history: Sequence[Message], folder: Path | str, session_id: str) -> Path:
    """The whole history, a message a line, in a new file `transcript_<session_id>_<n>.jsonl`.

    For an agent without a session file. The file is created exclusively: no two saves share a
    name (D3), and it is the history that is saved, never the view (D1).
    """
    names = (f"transcript_{session_id}_{n}.jsonl" for n in itertools.count(1))
    path = json_lines.create_first(Path(folder), names)
    json_lines.append(path, history)
    return path
