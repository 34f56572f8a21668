"""Transcripts: the append-only session, and the context folded from its lines (lesson
05).

A `Session` holds the history, which only grows, and the context, which is the history
as the layers leave it. Whatever happens becomes a line first. The line goes to the file
and is then folded into the session. `load` folds the same lines again, so it needs no
settings and gives the same session. See `session_file` for the lines, `session_report`
for the files of other programs.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from agentlib import messages
from agentlib import session_file as file
from agentlib.messages import (
    Block,
    Message,
    blocks,
    of_type,
    result_text,
)
from agentlib.session_file import Compaction, Hold, Line, Repeat, Request
from agentlib.settings import Settings
from agentlib.step import Step, answered, in_place_of, summary_place

INTERRUPTED = "interrupted; check before repeating"
"""The result of a call that a crash or Ctrl-C cut short."""
MISSING = "[a message that is not in the file]"
OWN = {"text", "tool_use", *messages.THINKING}
"""The kinds of block that a reply can have."""


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
    compactions: list[Compaction] = field(default_factory=list[Compaction])
    repeats: list[Repeat] = field(default_factory=list[Repeat])
    cleared: list[int] = field(default_factory=list[int])
    """Lengths of the history at which the person began again with an empty context."""
    undone: list[int] = field(default_factory=list[int])
    """Lengths of the history at which a compaction was taken back."""
    kept: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """For each folder, by a name of its own, the files that were kept before the agent
    changed them, with the SHA-256 of each copy. It is empty for a file that is new."""
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
    changed: bool = False
    """Whether the context changed since the last reply."""
    persons: frozenset[str] | None = frozenset()
    """Texts that the person wrote, as `Now.persons`. None if the lines are of another
    program, which may have put its own words among them."""
    _ids: list[str] = field(default_factory=list[str])
    """For each message of the context, the uuid of its first line."""
    _parent: str | None = None
    """The uuid of the last line."""
    _boundary: Line | None = None
    """A compaction that waits for its summary line. Until then it changes nothing."""
    _sent: list[Message] = field(default_factory=list[Message])
    """What requests sent since the context last changed other than at its end."""
    _before: tuple[list[Message], list[str], int] | None = None
    """Before the last compaction: the context, its uuids, and the length of the
    history."""

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
    def used_at(self) -> float:
        """When the prompt cache was last used: seconds since the epoch, 0 without a
        request."""
        return max(
            (sent.at for sent in (*self.requests[-1:], *self.repeats[-1:])), default=0.0
        )

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
                if not lines or (
                    call and call["name"] == "recall"
                ):  # no search finds another
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
            return f"{self.path.name}#{self._parent}"
        names = (f"transcript_{self.session_id}_{n}.jsonl" for n in itertools.count(1))
        path = file.create_first(self.archives, names)
        file.append(path, self.history)
        return path.name

    # -- what happens to a session becomes a line --------------------------------------

    def hold(self) -> Hold | None:
        """Keep other processes from working on the session while the result lives.

        Call it before you write. Without a file there is nothing to keep. Raises
        SessionInUse if another process holds the file, and ValueError if one has added
        to it since it was loaded.
        """
        if self.path is None:
            return None
        held = file.hold(self.path)
        if not held.is_compared and len(list(file.numbered(self.path))) != self.count:
            raise ValueError(
                f"{self.path} has changed since it was loaded; load it again"
            )
        held.is_compared = True
        return held

    def begin(
        self, settings: Settings, system: str, tools: Sequence[Block], *, at: float
    ) -> None:
        """Note the settings, the system prompt and the tools from here on."""
        fields = {"settings": asdict(settings), "system": system, "tools": list(tools)}
        self._write(at, {"type": "system", "subtype": file.SETTINGS, **fields})
        self.resumed = False

    def say(
        self, content: str | list[Block], *, at: float, is_person: bool = True
    ) -> None:
        """Note a user's message: the person's words, or a result as `answer` notes it.

        Without `is_person` they are the program's own words.
        """
        message = {"role": "user", "content": messages.whole(content)}
        mark = {} if is_person else {"isMeta": True}  # as in Claude Code's files
        self._write(at, {"type": "user", **mark, "message": message})

    def answer(self, result: Block, *, at: float) -> None:
        """Note one tool_result as it comes. The results of one turn become one
        message."""
        self.say([result], at=at)

    def reply(self, message: Mapping[str, Any], *, at: float, settled: int = 0) -> None:
        """Note the model's message with its usage and stop_reason.

        `at`: when its request was sent. `settled`: how many leading messages of that
        request no layer will touch again.
        """
        self._write(
            at, {"type": "assistant", "settled": settled, "message": dict(message)}
        )

    def repeat(self, usage: Mapping[str, Any], *, at: float) -> None:
        """Note that the last request was sent once more, and its bill."""
        self._write(
            at, {"type": "system", "subtype": file.REPEAT, "usage": dict(usage)}
        )

    def keep(self, folder: str, name: str, digest: str | None, *, at: float) -> None:
        """Note that a file was kept, or with `digest` None that it was put back."""
        line = {"folder": folder, "name": name, "sha256": digest}
        self._write(at, {"type": "system", "subtype": file.KEPT, **line})

    def take(self, step: Step, *, at: float) -> None:
        """Note how a step changed the context."""
        if step.texts:
            self._write(at, file.micro_line(step))
        if step.compaction:
            kept = [self._ids[i] for i in step.kept]
            self._write(at, *file.compaction_lines(step, kept, self._parent))

    def before(self) -> list[Message]:
        """Return the context as it would be without the last compaction, and without
        its thinking.

        Raises ValueError if there is nothing to undo.
        """
        if self._before is None:
            raise ValueError(
                "there is nothing to undo: no compaction, or it has been undone"
            )
        context, _, seen = self._before
        old = len(self.context) - len(self.history) + seen
        return in_place_of(None, [*context, *self.context[old:]])

    def undo(self, *, at: float) -> None:
        """Take back the last compaction; what came since stays. Raises ValueError as
        `before`."""
        self.before()
        self._write(at, {"type": "system", "subtype": file.UNDONE})

    def _write(self, at: float, *lines: Line) -> None:
        whole = list[Line]()
        parent = self._parent
        for number, line in enumerate(lines, self.count):
            whole.append({**file.envelope(self.session_id, number, parent, at), **line})
            parent = whole[-1]["uuid"]
        with file.defer_ctrl_c():
            if self.path:
                summed = [file.summed(line) for line in whole]
                file.append(self.path, summed, durable=self.durable)
            self.count += len(whole)
            for line in whole:
                self.fold(line)

    def mend(self, line: Line, seen: set[str]) -> Iterator[str]:
        """Close the gap before a line of a damaged file. Yields what is missing there.

        `seen`: the uuids of earlier lines. Raises ValueError if the line itself can't
        be taken in.
        """
        kind = line.get("subtype") or line.get("type")
        uuid = ""
        message = Message(content="none")
        if kind in ("user", "assistant"):
            uuid = line["uuid"]
            message = line["message"]
            _ = file.seconds(line["timestamp"])
        pending = self.pending
        ids = [r["tool_use_id"] for r in of_type(message, "tool_result")]
        names = [uuid, *(call["id"] for call in of_type(message, "tool_use"))]
        is_new = seen.isdisjoint(names) and len({*ids, *names}) == len([*ids, *names])
        if not (is_new and {*ids} <= {*pending} and _is_sound(line, kind, message)):
            raise ValueError(
                "it is there twice, or its call or a part of it is missing or wrong"
            )
        seen |= {*names} - {""}
        if line.get(file.SUM, 0) is None:
            yield "it was changed since it was written, and is taken as it stands"
        if (
            line.get("logicalParentUuid") or line.get("parentUuid", self._parent)
        ) != self._parent:
            yield "a line before it is missing"
        if ids or kind not in ("user", "assistant", file.MICRO, file.COMPACT):
            return
        for name in pending:
            yield f"the call {name} has no result before it and counts as interrupted"
            self._fold_user({"uuid": f"{uuid}/{name}", "message": interrupted(name)})
        if kind == "assistant" and not (
            self.context and self.context[-1]["role"] == "user"
        ):
            yield "the message before it is missing"
            self._add({"role": "user", "content": MISSING}, {"uuid": f"{uuid}/before"})

    # -- what a line means -------------------------------------------------------------

    def fold(self, line: Line) -> None:
        """Take one line into the session. A line of an unknown kind changes nothing."""
        match line.get("subtype") if line.get("type") == "system" else line.get("type"):
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
            case file.REPEAT:
                usage = messages.counts(line["usage"])
                self.repeats.append(Repeat(file.seconds(line["timestamp"]), usage))
            case file.UNDONE:
                self._fold_undo()
            case file.KEPT:
                self._fold_kept(str(line["folder"]), str(line["name"]), line["sha256"])
            case file.CLEARED:
                self.context = []
                self._ids = []
                self.settled = 0
                self._before = None
                self.cleared.append(len(self.history))
            case file.FAILED:
                self.compactions.append(file.compaction(line, None, len(self.history)))
            case _:
                pass
        self._parent = line.get("uuid") or self._parent

    def _fold_kept(self, folder: str, name: str, digest: object) -> None:
        files = self.kept.setdefault(folder, {})
        if isinstance(digest, str):
            files[name] = digest
        else:
            files.pop(name, None)

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
            context=self._sent_now(),
            usage=messages.counts(reply.get("usage")),
            reply=message,
            at=file.seconds(line["timestamp"]),
            seen=len(self.history),
            stop_reason=reply.get("stop_reason") or "end_turn",
        )
        self.requests.append(request)
        if self.changed:
            self.context = answered(self.context)
            self.changed = False
        self.settled = line.get("settled", self.settled)
        self._add(message, line)

    def _sent_now(self) -> list[Message]:
        """Return the context as a list that it shares with earlier requests, if it
        begins like theirs."""
        size = len(self._sent)
        if self.context[:size] == self._sent:
            self._sent += self.context[size:]
        else:
            self._sent = list(self.context)
        return self._sent

    def _add(self, message: Message, line: Line) -> None:
        is_person = message["role"] == "user" and not line.get("isMeta")
        if is_person and self.persons is not None:
            texts = {block["text"] for block in of_type(message, "text")}
            is_ours = not texts or line.get("version") == file.VERSION
            self.persons = self.persons | texts if is_ours else None
        self.history.append(message)
        self.context.append(message)
        self._ids.append(line["uuid"])

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
        step = Step(texts=details.get("replacements") or {})
        self.context = step.applied(self.context)
        self.changed = True
        self.settled = details.get("settled") or 0

    def _fold_undo(self) -> None:
        context = self.before()
        (_, ids, seen) = self._before or ([], [], 0)
        self._ids = [*ids, *self._ids[len(self._ids) - len(self.history) + seen :]]
        self.context = context
        self.settled = 0
        self.changed = True
        self._before = None
        self.undone.append(len(self.history))

    def _fold_summary(self, message: Message, line: Line) -> None:
        self._before = self.context, self._ids, len(self.history)
        boundary = self._boundary or {**line, "compactMetadata": {"trigger": "auto"}}
        uuids = file.kept_uuids(boundary)
        # Results stay with their calls, even if the file is damaged.
        calls = [
            i - (_has_only_results(m) and i > 0) for i, m in enumerate(self.context)
        ]
        kept = tuple(i for i, call in enumerate(calls) if self._ids[call] in uuids)
        place = summary_place(kept)
        self.context = Step(kept=kept, summary=message).applied(self.context)
        self._ids = [self._ids[i] for i in kept]
        self._ids.insert(place, line["uuid"])
        self.changed = True
        self._boundary = None
        self.settled = place + 1
        self.compactions.append(file.compaction(boundary, message, len(self.history)))


def interrupted(name: str) -> Message:
    """Make the message that answers a call as interrupted."""
    return {
        "role": "user",
        "content": [messages.tool_result(name, INTERRUPTED, wrong=True)],
    }


def _is_sound(line: Line, kind: str | None, message: Message) -> bool:
    """Return whether a line's values have the right types, and its blocks the right
    place."""
    details: Block = (
        line.get("compactMetadata") or line.get("microcompactMetadata") or {}
    )
    sizes = [
        p.get(k, 0)
        for p in (line, details)
        for k in ("settled", "preTokens", "postTokens")
    ]
    types = (
        {*map(type, sizes)},
        {str, *map(type, (details.get("replacements") or Block()).values())},
    )
    usage = message.get("usage") or Block()
    kinds = {block["type"] for block in blocks(message)}
    others = [{"text"}] if line.get("isCompactSummary") else [{"text"}, {"tool_result"}]
    is_placed = kinds <= OWN if kind == "assistant" else kinds in others
    is_content = messages.is_content(message["content"])
    return (
        types == ({int}, {str})
        # A count that is too large to be one is left out of the bill, not its reply.
        and messages.counts(usage, math.inf) == usage
        and is_placed
        and is_content
    )


def _has_only_results(message: Message) -> bool:
    return message["role"] == "user" and all(
        b["type"] == "tool_result" for b in blocks(message)
    )


def load(path: Path | str) -> Session:
    """Read a session back from its file. Go on with it by `loop.run(session=…)`.

    Texts that can't be read are listed in `skipped`, calls without a result in
    `pending`. A damaged file is repaired so far that no request breaks a rule of the
    API: a line that is incomplete, doubled or lacks its call is left out, a lost result
    counts as interrupted, and `MISSING` stands for a lost message. A line that was
    changed is taken as it stands. The file stays as it is, and `damage` tells. Raises
    ValueError if the file is no session's.
    """
    path = Path(path)
    parts = list(file.numbered(path))
    names = (line.get("sessionId") for _, line in parts if isinstance(line, dict))
    name = next((name for name in names if name and isinstance(name, str)), None)
    count = len(parts)
    seen = set[str]()
    is_bound = True
    if name is None:
        raise ValueError(
            f"{path} is not a session file: none of its {count} lines has a sessionId"
        )
    session = Session(session_id=name, path=path, count=count, resumed=True)
    for number, line in parts:
        try:
            if isinstance(line, str):
                session.skipped.append(line)
                raise ValueError("it is no JSON object")
            gaps = [f"line {number}: {gap}" for gap in session.mend(line, seen)]
            session.damage = [*session.damage, *gaps]
            is_bound = is_bound and not gaps
            session.fold(line)
        except (
            ValueError,
            AttributeError,
            KeyError,
            TypeError,
            RecursionError,
        ) as error:
            session.damage.append(f"line {number} is left out: {error!r:.200}")
    if not is_bound:  # thinking is bound to everything before it
        session.context = in_place_of(None, session.context)
        session.changed = True
    return session
