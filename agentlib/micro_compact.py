"""Micro-compact: old tool results make room, silently, before each request (lesson 02).

Three policies, each a pure function from messages to messages: `micro_compact` clears results
(002, 004), `truncate_results` cuts them by the distance of their message (000), `trim_results`
takes their middle (003). No call loses its result, nothing is edited in place, and messages that
do not change are the same objects. Not here: when to do it (pipeline).
"""

from collections.abc import Callable, Mapping, Sequence

from agentlib.messages import (
    PLACEHOLDER,
    TRIMMED,
    TRUNCATED,
    Block,
    Message,
    blocks,
    changes,
    last_assistant,
    of_type,
    result_text,
    tool_names,
    with_results,
)


def micro_compact(
    messages: Sequence[Message],
    *,
    keep_recent: int = 3,
    min_chars: int = 100,
    keep_tools: Sequence[str] = (),
    keep_unseen: bool = True,
    recall: bool = False,
) -> list[Message]:
    """Replace all but the newest results by a placeholder that names the tool.

    `keep_recent` counts results, newest first. Results after the last assistant message are
    unseen and stay even where there are more of them; `keep_unseen=False` is for showing what
    happens otherwise (D7). Results of `min_chars` characters or fewer, and those of `keep_tools`,
    are never cleared; no placeholder is longer than what it replaces. Source: 002, 004.

    >>> use = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
    >>> old = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 101}
    >>> history = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [old]},
    ...            {"role": "assistant", "content": "Done."}]
    >>> micro_compact(history, keep_recent=0)[1]["content"][0]["content"]
    '[Previous: used bash]'
    """
    unseen = last_assistant(messages) if keep_unseen else len(messages)
    view, seen = list(messages), 0
    for i in range(len(messages) - 1, -1, -1):
        results = of_type(messages[i], "tool_result") if messages[i]["role"] == "user" else []
        if not results:
            continue
        # Newest first, also within a batch: its first `old` results are old, the others recent.
        old = max(0, len(results) - max(0, keep_recent - seen))
        seen += len(results)
        if old and i <= unseen:
            names = _names_before(messages, i)
            clearable = [r for r in results[:old] if names.get(r["tool_use_id"]) not in keep_tools]
            new = {r["tool_use_id"]: _placeholder(r, names, min_chars, recall) for r in clearable}
            view[i] = _replaced(messages[i], new)
    return view


def _names_before(messages: Sequence[Message], i: int) -> dict[str, str]:
    """The tools of the calls that message `i` answers: its own turn's, so no scan of the whole."""
    stop = i
    while stop and messages[stop - 1]["role"] == "user":
        stop -= 1
    start = stop
    while start and messages[start - 1]["role"] == "assistant":
        start -= 1
    return tool_names(messages[start:stop])


def _placeholder(result: Block, names: dict[str, str], min_chars: int, recall: bool) -> str | None:
    """What stands in for the result; None where it stays."""
    name, size = names.get(result["tool_use_id"], "unknown"), _size(result)
    if size <= min_chars:
        return None
    short = f"{PLACEHOLDER}{name}]"
    long = f"{PLACEHOLDER}{name}; recall {result['tool_use_id']} returns it]"
    found = next((p for p in ((long, short) if recall else (short,)) if len(p) <= size), None)
    return None if found == result.get("content") else found  # a placeholder stays what it is


def _size(result: Block) -> int:
    """Characters of a result; an image counts as many as its data has."""
    content = result.get("content") or ""
    if isinstance(content, str):
        return len(content)
    parts: list[Block] = content
    return sum(len(p["text"]) if p["type"] == "text" else len(str(p)) for p in parts)


def truncate_results(
    messages: Sequence[Message], *, keep_messages: int = 6, max_result_chars: int = 200
) -> list[Message]:
    """Cut results in all but the last `keep_messages` messages to `max_result_chars` (000).

    >>> result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 300}
    >>> turn = [{"role": "user", "content": [result]}, {"role": "assistant", "content": "Seen."}]
    >>> cut = truncate_results(turn, keep_messages=0)
    >>> len(cut[0]["content"][0]["content"])      # 200 and "... [truncated]"
    215
    """
    old = min(max(0, len(messages) - keep_messages), last_assistant(messages) + 1)
    return [_mapped(m, lambda r: _cut(r, max_result_chars)) for m in messages[:old]] + list(
        messages[old:]
    )


def _cut(result: Block, size: int) -> str | None:
    text = result_text(result)
    if len(text) <= size + len(TRUNCATED):
        return None
    return text[:size] + TRUNCATED


def trim_results(
    messages: Sequence[Message],
    *,
    trim_over: int = 2_000,
    trim_keep: int = 800,
    keep_unseen: bool = True,
) -> list[Message]:
    """Take the middle out of results of more than `trim_over` characters, leaving both ends (003).

    Unseen results stay whole, but with `keep_unseen=False`, for messages that are not the end of
    a conversation (head_and_tail). The marker says how many characters went.

    >>> result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 3000}
    >>> turn = [{"role": "user", "content": [result]}, {"role": "assistant", "content": "Seen."}]
    >>> text = trim_results(turn)[0]["content"][0]["content"]
    >>> text[800:-800].strip()
    '[... 1400 characters trimmed ...]'
    """
    old = last_assistant(messages) + 1 if keep_unseen else len(messages)
    return [_mapped(m, lambda r: _trimmed(r, trim_over, trim_keep)) for m in messages[:old]] + list(
        messages[old:]
    )


def _trimmed(result: Block, over: int, keep: int) -> str | None:
    text = result_text(result)
    gone = len(text) - 2 * keep
    marker = f"\n\n{TRIMMED.format(gone)}\n\n"
    if len(text) <= over or gone <= len(marker):
        return None
    return text[:keep] + marker + text[len(text) - keep :]


def _mapped(message: Message, replacement: Callable[[Block], str | None]) -> Message:
    if message["role"] != "user":
        return message
    results = of_type(message, "tool_result")
    return _replaced(message, {r["tool_use_id"]: replacement(r) for r in results})


def _replaced(message: Message, new: Mapping[str, str | None]) -> Message:
    """The message with new content for some of its results; itself where none changes."""
    texts = {name: text for name, text in new.items() if text is not None}
    return with_results([message], texts)[0] if texts else message


def replacements(
    before: Sequence[Message], after: Sequence[Message], start: int = 0
) -> dict[str, str]:
    """What a layer replaced from `start` on: tool_use id -> new content, for the session file."""
    return {
        new["tool_use_id"]: new["content"]
        for i in changes(before, after, start)
        for old, new in zip(blocks(before[i]), blocks(after[i]), strict=True)
        if old is not new
    }
