"""What forgetting costs: replies that quote what their context no longer holds.

A reply that repeats 40 characters or more of something said before needs it. If every block that
said it is gone from the context, the agent would have had to read it again, or to do without. The
log doesn't tell which. So the need is counted, with the tokens of reading it again. Only verbatim
use counts, and the recorded agent still held what it quoted.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from agentlib.estimation import message_tokens
from agentlib.lab.replay.frames import Frame
from agentlib.messages import Block, Message, blocks, result_text
from agentlib.transcripts import Session

QUOTED = 40
"""Characters of a quote, at least. Half of them are no blanks."""
_PIECE = QUOTED // 2
"""Every quote holds a whole piece of its source, if the source is cut into pieces of this size."""
_PLACES = 8
"""How many of the newest places of a piece are looked at, because some lines stand everywhere."""


@dataclass(frozen=True)
class Quote:
    """A text that a reply repeats."""

    text: str
    sources: tuple[int, ...]
    """ids of the blocks that have it, the newest first."""
    tokens: int
    """Of the newest of them."""


@dataclass(frozen=True)
class Need:
    """What one reply quoted and its context did not hold."""

    outputs: int
    """Its texts and calls with such a quote."""
    tokens: int
    """What it would read again: the newest source of each quote."""


def needs(frames: Sequence[Frame]) -> list[Need]:
    """Return for each frame of a replay what its reply needed and its context did not hold.

    What was read again stays in the context until a layer changes it, so until then it costs
    nothing more.

    On paper: a file is read, its result is cleared, and an edit names 50 of its characters. That
    request has a need of one output and the tokens of the result.
    """
    again, counted = set[int](), list[Need]()
    for frame in frames:
        if frame.compaction or frame.step.replaced:
            again = set[int]()
        lost = lost_quotes(frame.session, frame.turn, frame.context)
        sources = {q.sources[0]: q.tokens for quotes in lost for q in quotes}
        tokens = sum(tokens for source, tokens in sources.items() if source not in again)
        again |= sources.keys()
        counted.append(Need(len(lost), tokens))
    return counted


def lost_quotes(session: Session, turn: int, context: Sequence[Message]) -> list[list[Quote]]:
    """Return the quotes of each output of a turn that this context doesn't hold, if any are."""
    sources, table = _quotes(session, len(session.requests))
    outputs = table[turn - 1]
    if not outputs:
        return []
    held = dict(each for message in context for each in named_blocks(message))
    # A summary, or what is left of a cut result, may have the text too.
    texts = [said(block) for key, block in held.items() if key not in sources]

    def is_lost(quote: Quote) -> bool:
        return held.keys().isdisjoint(quote.sources) and not any(quote.text in t for t in texts)

    lost = ([quote for quote in quotes if is_lost(quote)] for quotes in outputs)
    return [quotes for quotes in lost if quotes]


def named_blocks(message: Message) -> list[tuple[int, Block]]:
    """Return the message's blocks with their ids, or the message's own if its content is a text."""
    if isinstance(message["content"], str):
        return [(id(message), block) for block in blocks(message)]
    return [(id(block), block) for block in message["content"]]


def said(block: Block) -> str:
    """Return what a block says, as it would be quoted. Thinking is nobody's source."""
    match block["type"]:
        case "text":
            return block["text"]
        case "tool_use":
            return "\0".join(value for value in block["input"].values() if isinstance(value, str))
        case "tool_result":
            return result_text(block)
        case _:
            return ""


# -- the quotes of a session, found once ----------------------------------------------------------


@lru_cache(maxsize=8)
def _quotes(session: Session, requests: int) -> tuple[Set[int], list[list[list[Quote]]]]:
    """Return the ids of the history's blocks, and the quotes of each reply by its outputs.

    `requests`: how many there are, because the session may still grow.
    """
    index, seen, table = _Index(), 0, list[list[list[Quote]]]()
    for request in session.requests[:requests]:
        for message in session.history[seen : request.seen]:
            index.add(message)
        seen = request.seen
        outputs = (index.quotes(block) for block in blocks(request.reply))
        table.append([quotes for quotes in outputs if quotes])
    return index.sources.keys(), table


class _Index:
    """Where each piece of the texts so far stands."""

    def __init__(self) -> None:
        self.sources: dict[int, tuple[str, int, int]] = {}  # block id -> text, tokens, number
        self._places: dict[str, list[tuple[int, int]]] = {}  # piece -> (block id, offset)

    def add(self, message: Message) -> None:
        """Take the blocks of a message as sources."""
        for key, block in named_blocks(message):
            text = said(block)
            alone: Message = {"role": message["role"], "content": [block]}
            self.sources[key] = text, round(message_tokens(alone)), len(self.sources)
            for at in range(0, len(text) - _PIECE + 1, _PIECE):
                self._places.setdefault(text[at : at + _PIECE], []).append((key, at))

    def quotes(self, block: Block) -> list[Quote]:
        """Find what a block repeats, from its beginning on, each time as much as possible."""
        text = said(block)
        found, start, at = list[Quote](), 0, 0
        while at <= len(text) - _PIECE:
            span = self._longest(text, start, at)
            if span is None:
                at += 1
                continue
            quoted = text[span[0] : span[1]]
            sources = self._holding(quoted)
            found.append(Quote(quoted, tuple(sources), self.sources[sources[0]][1]))
            start = at = span[1]
        return found

    def _holding(self, quoted: str) -> list[int]:
        """Return the ids of the blocks that have a quote, the newest first."""
        pieces = {quoted[at : at + _PIECE] for at in range(len(quoted) - _PIECE + 1)}
        near = {key for piece in pieces for key, _ in self._places.get(piece, ())}
        holding = [key for key in near if quoted in self.sources[key][0]]
        return sorted(holding, key=lambda key: self.sources[key][2], reverse=True)

    def _longest(self, text: str, start: int, at: int) -> tuple[int, int] | None:
        """Return the longest quote around the piece at `at`, not before `start`."""
        places = self._places.get(text[at : at + _PIECE], ())[-_PLACES:]
        spans = (_span(text, start, at, self.sources[key][0], begin) for key, begin in places)
        first, last = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
        is_quote = last - first >= QUOTED and len("".join(text[first:last].split())) >= _PIECE
        return (first, last) if is_quote else None


def _span(text: str, start: int, at: int, source: str, begin: int) -> tuple[int, int]:
    """Extend a piece that stands at `at` in a text and at `begin` in a source, both ways."""
    back = _common(text[start:at][::-1], source[max(0, begin - (at - start)) : begin][::-1])
    return at - back, at + _common(text[at:], source[begin:])


def _common(one: str, other: str) -> int:
    """Return how many characters at the beginning are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
