"""Show what is in the window at each request of a replay, and what a layer has just taken from it.

Every block is a tile with its tokens and the tokens it lost before this request. The messages that
a compaction replaced are in one scene, wholly lost.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from agentlib.estimation import message_tokens
from agentlib.lab.figures.window_map import Tile
from agentlib.lab.replay import Frame
from agentlib.lab.replay.bills import bills
from agentlib.lab.spending import Usage
from agentlib.messages import THINKING, Block, Message, blocks, is_summary, kinds_of
from agentlib.transcripts import Session


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One request: its tiles, its bill, and the work of the layers."""

    frame: Frame
    tiles: tuple[Tile, ...]
    usage: Usage
    replaced: int = 0
    """Messages that a compaction put a summary in place of."""
    summary: float = 0.0
    """Tokens of that summary."""

    @property
    def cached(self) -> int:
        """Number of leading tiles that were read from the prompt cache."""
        read = self.usage.get("cache_read_input_tokens") or 0
        unchanged = takewhile(lambda tile: not tile.gone, self.tiles)
        sums = accumulate(tile.tokens for tile in unchanged)
        return sum(total <= read * 1.02 for total in sums) if read else 0


def scenes(session: Session, frames: Sequence[Frame]) -> list[Scene]:
    """Return a scene for each frame of a replay of `session`."""
    billed = bills(session, frames)
    return [_scene(frame, bill.usage) for frame, bill in zip(frames, billed, strict=True)]


def _scene(frame: Frame, usage: Usage) -> Scene:
    pairs = list(_paired(frame))
    parts = [part for old, new in pairs for part in _parts(old, new)]
    base = [Tile(kind, frame.kinds[kind]) for kind in ("system", "tools") if frame.kinds[kind]]
    rest = frame.prompt_tokens - sum(tile.tokens for tile in base)
    scale = rest / (sum(part.tokens for part in parts) or 1)
    tiles = [Tile(part.kind, part.tokens * scale, part.gone * scale) for part in parts]
    return Scene(
        frame=frame,
        tiles=(*base, *tiles),
        usage=usage,
        replaced=sum(new is None for _, new in pairs),
        summary=scale * sum(message_tokens(new) for old, new in pairs if old is None and new),
    )


def _paired(frame: Frame) -> Iterator[tuple[Message | None, Message | None]]:
    """Yield each message before the layers and after them; a summary has none before."""
    messages, context = frame.before, frame.context
    if len(context) == len(messages) and not frame.step.kept:
        yield from zip(messages, context, strict=True)
        return
    at = next((i for i, m in enumerate(context) if any(map(is_summary, blocks(m)))), 0)
    tail = len(messages) - len(context[at + 1 :])
    yield from zip(messages, context[:at], strict=False)
    for message in messages[at:tail]:
        yield message, None
    yield None, context[at]
    yield from zip(messages[tail:], context[at + 1 :], strict=True)


def _parts(old: Message | None, new: Message | None) -> Iterator[Tile]:
    """Yield the blocks of a message, each with what it lost. Dropped thinking is wholly lost."""
    kept = _blocks(new)
    for block, kind, size in _blocks(old):
        if new is not None and kept and kept[0][0]["type"] == block["type"]:
            _, kind, weight = kept.pop(0)
            yield Tile(kind, weight, max(0.0, size - weight))
        elif new is None or block["type"] in THINKING:
            yield Tile(kind, 0.0, size)
    for _, kind, size in kept:
        yield Tile(kind, size)


def _blocks(message: Message | None) -> list[tuple[Block, str, float]]:
    """List a message's blocks with their kinds and tokens."""
    single = [{**message, "content": [block]} for block in blocks(message)] if message else []
    return [(m["content"][0], kinds_of(m)[0][0], message_tokens(m)) for m in single]
