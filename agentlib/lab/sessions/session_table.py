"""A session as a table: a row for each block of its history, with what became of it (lesson 05).

The rows are what was said up to a turn; the state tells how that turn's request saw each: whole,
cleared, or behind a summary. Nothing is guessed from settings: the session has the contexts as
they were sent. Not here: the panel around it (session_browser).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from agentlib.estimation import message_tokens
from agentlib.messages import Block, Message, blocks, kinds_of, tool_names
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

WHOLE, CLEARED, SUMMARISED, ANSWER = "in view", "cleared", "summarised", "the answer"
"""What a turn's request has of a block; the last: it is what came back."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One block of the history, or a summary."""

    turn: int
    """The request that it answers, or, of words and summaries, the one that it goes into first."""
    who: str
    """person, model, tool or agent (who put the summary there)."""
    kind: str
    tool: str
    """Of a call or its result: which tool; "" elsewhere."""
    tokens: int
    """As it was said, estimated; cleared or not."""
    state: str
    text: str


@dataclass(frozen=True)
class _Context:
    """What one request has: blocks and messages as objects, results by id, the person's words."""

    objects: frozenset[int]
    results: dict[str, object]
    words: frozenset[str]

    @classmethod
    def of(cls, context: Sequence[Message]) -> "_Context":
        found = [block for message in context for block in blocks(message)]
        results: dict[str, object] = {
            b["tool_use_id"]: b.get("content") for b in found if b["type"] == "tool_result"
        }
        words = {
            b["text"] for m in context if m["role"] == "user" for b in blocks(m) if "text" in b
        }
        return cls(frozenset(map(id, [*context, *found])), results, frozenset(words))

    def state(self, message: Message, block: Block) -> str:
        if block["type"] == "tool_result":
            if (name := block["tool_use_id"]) not in self.results:
                return SUMMARISED
            return WHOLE if self.results[name] == block.get("content") else CLEARED
        kept = message["role"] == "user" and block.get("text") in self.words
        there = kept or id(message) in self.objects or id(block) in self.objects
        return WHOLE if there else SUMMARISED


def rows(session: Session, turn: int | None = None) -> list[Row]:
    """Everything up to a turn (from 1; None: the last), as that turn's request saw it.

    A prompt, a call, its result, a compaction that summarises these three, a second call, the end:
    the third request has the summary and the second exchange; the first three rows say
    "summarised" at turn 3, and "in view" at turn 2. Raises ValueError for a turn that is not there.
    """
    turn = len(session.requests) if turn is None else turn
    if not 1 <= turn <= len(session.requests):
        raise ValueError(f"no turn {turn}; the session has turns 1 to {len(session.requests)}")
    request = session.requests[turn - 1]
    context, names = _Context.of(request.context), tool_names(session.history)
    found: list[Row] = []
    for at, message in enumerate(session.history[: request.seen + 1]):
        found += _summaries(session, at, turn, context)
        number = _turn(session, at, message)
        for block in blocks(message):
            state = ANSWER if at == request.seen else context.state(message, block)
            found += [_row(message, block, number, state, names)]
    return found


def table(session: Session, turn: int | None = None) -> "DataFrame":
    """`rows` as a DataFrame with the columns of `Row`."""
    import pandas

    return pandas.DataFrame([asdict(row) for row in rows(session, turn)])


def _turn(session: Session, at: int, message: Message) -> int:
    """The turn of the message at this place of the history."""
    before = sum(request.seen <= at for request in session.requests)
    words = message["role"] == "user" and all(b["type"] != "tool_result" for b in blocks(message))
    return before + words


def _summaries(session: Session, at: int, turn: int, context: _Context) -> Iterator[Row]:
    """The summaries that stand before this place of the history, made by this turn."""
    for compaction in session.compactions:
        number = sum(request.seen < compaction.seen for request in session.requests) + 1
        if compaction.message and compaction.seen == at and number <= turn:
            message = compaction.message
            block = blocks(message)[0]
            state = WHOLE if id(message) in context.objects else SUMMARISED
            yield _row(message, block, number, state, {})


def _row(message: Message, block: Block, turn: int, state: str, names: dict[str, str]) -> Row:
    [(kind, text), *more] = kinds_of({**message, "content": [block]}) or [("tool_result", "")]
    who = {"user": "person", "tool_result": "tool", "summary": "agent", "image": "tool"}
    tool = block.get("name") or names.get(block.get("tool_use_id", ""), "")
    return Row(
        turn=turn,
        who=who.get(kind, "model"),
        kind=kind,
        tool=tool,
        tokens=round(message_tokens({**message, "content": [block]})),
        state=state,
        text="\n".join([text, *(part for _, part in more)]),
    )


def matching(found: Sequence[Row], *, kind: str = "all", text: str = "") -> list[Row]:
    """The rows of one kind whose text, tool or state has these words, large letters or small.

    >>> known = {"turn": 1, "who": "tool", "tool": "bash", "tokens": 1, "state": "in view"}
    >>> row = Row(kind="tool_result", text="Hi", **known)
    >>> len(matching([row], text="hi")), len(matching([row], kind="summary"))
    (1, 0)
    """
    words = text.casefold()
    return [
        row
        for row in found
        if kind in ("all", row.kind) and words in f"{row.text}\n{row.tool}\n{row.state}".casefold()
    ]
