"""The lines of Claude Code's format, as the readers of other formats write them."""

import json
from collections.abc import Iterable
from typing import Any, cast

from agentlib.messages import Block
from agentlib.session.file import COMPACT, Line
from session_report.speakers import said

_COUNTS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


def message(uuid: str, role: str, content: Any, **more: Any) -> Line:
    """Make the line of a message, but for its time. Other agents' token counts are
    exact."""
    body = {"role": role, "content": blocks(content), "exact": True, **more}
    return {"type": role, "uuid": uuid, "message": body}


def told(uuid: str, content: Any, source: Line) -> Line:
    """Make the line of what the model is told. `source` is the line of the other agent,
    which says whether the person said it."""
    return {**message(uuid, "user", content), "isMeta": not said(source)}


def compaction(
    uuid: str, summary: str, kept: Iterable[str], **details: Any
) -> list[Line]:
    """Make the boundary and the summary of a compaction that kept the lines with these
    uuids."""
    details = {**details, "preservedMessages": {"uuids": list(kept)}}
    text = message(
        f"{uuid}/summary", "user", summary or "[a summary that is not in the file]"
    )
    boundary = {
        "type": "system",
        "subtype": COMPACT,
        "uuid": uuid,
        "compactMetadata": details,
    }
    return [boundary, {**text, "isCompactSummary": True}]


def bill(*counts: int | None, hour: int | None = None) -> Block:
    """Make the usage of a response: tokens that are uncached, written, read, and of the
    answer. `hour`: how many of the written ones live an hour."""
    usage: Block = {
        name: max(count or 0, 0) for name, count in zip(_COUNTS, counts, strict=True)
    }
    return (
        {**usage, "cache_creation": {"ephemeral_1h_input_tokens": hour}}
        if hour
        else usage
    )


def has_tokens(usage: Block) -> bool:
    """Return whether a bill counts any token.

    >>> has_tokens(bill(0, 0, 0, 0)), has_tokens(bill(0, 0, 9, 0))
    (False, True)
    """
    return any(usage.get(name) for name in _COUNTS)


def result(name: str, content: Any, *, failed: object = False) -> Block:
    """Make the result of a call from its output."""
    parts = [
        inner for block in blocks(content) for inner in block.get("content") or [block]
    ]
    block = {"type": "tool_result", "tool_use_id": name, "content": parts}
    return {**block, "is_error": True} if failed else block


def blocks(content: Any) -> list[Block]:
    """Return the blocks of a text, of a part, or of a list of them, in any of the
    formats."""
    parts = cast(list[Any], content) if isinstance(content, list) else [content]
    return [block for part in parts for block in _blocks(part)]


def _blocks(part: Any) -> list[Block]:
    match part:
        case {"type": "tool_use" | "tool_result" | "server_tool_use" | "thinking"}:
            return [part]
        case str(text) | {"text": str(text)}:
            return [{"type": "text", "text": text}]
        case (
            {"image_url": source}
            | {"inlineData": source}
            | ({"mimeType": str()} as source)
        ):
            return [{"type": "image", "source": source}]
        case {"functionResponse": {"id": str(name), "response": response}}:
            text = response.get("output") or response.get("error")
            return [
                result(name, text if isinstance(text, str) else json.dumps(response))
            ]
        case {"content": content}:
            return blocks(content)
        case _:
            return []
