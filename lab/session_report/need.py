"""What forgetting costs: replies that quote what their context no longer holds.

A reply that repeats 40 characters or more of something said before needs it. If every
block that said it is gone from the context, the agent would have had to read it again,
or to do without. The log doesn't tell which. So the need is counted, with the tokens of
reading it again. Only verbatim use counts, and the recorded agent still held what it
quoted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentlib.estimation import message_tokens
from agentlib.messages import Block, Message, blocks, is_summary, of_type, result_text
from agentlib.transcripts import Session
from session_report.frames import Frame
from session_report.tools import files_of

Row = dict[str, Any]
QUOTED = 40
"""Characters of a quote, at least. Half of them are no blanks."""
WHATS = {
    "user": "the person's words",
    "assistant": "the model's words",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "calls",
    "tool_result": "results",
    "image": "images",
}
"""What fills a window, by type of block, or by role for a text."""
_PIECE = QUOTED // 2
"""Every quote holds a whole piece of its source, if the source is cut into pieces of
this size."""
_ROOM = 2**40
"""A piece's place is one number: its text's number times this, plus its offset. A large
file has millions of them, and as tuples in lists they take twice the memory."""
_QUOTE_MARK = re.compile("^> ", re.MULTILINE)
"""What stands before each line of a text that was put back."""


@dataclass(frozen=True)
class Quote:
    """A text that a reply repeats."""

    text: str
    source: int
    """id of the newest block that has it."""
    tokens: int
    """Of that block."""
    texts: frozenset[int]
    """Numbers of the different texts that have it."""


@dataclass(frozen=True)
class Need:
    """What one reply quoted and its context did not hold."""

    outputs: int
    """Its texts and calls with such a quote."""
    tokens: int
    """What it would read again: the newest source of each quote."""


def needs(frames: Sequence[Frame]) -> list[Need]:
    """Return for each frame of a replay what its reply needed and its context did not
    hold.

    What was read again stays in the context until a layer changes it, so until then it
    costs nothing more.

    On paper: a file is read, its result is cleared, and an edit names 50 of its
    characters. That request has a need of one output and the tokens of the result.
    """
    again = set[int]()
    counted = list[Need]()
    for frame in frames:
        if frame.compaction or frame.step.cleared:
            again = set[int]()
        lost = lost_quotes(frame.session, frame.turn, frame.context)
        sources = {q.source: q.tokens for quotes in lost for q in quotes}
        tokens = sum(
            tokens for source, tokens in sources.items() if source not in again
        )
        again |= sources.keys()
        counted.append(Need(len(lost), tokens))
    return counted


def lost_quotes(
    session: Session, turn: int, context: Sequence[Message], *, has_all: bool = True
) -> list[list[Quote]]:
    """Return the quotes of each output of a turn that this context doesn't hold, if any
    are.

    Unless it `has_all`, they are looked for only in outputs that may quote what was
    said before a compaction of the recording.
    """
    index, table = _quotes(session, len(session.requests), has_all)
    outputs = table[turn - 1]
    if not outputs:
        return []
    held = set(map(id, context))
    outputs = [
        [q for q in quotes if all(held.isdisjoint(index.holders[n]) for n in q.texts)]
        for quotes in outputs
    ]
    if not any(outputs):
        return []
    # What stands in the context as it was said is known by its messages. The rest may
    # have a part of it: a summary, what is left of a cut result, or what was put back.
    changed = dict(
        each
        for message in context
        if id(message) not in index.messages
        for each in named_blocks(message)
    )
    known = {index.numbers[key] for key in changed.keys() & index.numbers.keys()}
    others = [said(block) for key, block in changed.items() if key not in index.numbers]
    texts = [*others, *(_unquoted(text) for text in others if "\n> " in text)]

    def is_lost(quote: Quote) -> bool:
        is_known = not known.isdisjoint(quote.texts)
        return not is_known and not any(quote.text in text for text in texts)

    lost = ([quote for quote in quotes if is_lost(quote)] for quotes in outputs)
    return [quotes for quotes in lost if quotes]


@lru_cache(maxsize=64)
def _unquoted(text: str) -> str:
    return _QUOTE_MARK.sub("", text)


def named_blocks(message: Message) -> list[tuple[int, Block]]:
    """Return the message's blocks with their ids, or the message's own if its content
    is a text."""
    if isinstance(message["content"], str):
        return [(id(message), block) for block in blocks(message)]
    return [(id(block), block) for block in message["content"]]


def said(block: Block) -> str:
    """Return what a block says, as it would be quoted. Thinking is no source."""
    match block["type"]:
        case "text":
            return block["text"]
        case "tool_use":
            return "\0".join(
                value for value in block["input"].values() if isinstance(value, str)
            )
        case "tool_result":
            return result_text(block)
        case _:
            return ""


# -- the quotes of a session, found once -----------------------------------------------


@lru_cache(maxsize=8)
def _quotes(
    session: Session, requests: int, has_all: bool
) -> tuple["_Index", list[list[list[Quote]]]]:
    """Return the texts of a session, and each reply's quotes by output.

    `requests`: how many there are, because the session may still grow. `has_all`: as
    in `lost_quotes`.
    """
    last = session.requests[requests - 1].seen if requests else 0
    made = [0, *(c.seen for c in session.compactions if c.message)]
    replies = dict[str, tuple[int, int]]()
    for request in session.requests[:requests]:
        seen = request.seen
        old = seen if has_all else max(place for place in made if place <= seen)
        replies |= {said(block): (seen, old) for block in blocks(request.reply) if old}
    index = _Index(session.history[:last], replies)
    seen = 0
    table = list[list[list[Quote]]]()
    for request in session.requests[:requests]:
        for message in session.history[seen : request.seen]:
            index.say(message)
        seen = request.seen
        outputs = (index.quotes(block) for block in blocks(request.reply))
        table.append([quotes for quotes in outputs if quotes])
    return index, table


class _Index:
    """Where each piece of a session's texts stands. A text that comes again is noted
    once.

    All pieces that a reply may have are noted at once, and those of texts that are not
    said yet are left aside. `replies`: the texts of replies, each with the number of
    messages before it, and of those among them that are asked for.
    """

    def __init__(
        self, messages: Sequence[Message], replies: Mapping[str, tuple[int, int]]
    ) -> None:
        self.numbers = dict[int, int]()
        """By the id of a block, the number of its text."""
        self.messages = {id(message) for message in messages}
        """The ids of the messages whose blocks are known."""
        self.holders = list[list[int]]()
        """By the number of a text, the ids of the messages that have it."""
        numbers = dict[str, int]()
        counts = [0]
        for message in messages:
            for key, block in named_blocks(message):
                number = numbers.setdefault(said(block), len(numbers))
                if number == len(self.holders):
                    self.holders.append([])
                self.holders[number].append(id(message))
                self.numbers[key] = number
            counts.append(len(numbers))
        self._texts = [*numbers]
        self._newest = dict[int, tuple[int, int, str, Block]]()
        """By the number of a text that was said: when that was last, and the block,
        with its id and role."""
        before = [(counts[seen], counts[old]) for seen, old in replies.values()]
        pieces, starts = _matches(self._texts, [*replies], before)
        self._starts = {text: starts.get(n, []) for n, text in enumerate(replies)}
        """By a reply's text, where in it a piece may begin."""
        self._pieces = dict[str, list[int]]()
        """By a piece, its places."""
        for number in sorted(pieces):
            for at in pieces[number]:
                piece = self._texts[number][at : at + _PIECE]
                self._pieces.setdefault(piece, []).append(number * _ROOM + at)
        self._end = 0
        """Behind the last place of what was said so far."""
        self._count = 0

    def say(self, message: Message) -> None:
        """Take the blocks of a message as sources from here on."""
        for key, block in named_blocks(message):
            number = self.numbers[key]
            self._count += 1
            self._newest[number] = self._count, key, message["role"], block
            self._end = max(self._end, (number + 1) * _ROOM)

    def _places(self, piece: str) -> Iterator[tuple[int, int]]:
        """Yield the text's number and the offset of each place of a piece, in their
        order."""
        for place in self._pieces.get(piece, ()):
            if place >= self._end:
                return
            yield divmod(place, _ROOM)

    def quotes(self, block: Block) -> list[Quote]:
        """Find what a block repeats, from its beginning on, each time as much as
        possible."""
        text = said(block)
        found = list[Quote]()
        start = 0
        for at in self._starts.get(text, ()):
            places = self._pieces.get(text[at : at + _PIECE], ()) if at >= start else ()
            is_known = places and places[0] < self._end
            span = self._longest(text, start, at) if is_known else None
            if span:
                found.append(self._quote(text[span[0] : span[1]]))
                start = span[1]
        return found

    def _quote(self, quoted: str) -> Quote:
        """Name the texts that have a quote. Each has a whole piece at one of its first
        offsets."""
        numbers = {
            number
            for at in range(_PIECE)
            if quoted[at : at + _PIECE] in self._pieces
            for number, begin in self._places(quoted[at : at + _PIECE])
            if begin >= at and self._texts[number].startswith(quoted, begin - at)
        }
        _, source, role, block = max(self._newest[number] for number in numbers)
        tokens = round(message_tokens({"role": role, "content": [block]}))
        return Quote(quoted, source, tokens, frozenset(numbers))

    def _longest(self, text: str, start: int, at: int) -> tuple[int, int] | None:
        """Return the longest quote around the piece at `at`, not before `start`."""
        best = (0, 0)
        for number, begin in self._places(text[at : at + _PIECE]):
            source = self._texts[number]
            # What reaches further back than a piece was found before. The rest is
            # compared ahead.
            more = best[1] - best[0] - min(at - start, _PIECE)
            if more <= 0 or source.startswith(text[at : at + more + 1], begin):
                best = max(
                    best,
                    _span(text, start, at, source, begin),
                    key=lambda s: s[1] - s[0],
                )
        first, last = best
        is_quote = (
            last - first >= QUOTED and len("".join(text[first:last].split())) >= _PIECE
        )
        return best if is_quote else None


def _matches(
    sources: Sequence[str], texts: Sequence[str], before: Sequence[tuple[int, int]]
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return which pieces of sources may stand in a text, and where, as `shingles`
    does. Without numpy, as in a web page, it is all of them.

    A quote goes on for half a piece before or behind a piece of it. So what is looked
    up is half as long again, and begins at a piece or in the middle of the one before.
    """
    half = _PIECE // 2
    try:
        from session_report.shingles import matches
    except ImportError:
        steps = ((sources, _PIECE), (texts, 1))
        pieces, windows = (
            {n: [*range(0, len(t) - _PIECE + 1, step)] for n, t in enumerate(each)}
            for each, step in steps
        )
        return pieces, windows
    found, places = matches(sources, texts, before, _PIECE + half, half)
    return (
        {n: sorted({at + at % _PIECE for at in each}) for n, each in found.items()},
        {n: sorted({*each, *(at + half for at in each)}) for n, each in places.items()},
    )


def _span(text: str, start: int, at: int, source: str, begin: int) -> tuple[int, int]:
    """Extend a piece that stands at `at` in a text and at `begin` in a source, both
    ways."""
    back = 0
    most = min(at - start, begin)
    while back < most and text[at - back - 1] == source[begin - back - 1]:
        back += 1
    return at - back, at + _common(text[at:], source[begin : begin + len(text) - at])


def _common(one: str, other: str) -> int:
    """Return how many characters at the beginning are the same."""
    low = 0
    high = min(len(one), len(other)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if one[low:middle] == other[low:middle] else (low, middle)
        )
    return low


def calls_of(session: Session) -> dict[str, Block]:
    """Return each call by its id."""
    return {
        c["id"]: c for message in session.history for c in of_type(message, "tool_use")
    }


def what_of(block: Block, message: Message, calls: dict[str, Block]) -> Row:
    """Say what a block is, with its tool."""
    call = _call_of(block, calls)
    kind = message["role"] if block["type"] == "text" else block["type"]
    what = "summaries" if is_summary(block) else WHATS.get(kind, "other")
    return {"what": what, "tool": call["name"] if call else ""}


def file_of(block: Block, calls: dict[str, Block]) -> str:
    """Name the file of a call or a result, "" if it has none."""
    call = _call_of(block, calls)
    return next(iter(files_of(call)), "") if call else ""


def _call_of(block: Block, calls: dict[str, Block]) -> Block | None:
    return block if "input" in block else calls.get(block.get("tool_use_id", ""))
