"""Tool calls in a request, and what can still be seen of their results.

A result that was cleared, truncated or trimmed is not seen at all: the offline model does not
guess at its rest. Not here: what the model noted of it (notes, reading).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentlib.lab.model.notes import Event, events
from agentlib.messages import Block, Message, blocks, result_text

_TRIMMED = re.compile(r"\n\n\[\.\.\. \d+ characters trimmed \.\.\.\]\n\n")
_OFFER = re.compile(r"\[Previous: used \w+; recall (\S+) returns it\]")
_MORE = re.compile(r"\n?\.\.\. \((\d+) more(?:; continue with offset=(\d+))?\)\Z")
_INTERRUPTED = "interrupted"
_PUT_BACK = "\n\n[Put back: "
_FILE = re.compile(
    r"(.+?)\](?:\n(.*?))?(?:\n\.\.\. \((\d+) more lines\))?(?:\n\[End of summary\])?", re.DOTALL
)


@dataclass(frozen=True)
class Call:
    """A tool call of this request, and what can still be seen of its result."""

    id: str
    name: str
    input: Mapping[str, Any]
    said: tuple[Event, ...] = ()
    """What was noted in the same message."""
    text: str = ""
    """The result's text, "" where it was cleared or cut short."""
    error: bool = False
    answered: bool = False
    """It has a result, if only a cleared one."""
    offer: str = ""
    """The id under which `recall` returns a cleared result."""

    @property
    def visible(self) -> bool:
        return bool(self.text) and not self.error

    @property
    def made(self) -> bool:
        """It did what it was to do: a cleared result still tells an error from none."""
        return self.answered and not self.error

    @property
    def interrupted(self) -> bool:
        return self.error and self.text.startswith(_INTERRUPTED)

    @property
    def path(self) -> str:
        """The file it is about, as the workspace names it."""
        return re.sub(r"^(?:/workspace/|\./)+", "", str(self.input.get("path", "")))

    @property
    def body(self) -> str:
        """The text without the line that says how much more there is."""
        return _MORE.sub("", self.text)

    @property
    def next_line(self) -> int:
        """Where a file that was read in part goes on; 0 where this was its end."""
        more = _MORE.search(self.text)
        if not more:
            return 0
        given = (self.input.get(name) or 0 for name in ("offset", "limit"))  # null: as not given
        return int(more[2] or sum(given))


def calls_after(messages: Sequence[Message], start: int) -> Iterator[Call]:
    """The calls after message `start`, each with its result, or with what `recall` gave back."""
    results = {
        block["tool_use_id"]: block
        for message in messages[start + 1 :]
        if message["role"] == "user"
        for block in blocks(message)
        if block["type"] == "tool_result"
    }
    uses = [
        (block, tuple(e for t in found if t["type"] == "text" for e in events(t["text"])))
        for message in messages[start + 1 :]
        if message["role"] == "assistant"
        for found in [blocks(message)]
        for block in found
        if block["type"] == "tool_use"
    ]
    recalled = {
        block["input"].get("tool_use_id"): text
        for block, _ in uses
        if block["name"] == "recall" and (text := _seen(results.get(block["id"])))
    }
    for block, said in uses:
        result = results.get(block["id"])
        offer = _OFFER.match(result_text(result)) if result else None
        yield Call(
            id=block["id"],
            name=block["name"],
            input=block["input"],
            said=said,
            text=_seen(result) or recalled.get(block["id"], ""),
            error=bool(result and result.get("is_error")),
            answered=result is not None,
            offer=offer[1] if offer else "",
        )


def put_back(summary: str) -> Iterator[Call]:
    """The texts put back beside a summary, each as if it had been read just then.

    >>> call, = put_back("Read it.\\n\\n[Put back: a.py]\\nx = 1\\n... (3 more lines)")
    >>> call.path, call.text, call.next_line
    ('a.py', 'x = 1\\n... (3 more)', 1)
    """
    for part in summary.split(_PUT_BACK)[1:]:
        if (found := _FILE.fullmatch(part)) and found[2]:
            path, text, more = found.groups()
            limit = {"limit": text.count("\n") + 1} if more else {}
            text += f"\n... ({more} more)" if more else ""
            inputs = {"path": path, **limit}
            yield Call(id="", name="read_file", input=inputs, text=text, answered=True)


def summary_alone(summary: str) -> str:
    """A summary without the texts put back beside it, but with the rules that stand in those.

    >>> summary_alone("Read it.\\n\\n[Put back: NOTES.md]\\n- Rule: no tabs\\n- a list")
    'Read it.\\n- Rule: no tabs'
    """
    said, _, rest = summary.partition(_PUT_BACK)
    return "\n".join([said, *re.findall(r"^- Rule: .+$", rest, re.MULTILINE)])


def _seen(result: Block | None) -> str:
    """What can be seen of a result: all of it, or nothing."""
    text = result_text(result) if result else ""
    if text.startswith("[Previous: used ") or text.endswith("... [truncated]"):
        return ""
    # A layer leaves as much before its mark as after it; a file that quotes the mark does not.
    middle = (mark.start() == len(text) - mark.end() for mark in _TRIMMED.finditer(text))
    return "" if any(middle) else text
