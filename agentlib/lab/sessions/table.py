"""Show a session as a table: a row for each block of its history, and where it is now (lesson 05).

The rows go up to one turn. The state says how that turn's request held each block: whole, cleared,
or only as part of a summary. The session has the contexts as they were sent, so nothing is guessed
from settings.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentlib.auto_compact import summary_text
from agentlib.estimation import message_tokens
from agentlib.messages import Block, Message, blocks, kinds_of, of_type, tool_names
from agentlib.transcripts import Session

WHOLE, CLEARED, SUMMARISED, ANSWER = "in view", "cleared", "summarised", "the answer"
"""How a turn's request holds a block. ANSWER: the block came back as the reply."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One block of the history, or a summary."""

    turn: int
    """The request that it answers. For words and summaries: the first that they go into."""
    who: str
    """person, model, tool, or agent, who put the summary there."""
    kind: str
    tool: str
    """The tool of a call or a result, else empty."""
    tokens: int
    """Estimate of the whole block, cleared or not."""
    state: str
    text: str


def rows(session: Session, turn: int | None = None) -> list[Row]:
    """List everything up to a turn, as that turn's request saw it.

    Turns count from 1, None is the last. Raises ValueError if there is no such turn.

    On paper: a prompt, a call, its result, a compaction that summarises these three, a second
    call, the end. The third request has the summary and the second exchange. So the first three
    rows say "summarised" at turn 3, and "in view" at turn 2.
    """
    turn = len(session.requests) if turn is None else turn
    if not 1 <= turn <= len(session.requests):
        raise ValueError(f"no turn {turn}; the session has turns 1 to {len(session.requests)}")
    request, tools = session.requests[turn - 1], tool_names(session.history)
    view = {_key(m, block): block for m in request.context for block in blocks(m)}
    table = list[Row]()
    for place, message in enumerate(session.history[: request.seen + 1]):
        for number, summary in _summaries(session, place):
            if number <= turn:
                table.append(_row(summary, blocks(summary)[0], number, view, tools))
        before = sum(request.seen <= place for request in session.requests)
        is_words = message["role"] == "user" and not of_type(message, "tool_result")
        held = None if place == request.seen else view
        table += [_row(message, b, before + is_words, held, tools) for b in blocks(message)]
    return table


def _key(message: Message, block: Block) -> object:
    """Recognise a block in another context: a result by its id, a person's words by their text."""
    if message["role"] == "user":
        return block.get("tool_use_id") or block.get("text") or id(block)
    return id(block)


def _summaries(session: Session, place: int) -> Iterator[tuple[int, Message]]:
    """Yield the summaries before this place of the history, each with its turn."""
    for compaction in session.compactions:
        if compaction.message and compaction.seen == place:
            before = sum(request.seen < place for request in session.requests)
            yield before + 1, compaction.message


def _row(
    message: Message,
    block: Block,
    turn: int,
    view: Mapping[object, Block] | None,
    tools: Mapping[str, str],
) -> Row:
    """Make one row. `view`: what the request holds, by key. None: the block is its answer."""
    [(kind, text), *more] = kinds_of({**message, "content": [block]}) or [("tool_result", "")]
    text = summary_text(message) if kind == "summary" else text
    who = {"user": "person", "tool_result": "tool", "summary": "agent", "image": "tool"}
    key, state = _key(message, block), ANSWER
    if view is not None:
        is_whole = key in view and view[key].get("content") == block.get("content")
        state = WHOLE if is_whole else CLEARED if key in view else SUMMARISED
    return Row(
        turn=turn,
        who=who.get(kind, "model"),
        kind=kind,
        tool=block.get("name") or tools.get(block.get("tool_use_id", ""), ""),
        tokens=round(message_tokens({**message, "content": [block]})),
        state=state,
        text="\n".join([text, *(part for _, part in more)]),
    )


def matching(rows: Sequence[Row], *, kind: str = "all", text: str = "") -> list[Row]:
    """Select the rows of one kind whose text, tool or state contains a text, in any case.

    >>> row = Row(turn=1, who="tool", kind="tool_result", tool="bash", tokens=1, state=WHOLE,
    ...           text="Hi")
    >>> len(matching([row], text="hi")), len(matching([row], kind="summary"))
    (1, 0)
    """
    kinds = [row for row in rows if kind in ("all", row.kind)]
    sought = text.casefold()
    return [r for r in kinds if sought in f"{r.text}\n{r.tool}\n{r.state}".casefold()]
