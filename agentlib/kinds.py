"""What a message is made of: its blocks as (kind, text), one list for charts and estimates.

Not here: what any of it weighs (estimation).
"""

from agentlib.messages import Block, Message, blocks, is_summary

PLACEHOLDER = "[Previous: used "
"""How the content of a cleared result begins (micro_compact)."""

KINDS: tuple[str, ...] = (
    "system",
    "tools",
    "user",
    "assistant",
    "thinking",
    "tool_use",
    "tool_result",
    "image",
    "placeholder",
    "summary",
)
"""What a request is made of: the kinds of block, in the order the charts stack them."""


def parts_of(block: Block) -> list[tuple[str, str]]:
    """A block as (kind, text); an image's text is empty, a list result has several parts.

    What the API knows beside these counts whole: a document, a server tool's result.
    """
    kind = block["type"]
    if kind == "text":
        return [("assistant", block["text"])]
    if kind in ("tool_use", "server_tool_use"):
        # str() is within a few characters of JSON and three times quicker; the length matters.
        return [("tool_use", str(block["input"]))]
    if kind == "tool_result":
        return _result_parts(block.get("content") or "")
    if kind in ("thinking", "redacted_thinking"):
        return [("thinking", block.get("thinking") or block.get("data") or "")]
    return _result_part(block)


def _result_parts(content: str | list[Block]) -> list[tuple[str, str]]:
    if isinstance(content, str):
        return [("placeholder" if content.startswith(PLACEHOLDER) else "tool_result", content)]
    return [part for block in content for part in _result_part(block)]


def _result_part(block: Block) -> list[tuple[str, str]]:
    if block["type"] == "text":
        return _result_parts(block["text"])
    return [("image", "")] if block["type"] == "image" else [("tool_result", str(block))]


def kinds_of(message: Message) -> list[tuple[str, str]]:
    """Everything in a message as (kind, text), with the person's words and summaries told apart."""
    found: list[tuple[str, str]] = []
    for block in blocks(message):
        if block["type"] == "text" and message["role"] == "user":
            found.append(("summary" if is_summary(block) else "user", block["text"]))
        else:
            found += parts_of(block)
    return found
