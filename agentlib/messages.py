"""Messages as plain JSON dicts in the wire's shape, and every question the layers ask
of them.

A message is `{"role": "user" | "assistant", "content": str | list of blocks}`. A block
is a dict with a `type`: text, thinking, tool_use, tool_result, image. No function edits
a message. One that changes a message returns a new list, which shares every message it
did not touch.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, cast

Block = dict[str, Any]
Message = dict[str, Any]

# -- marks in texts: each is written by one layer and recognised by others -------------

SUMMARY_WANTED = "Summarize this conversation for continuity."
"""Opens a request for a summary."""
STAY = " and the newest {:,} messages, which stay"
"""Says in such a request what the summary doesn't replace."""
SUMMARY_HEADER = "[Conversation compressed. Transcript: "
"""Opens the summary that a compaction leaves. The archive's name and `]` end its first
line."""
SUMMARY_END = "[End of summary]"
PUT_BACK = "[Put back: "
"""Opens a text that was put back beside a summary, such as a file."""
PINNED = "[Pinned, in the user's own words]"
"""The first line of a text with lines that stay word for word beside every summary."""
CUT_OFF = "[Continue: the reply above was cut off"
"""Opens the words by which the program lets a cut reply go on. They are no request."""
SAID = (
    "[Said earlier, word for word. The summary says what of it is done; do nothing "
    "twice.]"
)
"""The first line of a text with what the person has said and a compaction took away."""
SAID_LINE = "[said] "
"""Opens each text of the person's in it."""
SAID_END = "[End of what was said earlier]"
NOT_SAID = "[... {:,} more don't fit ...]"
"""Stands there in place of texts that there was no room for."""
ANSWERED = "[The user's words above this summary have been answered.]"
"""Stands beside a summary if the answer to the words that stay above it is gone."""
ON_THE_WAY = "[On the way] "
"""Opens what a program added during the work, such as a screenshot. It is no request."""
LEFT_OUT = "[Left out, to fit: "
"""Opens the note in place of what a request for a summary has no room for."""
_MARKS = (SAID, PINNED, CUT_OFF, ANSWERED, LEFT_OUT, ON_THE_WAY)
"""They open texts of the program that stand in a message of the user by themselves."""
_NOT_SAID = re.compile(re.escape(NOT_SAID).replace(re.escape("{:,}"), r"([\d,]+)"))
PLACEHOLDER = "[Previous: used "
"""Opens the content of a cleared result."""
EMPTY_REPLY = "(empty reply)"
"""Stands in place of a reply without any text or call."""
INTERRUPTED = "interrupted; check before repeating"
"""The result of a call that a crash or Ctrl-C cut short."""
TRUNCATED = "... [truncated]"
"""Ends a truncated result."""
TRIMMED = "[... {} characters trimmed ...]"
"""Stands in the middle of a trimmed result."""

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
"""The kinds of block in a request, in the order in which the charts stack them."""
THINKING = ("thinking", "redacted_thinking")
HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which UTF-8 can't hold."""


def whole(content: Any) -> Any:
    """Put U+FFFD in place of half surrogate pairs, which no request can hold.

    Python gets such texts from programs that cut them in the middle of a character.

    >>> ascii(whole("smile \\ud83d"))
    "'smile \\\\ufffd'"
    """
    if _is_whole(content):
        return content
    return json.loads(HALF.sub("\ufffd", json.dumps(content, ensure_ascii=False)))


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() or not HALF.search(value)
    if isinstance(value, dict):
        parts = cast(Block, value)
        return all(map(_is_whole, parts)) and all(map(_is_whole, parts.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_whole, cast(Sequence[Any], value)))
    return True


def blocks(message: Message) -> list[Block]:
    """Return the content as blocks. A plain string is one text block.

    >>> blocks({"role": "user", "content": "hi"})
    [{'type': 'text', 'text': 'hi'}]
    """
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def of_type(message: Message, kind: str) -> list[Block]:
    """Return the message's blocks of one type, in order."""
    return [block for block in blocks(message) if block["type"] == kind]


def tool_names(messages: Sequence[Message]) -> dict[str, str]:
    """Map each tool_use id to the name of the tool.

    >>> call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
    >>> tool_names([{"role": "assistant", "content": [call]}])
    {'toolu_1': 'bash'}
    """
    return {
        call["id"]: call["name"] for m in messages for call in of_type(m, "tool_use")
    }


def result_text(result: Block) -> str:
    """Return the text of a tool_result, whether its content is a string or a list of
    blocks.

    >>> result_text({"type": "tool_result", "content": [{"type": "text", "text": "ok"}]})
    'ok'
    """
    parts = blocks({"content": result.get("content") or ""})
    return "\n".join(
        p["text"] if p["type"] == "text" else f"[{p['type']}]" for p in parts
    )


def results(messages: Iterable[Message]) -> dict[str, Block]:
    """Map each tool_use id to its tool_result."""
    return {r["tool_use_id"]: r for m in messages for r in of_type(m, "tool_result")}


def tool_result(name: str, text: str, *, wrong: bool = False) -> Block:
    """Make the tool_result that answers the tool_use with the id `name`.

    >>> tool_result("t1", "no such file", wrong=True)["is_error"]
    True
    """
    block = {"type": "tool_result", "tool_use_id": name, "content": text}
    return {**block, "is_error": True} if wrong else block


def interrupted(name: str) -> Message:
    """Make the message that answers the call with the id `name` as interrupted."""
    return {"role": "user", "content": [tool_result(name, INTERRUPTED, wrong=True)]}


def with_results(
    messages: Sequence[Message],
    texts: Mapping[str, Any],
    inputs: Mapping[str, Block] | None = None,
) -> list[Message]:
    """Replace the content of some results, and the input of some calls, by tool_use id.

    >>> result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
    >>> view = with_results([{"role": "user", "content": [result]}], {"toolu_1": "gone"})
    >>> view[0]["content"][0]["content"]
    'gone'
    """
    view = list(messages)
    for role, name, field, new in (
        ("user", "tool_use_id", "content", texts),
        ("assistant", "id", "input", inputs or {}),
    ):
        for i in _having(messages, role, name, new) if new else ():
            content = [
                {**block, field: new[block[name]]} if block.get(name) in new else block
                for block in view[i]["content"]
            ]
            if content != view[i]["content"]:
                view[i] = {**view[i], "content": content}
    return view


def _having(
    messages: Sequence[Message], role: str, name: str, ids: Collection[str]
) -> Iterator[int]:
    """Yield the indexes of one role's messages with a block whose field `name` is one
    of the ids.

    The API refuses two calls with the same id, so this looks from the newest message on
    and stops when it has them all. It runs each turn.
    """
    left = len(ids)
    for i in range(len(messages) - 1, -1, -1):
        if messages[i]["role"] == role and not isinstance(messages[i]["content"], str):
            here = sum(block.get(name) in ids for block in messages[i]["content"])
            if here:
                yield i
                left -= here
                if left <= 0:
                    return


def changes(
    old: Sequence[Message], new: Sequence[Message], start: int = 0
) -> Iterator[int]:
    """Yield each index, from `start` on, at which the two lists hold different objects.

    >>> a, b = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}
    >>> list(changes([a, a], [a, b]))
    [1]
    """
    return compress(count(start), map(is_not, old[start:], new[start:]))


def exchanges(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return where each exchange begins and ends: an assistant message and the user's
    answer.

    An exchange is kept or forgotten as a whole, so no tool_use loses its tool_result.
    Messages before the first assistant message belong to no exchange.

    >>> u, a = {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}
    >>> exchanges([u, a, u, a, u])
    [(1, 3), (3, 5)]
    """
    starts = [
        i
        for i, message in enumerate(messages)
        if message["role"] == "assistant"
        and (i == 0 or messages[i - 1]["role"] == "user")
    ]
    return list(zip(starts, [*starts[1:], len(messages)], strict=False))


def last_assistant(messages: Sequence[Message]) -> int:
    """Return the index of the newest assistant message, -1 if there is none."""
    indexes = range(len(messages) - 1, -1, -1)
    return next((i for i in indexes if messages[i]["role"] == "assistant"), -1)


def unanswered(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the ids of the calls in the newest assistant message that have no result
    yet."""
    turn = messages[max(0, last_assistant(messages)) :]
    answered = results(turn)
    return tuple(name for name in tool_names(turn) if name not in answered)


def is_summary(block: Block) -> bool:
    """Return whether a compaction wrote this text block.

    Someone may quote the beginning of a summary. Their line goes on after the mark, so
    it doesn't end with a bracket.
    """
    if block["type"] != "text" or not block["text"].startswith(SUMMARY_HEADER):
        return False
    return block["text"].partition("\n")[0].endswith("]")


def summary_source(messages: Sequence[Message]) -> list[Message]:
    """Return what a summary takes the place of: without its request, and what that says
    will stay.

    >>> said = [{"role": "user", "content": n} for n in "abc"]
    >>> wish = {"role": "user", "content": f"{SUMMARY_WANTED} Not the first{STAY.format(2)}."}
    >>> [message["content"] for message in summary_source([*said, wish])]
    ['a']
    """
    if not asks_for_summary(messages):
        return list(messages)
    stay = re.search(
        STAY.replace("{:,}", r"([\d,]+)"), blocks(messages[-1])[-1]["text"]
    )
    return list(messages[: -1 - int(stay[1].replace(",", "")) if stay else -1])


def asks_for_summary(messages: Sequence[Message]) -> bool:
    """Return whether the messages end with a request for a summary."""
    return bool(messages) and str(blocks(messages[-1])[-1].get("text")).startswith(
        SUMMARY_WANTED
    )


def active_request(
    messages: Sequence[Message], persons: Collection[str] | None = None
) -> str | None:
    """Return the person's words that still wait for an answer, which survive every
    compaction. None: nothing waits.

    For the words one by one and for `persons` see `waiting`.

    >>> talk = [{"role": "user", "content": "Fix the bug."}]
    >>> active_request(talk)
    'Fix the bug.'
    >>> active_request([*talk, {"role": "assistant", "content": "It is fixed."}])
    """
    return "\n\n".join(text for _, text in waiting(messages, persons)) or None


def waiting(
    messages: Sequence[Message], persons: Collection[str] | None = None
) -> list[tuple[int, str]]:
    """Return the person's words that still wait for an answer, in their order, each
    with the index of its message.

    They are all that was said since the last answer, which is a reply without a call.
    A reply that was cut off and then went on is none. `persons`: texts that the person
    wrote, see `words`.

    >>> ask, answer = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}
    >>> more = {"role": "user", "content": "And how?"}
    >>> waiting([ask, answer, more, more])
    [(2, 'And how?'), (3, 'And how?')]
    """
    start = len(messages)
    while start > 0 and not _is_answer(messages, start - 1, persons):
        start -= 1
        if any(
            _has_mark(block, ANSWERED, persons) for block in blocks(messages[start])
        ):
            break
    return [
        (index, text)
        for index, message in enumerate(messages[start:], start)
        if message["role"] == "user"
        for text in words(message, persons)
    ]


def _is_answer(
    messages: Sequence[Message], index: int, persons: Collection[str] | None
) -> bool:
    """Return whether a message is a reply with which the work was done: it calls
    nothing, and what follows comes from the person."""
    reply = messages[index]
    if reply["role"] == "user" or of_type(reply, "tool_use"):
        return False
    follows = [block for m in messages[index + 1 : index + 2] for block in blocks(m)]
    return not follows or not all(
        block["type"] == "tool_result" or _has_mark(block, CUT_OFF, persons)
        for block in follows
    )


def words(message: Message, persons: Collection[str] | None = None) -> list[str]:
    """Return the texts that a person wrote in a message, without blank ones.

    Summaries, pinned lines and the program's own words are known by their marks. A text
    of `persons` is the person's, even if it looks like one of those: somebody may paste
    an earlier summary.

    >>> pinned = {"role": "user", "content": f"{PINNED}\\nBe kind."}
    >>> words(pinned), len(words(pinned, [pinned["content"]]))
    ([], 1)
    """
    return [
        block["text"]
        for block in of_type(message, "text")
        if block["text"].strip()
        and (
            block["text"] in (persons or ())
            or not (is_summary(block) or _has_mark(block, _MARKS))
        )
    ]


def said(
    messages: Sequence[Message], persons: Collection[str] | None = None
) -> list[str]:
    """Return what the person has said as far as the messages show it, in order.

    That is their words, and those that an earlier compaction put beside its summary.
    A `NOT_SAID` among these is a text, too.

    >>> summary = {"role": "user", "content": [said_block(["Go."])]}
    >>> said([summary, {"role": "user", "content": "Stop."}])
    ['Go.', 'Stop.']
    """
    return [
        text
        for message in messages
        if message["role"] == "user"
        for block in of_type(message, "text")
        for text in (
            said_in(block)
            if _has_mark(block, SAID, persons)
            else words({"role": "user", "content": [block]}, persons)
        )
    ]


def said_block(texts: Iterable[str]) -> Block:
    """Make the block in which texts of the person stand beside a summary.

    >>> said_block(["Go.", NOT_SAID.format(2)])["text"].splitlines()[1:-1]
    ['[said] Go.', "[... 2 more don't fit ...]"]
    """
    lines = (text if not_said(text) else f"{SAID_LINE}{text}" for text in texts)
    return {"type": "text", "text": "\n".join([SAID, *lines, SAID_END])}


def said_in(block: Block) -> list[str]:
    """Return the texts of a block that `said_block` made, none of any other block."""
    head, _, rest = str(block.get("text", "")).partition("\n")
    if head != SAID:
        return []
    texts = list[str]()
    for line in rest.removesuffix(f"\n{SAID_END}").split("\n"):
        if line.startswith(SAID_LINE) or not_said(line) or not texts:
            texts.append(line.removeprefix(SAID_LINE))
        else:
            texts[-1] += f"\n{line}"
    return texts


def not_said(text: str) -> int:
    """Return how many texts a line stands for that had no room. 0: it is no such line.

    >>> not_said(NOT_SAID.format(1_200)), not_said("Go.")
    (1200, 0)
    """
    number = _NOT_SAID.fullmatch(text)
    return int(number[1].replace(",", "")) if number else 0


def _has_mark(
    block: Block, mark: str | tuple[str, ...], persons: Collection[str] | None = None
) -> bool:
    """Return whether a text begins with a mark and isn't the person's."""
    is_text = block["type"] == "text" and block["text"].startswith(mark)
    return is_text and block["text"] not in (persons or ())


# -- kinds of block --------------------------------------------------------------------


def kinds_of(message: Message) -> list[tuple[str, str]]:
    """Return everything in a message as (kind, text). An image's text is empty.

    A result with a list as content has several parts. A block of a type that is not
    listed here, such as a document, counts as a result.

    >>> kinds_of({"role": "user", "content": "Fix the bug."})
    [('user', 'Fix the bug.')]
    """
    return [
        part for block in blocks(message) for part in _parts(block, message["role"])
    ]


def _parts(block: Block, place: str) -> list[tuple[str, str]]:
    """Return a block's parts. `place`: user, assistant, or tool_result for a block
    inside one."""
    match block["type"]:
        case "text":
            return [(_kind_of_text(block, place), block["text"])]
        case "tool_use" | "server_tool_use":
            # Only the length matters. str() is close to JSON's and three times as fast.
            return [("tool_use", str(block["input"]))]
        case "thinking" | "redacted_thinking":
            return [("thinking", block.get("thinking") or block.get("data") or "")]
        case "tool_result":
            contents = blocks({"content": block.get("content") or ""})
            return [
                part for content in contents for part in _parts(content, "tool_result")
            ]
        case "image":
            return [("image", "")]
        case _:
            return [("tool_result", str(block))]


def _kind_of_text(block: Block, place: str) -> str:
    if place == "user" and is_summary(block):
        return "summary"
    is_cleared = place == "tool_result" and block["text"].startswith(PLACEHOLDER)
    return "placeholder" if is_cleared else place
