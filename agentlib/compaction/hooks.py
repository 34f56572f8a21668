"""What is put beside a summary: the person's lines, and texts that are needed again.

A text that is put back or pinned is part of the summary message, and so of the session
file. Loading and replaying give the same context without reading any file or asking any
hook again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import mean

from agentlib.estimation import TokenMeter, leading_lines
from agentlib.messages import (
    PINNED,
    Block,
    Message,
    blocks,
    of_type,
    result_text,
    said_block,
    said_in,
)
from agentlib.settings import Settings
from agentlib.step import Step

Restore = Callable[[Sequence[Message]], Sequence[tuple[str, str]]]
"""(messages that are compacted) -> (name, text) of each thing to put back, most needed
first."""

_Found = tuple[Block, str, float]
"""A call, its result, and how fresh that is: 1 for the newest message."""
READS = ("read_file", "Read", "read")
"""The tools whose result is a file's text, here, in Claude Code and in pi."""
_FILE_TOOLS = (
    *READS,
    "edit_file",
    "write_file",
    "Edit",
    "MultiEdit",
    "Write",
    "edit",
    "write",
)


def pinned(
    step: Step, lines: Iterable[str], messages: Sequence[Message], meter: TokenMeter
) -> Step:
    """Put the person's lines behind the summary of a step, each once, as words of the
    person. Texts that they hold whole leave the block of what was said earlier.

    `messages`: those that the step was made for. Without lines or a summary the step
    stays as it is.

    >>> summary = {"role": "user", "content": [{"type": "text", "text": "A summary."}]}
    >>> step = pinned(Step(summary=summary), ["Be kind."], [], TokenMeter())
    >>> [block["text"] for block in step.summary["content"]]
    ['A summary.', "[Pinned, in the user's own words]\\nBe kind."]
    """
    kept = dict.fromkeys(
        line for text in lines for line in text.splitlines() if line != PINNED
    )
    if step.summary is None or not kept:
        return step
    summary, *others = blocks(step.summary)
    block = {"type": "text", "text": "\n".join([PINNED, *kept])}
    earlier = others[:1] if others and said_in(others[0]) else []
    rest = others[len(earlier) :]
    texts = [t for b in earlier for t in said_in(b) if not {*t.splitlines()} <= {*kept}]
    earlier = [said_block(texts)] if texts else []
    message = {**step.summary, "content": [summary, *earlier, block, *rest]}
    new = replace(step, summary=message)
    return replace(new, tokens_after=meter.estimate(new.applied(messages)))


def quoted(head: str, text: str, tokens: int) -> str:
    """Quote the first lines of a text line by line, because it is none of the person's
    words."""
    lines = [" ".join(head.splitlines()), *(f"> {line}" for line in text.splitlines())]
    kept = leading_lines(lines, tokens)
    missing = len(lines) - len(kept)
    return "\n".join([*kept, *([f"... ({missing} more lines)"] if missing else [])])


def recent_files(read: Callable[[str], str | None], count: int) -> Restore:
    """Put back the `count` files that were read or written last, as they are now (s24:
    5).

    `read(path)` returns the text, or None to leave the file out. The newest comes
    first.

    >>> call = {"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}}
    >>> recent_files({"a.py": "x = 1"}.get, 5)([{"role": "assistant", "content": [call, call]}])
    [('a.py', 'x = 1')]
    """

    def restore(messages: Sequence[Message]) -> list[tuple[str, str]]:
        calls = [
            call
            for m in reversed(messages)
            for call in reversed(of_type(m, "tool_use"))
        ]
        names = dict.fromkeys(path for path in map(file_of, calls) if path)
        files = ((name, read(name)) for name in list(names)[:count])
        return [(name, text) for name, text in files if text is not None]

    return restore


def most_used(count: int = 8) -> Restore:
    """Put back the `count` results that are most likely to be quoted again, for their
    size.

    That is the share of a tool's results of which a later reply repeats 40 characters
    of a line, divided by the result's length, and halved with every 20 messages that
    came after it. Of calls with the same input the newest counts.

    >>> read = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}}
    >>> text = "def price(amount, rate): return amount * rate"
    >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": text}
    >>> most_used(5)([{"role": "assistant", "content": [read]}, {"role": "user",
    ...     "content": [result]}, {"role": "assistant", "content": f"It is {text}."}])
    [('a.py', 'def price(amount, rate): return amount * rate')]
    """

    def restore(messages: Sequence[Message]) -> list[tuple[str, str]]:
        calls = {call["id"]: call for m in messages for call in of_type(m, "tool_use")}
        later = set[str]()
        uses = dict[str, list[bool]]()
        found = dict[str, _Found]()
        for age, message in enumerate(reversed(messages)):
            for block in of_type(message, "tool_result"):
                call = calls[block["tool_use_id"]]
                text = result_text(block)
                uses.setdefault(call["name"], []).append(
                    not later.isdisjoint(_runs(text))
                )
                found.setdefault(str(call["input"]), (call, text, 0.5 ** (age / 20)))
            if message["role"] == "assistant":
                later |= _runs(str(message["content"]))

        def worth(each: _Found) -> float:
            return each[2] * mean(uses[each[0]["name"]]) / max(1, len(each[1]))

        best = sorted(filter(worth, found.values()), key=worth, reverse=True)[:count]
        return [(file_of(call) or call["name"], text) for call, text, _ in best]

    return restore


def _runs(text: str) -> set[str]:
    return {text[at : at + 40] for at in range(len(text) - 39)}


def file_of(call: Block) -> str | None:
    """Return the path of the file that a call reads or writes, None for any other
    call."""
    path = call["input"].get("path") or call["input"].get("file_path")
    return path if call["name"] in _FILE_TOOLS and isinstance(path, str) else None


def room_to_restore(settings: Settings, base: float) -> float:
    """Return the tokens that may be put back so that the context stays under the
    threshold.

    `base`: tokens of the system prompt and the tools.
    """
    stays = settings.head_tokens + (settings.tail_tokens or 0) + settings.summary_tokens
    stays += settings.words_tokens
    return settings.threshold_tokens - base - stays
