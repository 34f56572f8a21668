"""Around a compaction: hooks before and after it, and what is put back beside the summary.

What is put back stands in the summary message and so in the session file: loading and replaying
give the same view without reading any file again. Not here: the summary itself (auto_compact).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentlib.auto_compact import Summarize
from agentlib.estimation import message_tokens, text_tokens
from agentlib.messages import PUT_BACK, Message, of_type
from agentlib.step import Step

Restore = Callable[[Sequence[Message]], Sequence[tuple[str, str]]]
"""(what is compacted) -> (name, text) of each thing to put back, the most needed first."""

_TOOLS = ("read_file", "edit_file", "write_file")
_SHARE = 0.5


def _unchanged(messages: Sequence[Message], focus: str) -> str:
    return focus


def _ignored(step: Step) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """What a program of your own does around each compaction.

    >>> Hooks(before=lambda messages, focus: f"{focus}; keep every number").before([], "auth.py")
    'auth.py; keep every number'
    """

    before: Callable[[Sequence[Message], str], str] = _unchanged
    """(messages, focus) -> the focus asked for. SummaryFailed stops the compaction."""
    after: Callable[[Step], None] = _ignored
    """Told of each compaction, a failed one too, once it is in the session."""
    restore: tuple[Restore, ...] = ()
    """What to put back, before the files that Settings(restore_files=…) asks for."""


NO_HOOKS = Hooks()


def hooked(
    summarize: Summarize, hooks: Hooks, tokens: int, most: float = float("inf")
) -> Summarize:
    """Summarise as `hooks` want it, and put back what they give: each text at most `tokens`.

    All together at most `most`, and half of what is compacted, or nothing would be gained.
    """

    def ask(messages: Sequence[Message], focus: str) -> str:
        summary = summarize(messages, hooks.before(messages, focus))
        half = _SHARE * sum(map(message_tokens, messages)) - text_tokens(summary, "summary")
        found = [each for restore in hooks.restore for each in restore(messages)]
        return "\n\n".join([summary, *_within(found, tokens, min(half, most))])

    return ask


def _within(found: Sequence[tuple[str, str]], tokens: int, room: float) -> list[str]:
    kept: list[str] = []
    for name, text in found:
        whole = _cut(f"{PUT_BACK}{name}]\n{text}", tokens)
        room -= text_tokens(whole, "summary")
        if room < 0:
            break
        kept.append(whole)
    return kept


def _cut(text: str, tokens: int) -> str:
    """The first lines, at most `tokens`, and how many lines are missing."""
    lines, kept = text.splitlines(), list[str]()
    left: float = tokens
    for line in lines:
        left -= text_tokens(f"{line}\n", "summary")
        if left < 0:
            break
        kept.append(line)
    missing = len(lines) - len(kept)
    return "\n".join([*kept, *([f"... ({missing} more lines)"] if missing else [])])


def recent_files(read: Callable[[str], str | None], count: int) -> Restore:
    """Put back the `count` files that were read or written last, as they are now (001: 5).

    `read(path)` -> the text; None: it can't be read, and is left out.
    """

    def restore(messages: Sequence[Message]) -> list[tuple[str, str]]:
        found = ((path, read(path)) for path in recent_paths(messages)[:count])
        return [(path, text) for path, text in found if text is not None]

    return restore


def recent_paths(messages: Sequence[Message]) -> list[str]:
    """Paths of the calls that read or wrote a file, each once, the newest first.

    >>> call = {"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}}
    >>> recent_paths([{"role": "assistant", "content": [call, call]}])
    ['a.py']
    """
    calls = [call for m in reversed(messages) for call in reversed(of_type(m, "tool_use"))]
    paths = (c["input"].get("path") for c in calls if c["name"] in _TOOLS)
    return list(dict.fromkeys(path for path in paths if isinstance(path, str)))


def notes_file(path: Path | str) -> Restore:
    """A restore hook that puts back one file of yours, NOTES.md say, wherever there is one."""
    place = Path(path)

    def restore(messages: Sequence[Message]) -> list[tuple[str, str]]:
        if not place.is_file():
            return []
        return [(place.name, place.read_text(encoding="utf-8", errors="replace"))]

    return restore
