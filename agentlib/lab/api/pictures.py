"""Which pictures the API refuses: too many bytes, too many pixels, or no picture at all.

Reads the size from the first bytes of a PNG, GIF or JPEG and decodes nothing. A WebP is only
recognised: its size is not read, so it is never too large here.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from agentlib.messages import Block, Message, blocks

MAX_BASE64 = 5 * 1024 * 1024
MANY, MANY_SIDE, SIDE = 20, 2_000, 8_000
"""With more than 20 pictures in a request, a side may have 2,000 pixels, else 8,000."""


def broken_picture(messages: Sequence[Message]) -> str | None:
    """What the API says to the first picture it would not take, or None."""
    found = [
        spot
        for i, message in enumerate(messages)
        for spot in _pictures(f"messages.{i}.content", blocks(message))
    ]
    many = len(found) > MANY
    problems = (_problem(path, source, many) for path, source in found)
    return next(filter(None, problems), None)


def _pictures(path: str, content: Sequence[Block]) -> Iterator[tuple[str, Any]]:
    for j, block in enumerate(content):
        inside: str | list[Block] = block.get("content") or ""
        if block["type"] == "image" and block["source"].get("type") == "base64":
            yield f"{path}.{j}.image.source.base64", block["source"].get("data", "")
        elif block["type"] == "tool_result" and not isinstance(inside, str):
            yield from _pictures(f"{path}.{j}.tool_result.content", inside)


def _problem(path: str, data: Any, many: bool) -> str | None:
    if not isinstance(data, str):
        return f"{path}.data: Input should be a valid string"
    if len(data) > MAX_BASE64:
        return f"{path}: image exceeds 5 MB maximum: {len(data)} bytes > {MAX_BASE64} bytes"
    size = picture_size(data)
    if size is None:
        return "Could not process image"
    largest = MANY_SIDE if many else SIDE
    if max(size) > largest:
        some = " for many-image requests" if many else ""
        return (
            f"{path}.data: At least one of the image dimensions exceed max allowed size{some}: "
            f"{largest} pixels"
        )
    return None


def picture_size(data: str) -> tuple[int, int] | None:
    """Width and height of a base64 picture in pixels; None where it is none that we know.

    >>> gif = b"GIF89a" + (640).to_bytes(2, "little") + (480).to_bytes(2, "little")
    >>> picture_size(base64.b64encode(gif).decode())
    (640, 480)
    """
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        return None
    if raw[:8] == b"\x89PNG\r\n\x1a\n" and len(raw) >= 24:
        return int.from_bytes(raw[16:20]), int.from_bytes(raw[20:24])
    if raw[:6] in (b"GIF87a", b"GIF89a") and len(raw) >= 10:
        return int.from_bytes(raw[6:8], "little"), int.from_bytes(raw[8:10], "little")
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return 0, 0
    return _jpeg_size(raw) if raw[:2] == b"\xff\xd8" else None


def _jpeg_size(raw: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(raw) and raw[at] == 0xFF:
        if raw[at + 1] in (0xC0, 0xC1, 0xC2):
            return int.from_bytes(raw[at + 7 : at + 9]), int.from_bytes(raw[at + 5 : at + 7])
        at += 2 + int.from_bytes(raw[at + 2 : at + 4])
    return None
