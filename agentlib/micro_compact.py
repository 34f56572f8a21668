"""Micro-compact: make room by replacing old tool results, before each request (lesson
02).

Three policies, each a pure function from messages to messages. `micro_compact` clears
results (learn-claude-code), `truncate_results` cuts them by the distance of their
message (the Java agent), `trim_results` takes out their middle (Hermes). No call loses
its result, and messages that don't change are the same objects.
"""

from collections.abc import Callable, Sequence

from agentlib import messages as msg
from agentlib.messages import Block, Message
from agentlib.settings import Settings


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

    `keep_recent` counts results, newest first. Results after the last assistant message
    are unseen and stay, even if there are more of them; `keep_unseen=False` shows what
    happens otherwise. Results of `min_chars` characters or fewer, and those of
    `keep_tools`, are never cleared, and no placeholder is longer than what it replaces.
    Source: learn-claude-code.

    >>> use = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
    >>> old = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 101}
    >>> history = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [old]},
    ...            {"role": "assistant", "content": "Done."}]
    >>> micro_compact(history, keep_recent=0)[1]["content"][0]["content"]
    '[Previous: used bash]'
    """
    parts = [
        (i, block)
        for i, message in enumerate(messages)
        for block in msg.blocks(message)
    ]
    names = {b["id"]: b["name"] for _, b in parts if b["type"] == "tool_use"}
    newest = msg.last_assistant(messages) if keep_unseen else len(messages)
    results = [(i, block) for i, block in parts if block["type"] == "tool_result"]
    old = [r for i, r in results[: max(0, len(results) - keep_recent)] if i <= newest]
    placeholders = {
        r["tool_use_id"]: _placeholder(
            r, names.get(r["tool_use_id"], "unknown"), min_chars, recall
        )
        for r in old
        if names.get(r["tool_use_id"]) not in keep_tools
    }
    return msg.with_results(
        messages, {name: text for name, text in placeholders.items() if text}
    )


def _placeholder(result: Block, tool: str, min_chars: int, recall: bool) -> str | None:
    """Return what stands in for the result, None if it stays."""
    content = msg.blocks({"content": result.get("content") or ""})
    size = sum(
        len(part["text"] if part["type"] == "text" else str(part)) for part in content
    )
    short = f"{msg.PLACEHOLDER}{tool}]"
    long = f"{msg.PLACEHOLDER}{tool}; recall {result['tool_use_id']} returns it]"
    text = long if recall and len(long) <= size else short
    is_shorter = min_chars < size >= len(text)
    return text if is_shorter and text != result["content"] else None


def truncate_results(
    messages: Sequence[Message], *, keep_messages: int = 6, max_result_chars: int = 200
) -> list[Message]:
    """Cut results in all but the last `keep_messages` messages to `max_result_chars`.

    Source: the Java agent.

    >>> result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 300}
    >>> turn = [{"role": "user", "content": [result]}, {"role": "assistant", "content": "Seen."}]
    >>> cut = truncate_results(turn, keep_messages=0)
    >>> len(cut[0]["content"][0]["content"])      # 200 and "... [truncated]"
    215
    """

    def cut(text: str) -> str:
        short = text[:max_result_chars] + msg.TRUNCATED
        return short if len(short) < len(text) else text

    old = min(len(messages) - keep_messages, msg.last_assistant(messages) + 1)
    return _shortened(messages, max(0, old), cut)


def trim_results(
    messages: Sequence[Message],
    *,
    trim_over: int = 2_000,
    trim_keep: int = 800,
    keep_unseen: bool = True,
) -> list[Message]:
    """Take the middle out of results of more than `trim_over` characters.

    `trim_keep` characters stay at each end. Unseen results stay whole, except with
    `keep_unseen=False`, for messages that are not the end of a conversation. Source:
    Hermes.

    >>> result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 3000}
    >>> turn = [{"role": "user", "content": [result]}, {"role": "assistant", "content": "Seen."}]
    >>> text = trim_results(turn)[0]["content"][0]["content"]
    >>> text[800:-800].strip()
    '[... 1400 characters trimmed ...]'
    """

    def trim(text: str) -> str:
        gone = len(text) - 2 * trim_keep
        mark = f"\n\n{msg.TRIMMED.format(gone)}\n\n"
        if len(text) <= trim_over or gone <= len(mark):
            return text
        return text[:trim_keep] + mark + text[len(text) - trim_keep :]

    old = msg.last_assistant(messages) + 1 if keep_unseen else len(messages)
    return _shortened(messages, old, trim)


def _shortened(
    messages: Sequence[Message], stop: int, shorten: Callable[[str], str]
) -> list[Message]:
    """Shorten the results in the first `stop` messages."""
    texts = {
        name: msg.result_text(r) for name, r in msg.results(messages[:stop]).items()
    }
    short = {name: shorten(text) for name, text in texts.items()}
    return msg.with_results(
        messages, {n: text for n, text in short.items() if text != texts[n]}
    )


def cleared_by(messages: Sequence[Message], settings: Settings) -> list[Message]:
    """Apply the policy that the settings name: clear, truncate, trim, or none."""
    match settings.micro:
        case "clear":
            return micro_compact(
                messages,
                keep_recent=settings.keep_recent,
                min_chars=settings.min_chars,
                keep_tools=settings.keep_tools,
                recall=settings.recall,
            )
        case "truncate":
            return truncate_results(
                messages,
                keep_messages=settings.keep_messages,
                max_result_chars=settings.max_result_chars,
            )
        case "trim":
            return trim_results(
                messages, trim_over=settings.trim_over, trim_keep=settings.trim_keep
            )
        case "off":
            return list(messages)


def settled_by(view: Sequence[Message], settings: Settings) -> int:
    """Return how many leading messages of a view the same policy won't touch again.

    The rest begins with the exchange that has the oldest result that may still change.
    """
    edge = len(view)
    if settings.micro == "truncate":
        edge -= settings.keep_messages
    elif settings.micro == "clear":
        recent = settings.keep_recent
        while edge > 0 and recent > 0:
            edge -= 1
            recent -= len(msg.of_type(view[edge], "tool_result"))
    edge = min(edge, msg.last_assistant(view))
    # An edge inside an exchange would part a result from the call that names its tool.
    while edge > 0 and (view[edge]["role"], view[edge - 1]["role"]) != (
        "assistant",
        "user",
    ):
        edge -= 1
    return max(0, edge)


def replacements(before: Sequence[Message], after: Sequence[Message]) -> dict[str, str]:
    """Return the content of each result that is not the same object any more, by
    tool_use id."""
    old = msg.results(before)
    new = msg.results(after)
    return {name: r["content"] for name, r in new.items() if r is not old[name]}
