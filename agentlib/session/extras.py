"""What a session's lines say beside the conversation: repeats of a request, compactions
that were taken back, files that were kept.

`Session.fold` hands each line to `Extras.fold` first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from agentlib.api.replies import counts
from agentlib.messages import Message
from agentlib.session import file
from agentlib.session.file import Line
from agentlib.step import in_place_of


class Extra(StrEnum):
    """The kinds of these lines."""

    REPEAT = "agentlib_repeat"
    UNDONE = "agentlib_undone"
    EMPTIED = "agentlib_cleared"
    KEPT = "agentlib_kept"


@dataclass(frozen=True)
class Repeat:
    """The last request once more, sent so that the prompt cache lives on."""

    at: float
    """When it was sent: seconds since the epoch."""
    usage: Mapping[str, Any]


class View(NamedTuple):
    """A context before it was compacted."""

    context: list[Message]
    ids: list[str]
    seen: int
    """Length of the history at that time."""


@dataclass
class Extras:
    """What a session has noted beside its conversation."""

    repeats: list[Repeat] = field(default_factory=list[Repeat])
    emptied: list[int] = field(default_factory=list[int])
    """Lengths of the history at which the person began again with an empty context."""
    undone: list[int] = field(default_factory=list[int])
    """Lengths of the history at which a compaction was taken back."""
    kept: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """For each folder, by a name of its own, the files that were kept before the agent
    changed them, with the SHA-256 of each copy. It is empty for a file that is new."""
    before: View | None = None
    """What the last compaction was made of. None: there is none to take back."""

    def fold(self, session: "Folded", kind: str | None, line: Line) -> None:
        """Take in a line, before the session does."""
        match kind:
            case "user" if line.get("isCompactSummary"):
                self.before = View(session.context, session.ids, len(session.history))
            case Extra.REPEAT:
                repeat = Repeat(file.seconds(line["timestamp"]), counts(line["usage"]))
                self.repeats.append(repeat)
                session.used_at = max(session.used_at, repeat.at)
            case Extra.UNDONE:
                context, ids = _without_compaction(session)
                self.undone.append(len(session.history))
                self._show(session, context, ids)
            case Extra.EMPTIED:
                self.emptied.append(len(session.history))
                self._show(session, [], [])
            case Extra.KEPT:
                self._fold_kept(str(line["folder"]), str(line["name"]), line["sha256"])
            case _:
                pass

    def _show(self, session: "Folded", context: list[Message], ids: list[str]) -> None:
        session.context = context
        session.ids = ids
        session.settled = 0
        session.changed = True
        self.before = None

    def _fold_kept(self, folder: str, name: str, digest: object) -> None:
        files = self.kept.setdefault(folder, {})
        if isinstance(digest, str):
            files[name] = digest
        else:
            files.pop(name, None)


class Folded(Protocol):
    """What lines change in a session, whoever folds them. `Session` says what each field
    is."""

    history: list[Message]
    context: list[Message]
    ids: list[str]
    parent: str | None
    skipped: list[str]
    damage: list[str]
    settled: int
    changed: bool
    used_at: float
    extras: Extras

    @property
    def pending(self) -> tuple[str, ...]: ...

    def fold(self, line: Line) -> None: ...

    def note(self, at: float, *lines: Line) -> None: ...


def note_repeat(session: Folded, usage: dict[str, object], *, at: float) -> Repeat:
    """Note that the last request was sent once more, and its bill."""
    session.note(at, {"type": "system", "subtype": Extra.REPEAT, "usage": usage})
    return session.extras.repeats[-1]


def note_kept(
    session: Folded, folder: str, name: str, digest: str | None, *, at: float
) -> None:
    """Note that a file was kept, or with `digest` None that it was put back."""
    line = {"folder": folder, "name": name, "sha256": digest}
    session.note(at, {"type": "system", "subtype": Extra.KEPT, **line})


def context_before(session: Folded) -> list[Message]:
    """Return the context as it would be without the last compaction, and without its
    thinking. What came since stays.

    Raises ValueError if there is nothing to undo.
    """
    return _without_compaction(session)[0]


def note_undo(session: Folded, *, at: float) -> None:
    """Take back the last compaction. Raises ValueError as `context_before`."""
    context_before(session)
    session.note(at, {"type": "system", "subtype": Extra.UNDONE})


def _without_compaction(session: Folded) -> tuple[list[Message], list[str]]:
    before = session.extras.before
    if before is None:
        raise ValueError(
            "there is nothing to undo: no compaction, or it has been undone"
        )
    since = len(session.context) - len(session.history) + before.seen
    context = in_place_of(None, [*before.context, *session.context[since:]])
    return context, [*before.ids, *session.ids[since:]]
