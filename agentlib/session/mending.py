"""A damaged session file, repaired so far that no request breaks a rule of the API.

A line that is incomplete, doubled or lacks its call is left out, a lost result counts
as interrupted, and `MISSING` stands for a lost message. A line that was changed since
it was written is taken as it stands. The file itself stays as it is.
"""

import math
from collections.abc import Iterable, Iterator

from agentlib.api.replies import counts, is_content
from agentlib.messages import THINKING, Block, Message, blocks, interrupted, of_type
from agentlib.session import file
from agentlib.session.extras import Folded
from agentlib.session.file import Line
from agentlib.step import in_place_of

MISSING = "[a message that is not in the file]"
OWN = {"text", "tool_use", *THINKING}
"""The kinds of block that a reply can have."""
BROKEN = (ValueError, AttributeError, KeyError, TypeError, RecursionError)
"""What folding a line that lacks something may raise."""


def fold_mended(session: Folded, parts: Iterable[tuple[int, Line | str]]) -> None:
    """Fold the lines that `file.numbered` yields, and mend what is broken.

    `session.skipped` gets the texts that are no JSON objects, `session.damage` what was
    mended or left out, with numbers of lines.
    """
    seen = set[str]()
    is_whole = True
    for number, line in parts:
        try:
            if isinstance(line, str):
                session.skipped.append(line)
                raise ValueError("it is no JSON object")
            gaps = list(_close_gap(session, line, seen))
            session.damage += [f"line {number}: {gap}" for gap in gaps]
            is_whole = is_whole and not gaps
            session.fold(line)
        except BROKEN as error:
            session.damage.append(f"line {number} is left out: {error!r:.200}")
    if not is_whole:  # thinking is bound to everything before it
        session.context = in_place_of(None, session.context)
        session.changed = True


def _close_gap(session: Folded, line: Line, seen: set[str]) -> Iterator[str]:
    """Put what is missing before a line into the session, and yield what that is.

    `seen`: the uuids of earlier lines. Raises ValueError if the line itself can't be
    taken in.
    """
    kind = line.get("subtype") or line.get("type")
    uuid = ""
    message = Message(content="none")
    if kind in ("user", "assistant"):
        uuid = line["uuid"]
        message = line["message"]
        file.seconds(line["timestamp"])  # raises if it is none
    answered = [result["tool_use_id"] for result in of_type(message, "tool_result")]
    names = [uuid, *(call["id"] for call in of_type(message, "tool_use"))]
    everything = [*answered, *names]
    is_new = seen.isdisjoint(names) and len(set(everything)) == len(everything)
    is_answer = set(answered) <= set(session.pending)
    if not (is_new and is_answer and _is_sound(line, kind, message)):
        raise ValueError(
            "it is there twice, or its call or a part of it is missing or wrong"
        )
    seen |= {*names} - {""}
    if line.get(file.SUM, 0) is None:
        yield "it was changed since it was written, and is taken as it stands"
    parent = session.parent
    if (line.get("logicalParentUuid") or line.get("parentUuid", parent)) != parent:
        yield "a line before it is missing"
    if answered or kind not in ("user", "assistant", file.MICRO, file.COMPACT):
        return
    for name in session.pending:
        yield f"the call {name} has no result before it and counts as interrupted"
        _fold_made(session, f"{uuid}/{name}", interrupted(name))
    follows = [message["role"] for message in session.context[-1:]]
    if kind == "assistant" and follows != ["user"]:
        yield "the message before it is missing"
        _fold_made(session, f"{uuid}/before", {"role": "user", "content": MISSING})


def _fold_made(session: Folded, uuid: str, message: Message) -> None:
    """Fold a message that no line holds, so that the next line has the same parent."""
    parent = session.parent
    session.fold({"type": "user", "uuid": uuid, "message": message})
    session.parent = parent


def _is_sound(line: Line, kind: str | None, message: Message) -> bool:
    """Return whether a line's values have the right types, and its blocks the right
    place."""
    details: Block = (
        line.get("compactMetadata") or line.get("microcompactMetadata") or {}
    )
    amounts = [
        each.get(name, 0)
        for each in (line, details)
        for name in ("settled", "preTokens", "postTokens")
    ]
    texts = (details.get("replacements") or Block()).values()
    usage = message.get("usage") or Block()
    return (
        all(type(amount) is int for amount in amounts)
        and all(isinstance(text, str) for text in texts)
        # A count that is too large to be one is left out of the bill, not its reply.
        and counts(usage, math.inf) == usage
        and _is_placed(line, kind, {block["type"] for block in blocks(message)})
        and is_content(message["content"])
    )


def _is_placed(line: Line, kind: str | None, kinds: set[str]) -> bool:
    """Return whether blocks of these kinds can stand in such a line."""
    if kind == "assistant":
        return kinds <= OWN
    if line.get("isCompactSummary"):
        return kinds == {"text"}
    return kinds in ({"text"}, {"tool_result"})
