"""Scenes: what stands in the window at each request, and what a layer has just taken from it.

Every block is a tile with the tokens it has and the tokens it lost before this request; a
compaction's messages are wholly lost, for one scene. Not here: the picture (map_over_time), what
the prompt cache held (bills).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any

from agentlib.estimation import message_tokens
from agentlib.lab.figures.window_map import Tile
from agentlib.lab.replay import Frame, bills
from agentlib.messages import Message, blocks, is_summary, kinds_of
from agentlib.transcripts import Session

_THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One request: its tiles, how much of it the cache had, and what the layers did for it."""

    frame: Frame
    tiles: tuple[Tile, ...]
    usage: Any
    replaced: int = 0
    """Messages that a compaction put a summary in place of."""
    summary: float = 0.0
    """Tokens of that summary."""

    @property
    def cached(self) -> int:
        """How many of the tiles, from the first, the cache had; a change ends what it has."""
        read = self.usage.get("cache_read_input_tokens") or 0
        whole = list(takewhile(lambda tile: not tile.gone, self.tiles))
        sums = accumulate(tile.tokens for tile in whole)
        return sum(total <= read * 1.02 for total in sums) if read else 0


def scenes(session: Session, frames: Sequence[Frame]) -> list[Scene]:
    """A scene for each frame of a replay of `session`."""
    found: list[Scene] = []
    before, seen = list[Message](), 0
    bill = bills.bills(session, frames)
    for frame, sent, billed in zip(frames, session.requests, bill, strict=True):
        asked = [*before, *session.history[seen : sent.seen]]
        found.append(_scene(frame, asked, billed.usage))
        before, seen = frame.context, sent.seen
    return found


def _scene(frame: Frame, asked: Sequence[Message], usage: Any) -> Scene:
    pairs = list(_paired(frame, asked))
    parts = [part for was, now in pairs for part in _parts(was, now)]
    base = [Tile(kind, frame.kinds[kind]) for kind in ("system", "tools") if frame.kinds[kind]]
    rest = frame.prompt_tokens - sum(tile.tokens for tile in base)
    scale = rest / (sum(part.tokens for part in parts) or 1)
    tiles = [Tile(part.kind, part.tokens * scale, part.gone * scale) for part in parts]
    made = [now for was, now in pairs if was is None and now]
    known = {"replaced": sum(now is None for _, now in pairs)}
    size = scale * sum(map(message_tokens, made))
    return Scene(frame=frame, tiles=(*base, *tiles), usage=usage, summary=size, **known)


def _paired(
    frame: Frame, asked: Sequence[Message]
) -> Iterator[tuple[Message | None, Message | None]]:
    """Each message that there was with what became of it; a summary has none before it."""
    now = frame.context
    if len(now) == len(asked) and not frame.step.kept:
        yield from zip(asked, now, strict=True)
        return
    at = next((i for i, m in enumerate(now) if any(map(is_summary, blocks(m)))), 0)
    head, tail = now[:at], now[at + 1 :]
    yield from zip(asked, head, strict=False)
    for message in asked[len(head) : len(asked) - len(tail)]:
        yield message, None
    yield None, now[at]
    yield from zip(asked[len(asked) - len(tail) :], tail, strict=True)


def _parts(was: Message | None, now: Message | None) -> Iterator[Tile]:
    """The blocks of a message, each with what it lost; thinking that went is wholly lost."""
    left = list(_blocks(now))
    for block, size in _blocks(was) if was else []:
        alike = bool(left) and left[0][0]["type"] == block["type"]
        if now is not None and alike:
            found, weight = left.pop(0)
            yield Tile(_kind(now, found), weight, max(0.0, size - weight))
        elif now is None or block["type"] in _THINKING:
            yield Tile(_kind(was or {}, block), 0.0, size)
    for block, size in left:
        yield Tile(_kind(now or {}, block), size)


def _blocks(message: Message | None) -> list[tuple[Any, float]]:
    if message is None:
        return []
    return [(b, message_tokens({**message, "content": [b]})) for b in blocks(message)]


def _kind(message: Message, block: Any) -> str:
    return next(iter(kinds_of({**message, "content": [block]})))[0]
