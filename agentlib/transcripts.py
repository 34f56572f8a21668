"""Transcripts: the append-only session, and the context folded from its lines (lesson
05).

A `Session` holds the history, which only grows, and the context, which is the history
as the layers leave it. Whatever happens becomes a line first. The line goes to the file
and is then folded into the session. `load` folds the same lines again, so it needs no
settings and gives the same session. From an agent's first request until `close`, no
other process can work on the session. See `session.file` for the lines,
`session_report` for the files of other programs.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from agentlib import messages
from agentlib.messages import (
    Block,
    Message,
    blocks,
    of_type,
    result_text,
)
from agentlib.session import file
from agentlib.session.extras import Extras
from agentlib.session.file import CompactionRecord, Line, Prefix, Request, hold
from agentlib.session.mending import fold_mended
from agentlib.settings import Settings
from agentlib.step import Step, answered, in_place_of, summary_place


@dataclass(kw_only=True, eq=False)
class Session:
    """A conversation: `history` is everything said, `context` what the next request
    sends."""

    durable: ClassVar[bool] = True
    """Whether each line is on the disk before the session goes on."""
    session_id: str
    path: Path | None = None
    """The session file. None: in memory, and `archive` writes snapshots to
    `archives`."""
    archives: Path = Path(".transcripts")
    settings: Settings = field(default_factory=Settings)
    system: str = ""
    tools: list[Block] = field(default_factory=list[Block])
    history: list[Message] = field(default_factory=list[Message])
    context: list[Message] = field(default_factory=list[Message])
    requests: list[Request] = field(default_factory=list[Request])
    compactions: list[CompactionRecord] = field(default_factory=list[CompactionRecord])
    extras: Extras = field(default_factory=Extras)
    """What the lines say beside the conversation."""
    skipped: list[str] = field(default_factory=list[str])
    """Texts that `load` couldn't read: torn lines, and lines that are no JSON
    object."""
    damage: list[str] = field(default_factory=list[str])
    """What `load` found damaged and how it was repaired, with numbers of lines in the
    file."""
    settled: int = 0
    """Number of leading messages of the context that no layer will touch again."""
    resumed: bool = False
    """Whether it was loaded and no settings line has been written since."""
    count: int = 0
    """Number of lines in the file."""
    size: int = 0
    """Bytes of the file, as far as this session knows it."""
    changed: bool = False
    """Whether the context changed since the last reply."""
    persons: frozenset[str] | None = frozenset()
    """Texts that the person wrote, as `Now.persons`. None if the lines are of another
    program, which may have put its own words among them."""
    ids: list[str] = field(default_factory=list[str])
    """For each message of the context, the uuid of its first line."""
    used_at: float = 0.0
    """When the prompt cache was last used: seconds since the epoch, 0 without a
    request."""
    parent: str | None = None
    """The uuid of the last line."""
    _said: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """What the person said, each text with the index of its message in the history."""
    _boundary: Line | None = None
    """A compaction that waits for its summary line. Until then it changes nothing."""
    _sent: list[Message] = field(default_factory=list[Message])
    """What requests sent since the context last changed other than at its end."""
    _end_hold: Callable[[], object] | None = field(default=None, init=False)
    """Frees the session's file for other processes. None: this session doesn't hold
    it, and nor does a copy of one that does."""

    @classmethod
    def create(
        cls,
        folder: Path | str,
        *,
        settings: Settings,
        session_id: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """Begin a session with a new file `<session_id>.jsonl` in `folder`, of mode
        0600.

        Without an id, the time and a number make one. Raises FileExistsError if the id
        has a file already, so two sessions never share one.
        """
        at = clock()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at))
        ids = (
            [session_id] if session_id else (f"{stamp}-{n}" for n in itertools.count(1))
        )
        path = file.create_first(Path(folder), (f"{name}.jsonl" for name in ids))
        session = cls(session_id=path.stem, path=path)
        session.begin(settings, "", [], at=at)
        return session

    @property
    def pending(self) -> tuple[str, ...]:
        """Ids of the calls in the newest assistant message that have no result yet."""
        return messages.unanswered(self.history)

    def recall(self, tool_use_id: str = "", *, search: str = "") -> str:
        """Return the whole text of a result, even if the context has lost it.

        With `search`, return all lines of the history that hold these words, in any
        case. A head above them names the call and its id, or who spoke. Without words
        and without an id nothing is found. Raises KeyError if no result has this id.
        """
        if search or not tool_use_id:
            return "\n".join(self._lines_with(search.casefold())) or "(nothing found)"
        return result_text(messages.results(self.history)[tool_use_id])

    def said(self, seen: int | None = None) -> list[str]:
        """Return what the person has said, in order, since the context was last empty.

        `seen`: a length of the history, for what had been said by then.
        """
        stop = len(self.history) if seen is None else seen
        start = max((n for n in self.extras.emptied if n < stop), default=0)
        return [text for place, text in self._said if start <= place < stop]

    def _lines_with(self, words: str) -> Iterator[str]:
        calls = {
            call["id"]: call for m in self.history for call in of_type(m, "tool_use")
        }
        for message in self.history:
            for block in blocks(message):
                call = calls.get(block.get("tool_use_id", ""))
                text = result_text(block) if call else block.get("text", "")
                lines = [
                    line
                    for line in text.split("\n")
                    if words and words in line.casefold()
                ]
                # No search finds another one.
                if not lines or (call and call["name"] == "recall"):
                    continue
                head = (
                    [call["name"], call["input"], call["id"]]
                    if call
                    else [message["role"]]
                )
                yield f"[{' '.join(map(str, head))}]"
                yield from lines

    def archive(self) -> str:
        """Name the place that holds the whole history: a line of the session file, or a
        snapshot.

        A session in memory writes its snapshot now: `transcript_<session_id>_<n>.jsonl`
        in `archives`, a message a line. Each snapshot has a file of its own.
        """
        if self.path:
            return f"{self.path.name}#{self.parent}"
        names = (f"transcript_{self.session_id}_{n}.jsonl" for n in itertools.count(1))
        path = file.create_first(self.archives, names)
        file.append(path, self.history)
        return path.name

    # -- what happens to a session becomes a line --------------------------------------

    def hold(self) -> None:
        """Keep other processes from working on the session, until `close`.

        An agent calls it before it writes. Without a file there is nothing to keep.
        Raises SessionInUse if another process holds the file, and ValueError if
        somebody has added to it since it was loaded.
        """
        if self.path is None:
            return
        if self._end_hold is None:
            self._end_hold = hold(self.path, self)
        if self.path.stat().st_size != self.size:
            self.close()
            raise ValueError(
                f"{self.path} has changed since it was loaded; load it again"
            )

    def close(self) -> None:
        """Let other processes work on the session. The next run on it holds it again."""
        if self._end_hold is not None:
            self._end_hold()
            self._end_hold = None

    def __enter__(self) -> Self:
        """Return the session. At the end of the block it is closed."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(
        self, settings: Settings, system: str, tools: Sequence[Block], *, at: float
    ) -> None:
        """Note the settings, the system prompt and the tools from here on."""
        fields = {"settings": asdict(settings), "system": system, "tools": list(tools)}
        self.note(at, {"type": "system", "subtype": file.SETTINGS, **fields})
        self.resumed = False

    def say(
        self, content: str | list[Block], *, at: float, is_person: bool = True
    ) -> None:
        """Note a user's message: the person's words, or a result as `answer` notes it.

        Without `is_person` they are the program's own words.
        """
        message = {"role": "user", "content": messages.whole(content)}
        mark = {} if is_person else {"isMeta": True}  # as in Claude Code's files
        self.note(at, {"type": "user", **mark, "message": message})

    def answer(self, result: Block, *, at: float) -> None:
        """Note one tool_result as it comes. The results of one turn become one
        message."""
        self.say([result], at=at)

    def reply(self, message: Mapping[str, Any], *, at: float, settled: int = 0) -> None:
        """Note the model's message with its usage and stop_reason.

        `at`: when its request was sent. `settled`: how many leading messages of that
        request no layer will touch again.
        """
        self.note(
            at, {"type": "assistant", "settled": settled, "message": dict(message)}
        )

    def take(self, step: Step, *, at: float) -> None:
        """Note how a step changed the context."""
        if step.cleared:
            self.note(at, file.micro_line(step))
        if step.compaction:
            kept = [self.ids[i] for i in step.kept]
            self.note(at, *file.compaction_lines(step, kept, self.parent))

    def note(self, at: float, *lines: Line) -> None:
        """Write lines into the file, all or none, and fold them."""
        whole = list[Line]()
        parent = self.parent
        for number, line in enumerate(lines, self.count):
            whole.append({**file.envelope(self.session_id, number, parent, at), **line})
            parent = whole[-1]["uuid"]
        with file.defer_ctrl_c():
            if self.path:
                summed = [file.summed(line) for line in whole]
                before = self.path.stat().st_size
                file.append(self.path, summed, durable=self.durable)
                # Only its own lines, so that `hold` notices those of another.
                self.size += self.path.stat().st_size - before
            self.count += len(whole)
            for line in whole:
                self.fold(line)

    # -- what a line means -------------------------------------------------------------

    def fold(self, line: Line) -> None:
        """Take one line into the session. A line of an unknown kind changes nothing."""
        kind = file.kind(line)
        self.extras.fold(self, kind, line)
        match kind:
            case "user":
                self._fold_user(line)
            case "assistant":
                self._fold_reply(line)
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
        self.parent = line.get("uuid") or self.parent

    def _fold_user(self, line: Line) -> None:
        content = messages.whole(line["message"]["content"])
        message: Message = {"role": "user", "content": content}
        if line.get("isCompactSummary"):
            self._fold_summary(message, line)
        elif (
            self.history
            and _has_only_results(message)
            and _has_only_results(self.history[-1])
        ):
            results: list[Block] = [*self.history[-1]["content"], *message["content"]]
            self.history[-1] = self.context[-1] = {"role": "user", "content": results}
        else:
            self._add(message, line)

    def _fold_reply(self, line: Line) -> None:
        reply = line["message"]
        content = messages.whole(reply["content"])
        message: Message = {"role": "assistant", "content": content}
        request = Request(
            sent=self._sent_now(),
            usage=file.usage_of(reply),
            reply=message,
            at=file.seconds(line["timestamp"]),
            seen=len(self.history),
            stop_reason=reply.get("stop_reason") or "end_turn",
        )
        self.requests.append(request)
        self.used_at = request.at
        if self.changed:
            self.context = answered(self.context)
            self.changed = False
        self.settled = line.get("settled", self.settled)
        self._add(message, line)

    def _sent_now(self) -> Prefix:
        """Return the context, in a list that it shares with earlier requests if it
        begins like theirs."""
        size = len(self._sent)
        if self.context[:size] == self._sent:
            self._sent += self.context[size:]
        else:
            self._sent = list(self.context)
        return Prefix(self._sent, len(self._sent))

    def _add(self, message: Message, line: Line) -> None:
        is_person = message["role"] == "user" and not line.get("isMeta")
        if is_person and self.persons is not None:
            texts = {block["text"] for block in of_type(message, "text")}
            is_ours = not texts or line.get("version") == file.VERSION
            self.persons = self.persons | texts if is_ours else None
        is_ours = self.persons is not None
        # Beside a result, another program's file has only what that program says.
        if is_person and (is_ours or not of_type(message, "tool_result")):
            texts = messages.words(message, self.persons)
            self._said += ((len(self.history), text) for text in texts)
        self.history.append(message)
        self.context.append(message)
        self.ids.append(line["uuid"])

    def _fold_settings(self, line: Line) -> None:
        if (self.system, self.tools) != (line["system"], line["tools"]):
            # The API binds thinking to these two as well.
            self.context = in_place_of(None, self.context)
            self.changed = True
        settings = Settings.from_dict(line["settings"])
        if settings != self.settings:
            self.settled = 0  # under new settings a layer may touch any message again
        self.settings = settings
        self.system = line["system"]
        self.tools = line["tools"]

    def _fold_micro(self, line: Line) -> None:
        details = line["microcompactMetadata"]
        texts, inputs = file.replacements(details)
        step = Step(texts=texts, inputs=inputs)
        self.context = step.applied(self.context)
        self.changed = True
        self.settled = details.get("settled") or 0

    def _fold_summary(self, message: Message, line: Line) -> None:
        boundary = self._boundary or {**line, "compactMetadata": {"trigger": "auto"}}
        uuids = file.kept_uuids(boundary)
        # Results stay with their calls, even if the file is damaged.
        calls = [
            i - (_has_only_results(m) and i > 0) for i, m in enumerate(self.context)
        ]
        kept = tuple(i for i, call in enumerate(calls) if self.ids[call] in uuids)
        place = summary_place(kept)
        self.context = Step(kept=kept, summary=message).applied(self.context)
        self.ids = [self.ids[i] for i in kept]
        self.ids.insert(place, line["uuid"])
        self.changed = True
        self._boundary = None
        self.settled = place + 1
        self.compactions.append(file.compaction(boundary, message, len(self.history)))


def _has_only_results(message: Message) -> bool:
    return message["role"] == "user" and all(
        b["type"] == "tool_result" for b in blocks(message)
    )


def load(path: Path | str) -> Session:
    """Read a session back from its file. Go on with it by `loop.run(session=…)`.

    Texts that can't be read are listed in `skipped`, calls without a result in
    `pending`. A damaged file is repaired as `mending` says, and `damage` tells what was
    done. The file stays as it is. Raises ValueError if it is no session's.
    """
    path = Path(path)
    size = path.stat().st_size
    parts = list(file.numbered(path))
    names = (line.get("sessionId") for _, line in parts if isinstance(line, dict))
    name = next((name for name in names if name and isinstance(name, str)), None)
    if name is None:
        raise ValueError(
            f"{path} is not a session file: none of its {len(parts)} lines has a "
            "sessionId"
        )
    session = Session(
        session_id=name, path=path, count=len(parts), size=size, resumed=True
    )
    fold_mended(session, parts)
    return session
