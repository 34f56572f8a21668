"""Lesson 05: a line for each message, what is read back, and the calls that have no
result."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# ipywidgets and pandas have no complete types.

import contextlib
import json
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pandas import DataFrame, option_context

from agentlib import messages as msg
from agentlib.auto_compact import summary_text
from agentlib.estimation import message_tokens, prompt_tokens
from agentlib.messages import (
    INTERRUPTED,
    Block,
    Message,
    blocks,
    of_type,
    result_text,
    unanswered,
)
from agentlib.session import file as session_file
from agentlib.transcripts import Session
from course.checking import (
    Answer,
    Wrong,
    conversation,
    exercise,
    require,
    require_block,
    require_messages,
)
from course.figures.window_map import maps, sentence, tiles
from course.panels.panel import Drawing, Panel, choice, scrolling, slider, words
from session_report.amounts import many
from session_report.style import LINE, cut, wrapped

SHOWN_ROWS = 100
EXCERPT = 90
"""Rows of the session browser's table, and characters of a text before a click."""

# -- the exercises ---------------------------------------------------------------------


MARK = "\ufffd"
"""Stands in a check's file for the first of the two bytes of an é."""
HALF = "a file that is torn inside a character"


def _with_half_a_character(text: str) -> bytes:
    half = "é".encode()[:1]
    return text.encode("utf-8").replace(MARK.encode("utf-8"), half)


def plain_append(message: Message, path: Path) -> None:
    """Add a message to a file as one line of JSON."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(message) + "\n")


@exercise("05.1", "each message is one line, added at the end.", finished=plain_append)
def _append(answer: Answer) -> None:
    """path.open('a') opens a file for writing behind what is there, and makes it if
    need be.

    A line is json.dumps(message) + '\\n'.
    """
    messages = conversation("import re\n\nré = 1", 90)
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        for count, message in enumerate(messages, 1):
            answer.call(message, path)
            require(
                path.is_file(),
                "the file is not there; open it in a mode that makes it.",
            )
            text = path.read_text(encoding="utf-8")
            lines = text.splitlines()
            case = f"after {many(count, 'call')}"
            require(text.endswith("\n"), f'{case}, the file should end with "\\n".')
            wanted = f"{case}, the file should have {many(count, 'line')}; yours has {len(lines)}"
            require(
                len(lines) == count,
                f"{wanted}. Add to the end, one line for each message.",
            )
            written = f"{case}, the last line should be the message as JSON; it is"
            require(plain_load(path)[-1:] == [message], f"{written} {lines[-1]!r:.60}.")
        ends = path.read_bytes().count(b"\r")
        require(not ends, 'the file has "\\r" in its ends of line; write "\\n" alone.')
        odd = {"role": "user", "content": [object()]}
        with contextlib.suppress(TypeError):
            answer.function(odd, path)
            raise Wrong(
                "a block that is no JSON was written as its repr, which nobody reads "
                "back; let json.dumps raise, without default=."
            )
        path.write_bytes(b"\xff torn\n")
        with contextlib.suppress(UnicodeDecodeError):
            answer.call(messages[0], path)
        kept = path.read_bytes().startswith(b"\xff torn\n{")
        require(
            kept, "it reads what is there and writes it again; add to the file unread."
        )


def plain_load(path: Path) -> list[Message]:
    """Return the messages of a file, and leave out every torn line."""
    messages: list[Message] = []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            messages.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return messages


@exercise("05.2", "every whole line is there, and no torn one.", finished=plain_load)
def _load(answer: Answer) -> None:
    """Go through path.read_text(…).split("\\n"), and try json.loads on each line.

    Half a character is no UTF-8, so read_text raises. With errors="replace" it puts a
    mark in its place, and the torn line is torn all the same.

    json.loads raises json.JSONDecodeError on a torn line; then go on with the next.
    """
    messages = conversation("# 1 " * 74 + "if {", 90)
    whole = [json.dumps(message) for message in messages]
    torn = whole[2][: whole[2].index("}") + 1]
    resumed = [*whole[:2], torn, *whole[3:]]
    odd = conversation(request="one\u2028two")
    raw = json.dumps(odd[0], ensure_ascii=False)
    cut = f'{{"role": "user", "content": "caf{MARK}'
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        for case, lines, end, right in (
            ("a file of 5 whole lines", whole, "\n", messages),
            ("a file whose last line is torn", [*whole[:2], torn], "", messages[:2]),
            (
                "a torn line with whole lines behind it",
                resumed,
                "\n",
                messages[:2] + messages[3:],
            ),
            (
                "a file with two torn lines",
                [torn, *whole[:2], torn],
                "\n",
                messages[:2],
            ),
            ("a file with the same line twice", whole[:1] * 2, "\n", messages[:1] * 2),
            ("an empty file", [], "", []),
            ("a whole last line that lost its line end", whole[:2], "", messages[:2]),
            ("a text with U+2028, at which splitlines cuts", [raw], "\n", odd),
            (HALF, [raw, cut], "", odd),
            (f"{HALF} and whole lines behind it", [raw, cut, raw], "\n", odd * 2),
        ):
            written = _with_half_a_character("\n".join(lines) + end)
            path.write_bytes(written)
            try:
                given = answer.function(path)
            except UnicodeDecodeError as error:
                lost = f"{case} makes reading raise {error.reason!r}, and every line is lost"
                raise Wrong(f'{lost}; read with errors="replace".') from None
            read = Answer(given).typed(list, "return a list of messages")
            wanted = f"from {case}, {many(len(right), 'message')} should come back"
            require(
                read == right, f"{wanted}, as they were; yours returned {len(read)}."
            )
            untouched = path.read_bytes() == written
            require(untouched, f"from {case}, it wrote to the file; only read it.")


def plain_answers(messages: Sequence[Message]) -> list[Block]:
    """Answer each open call: it was interrupted."""
    block = {"type": "tool_result", "content": INTERRUPTED, "is_error": True}
    return [{**block, "tool_use_id": name} for name in unanswered(messages)]


@exercise(
    "05.3", "each open call has a result, and the API takes it.", finished=plain_answers
)
def _interrupted(answer: Answer) -> None:
    """A block has type, tool_use_id, content, is_error. One for each id of
    unanswered(messages)."""
    for done in (conversation(300), conversation()):
        none = Answer(answer.call(done)).typed(
            list, "give a list of blocks, not a message"
        )
        require(none == [], "if every call has its result, the list should be empty.")
    one = conversation(300, 300)
    three = conversation(300, [300, 90, 300])
    first = {"role": "user", "content": three[-1]["content"][:1]}
    for messages in (one[:-1], three[:-1], [*three[:-1], first]):
        results = answer.call(messages)
        listed = Answer(results).typed(list, "give a list of blocks, not a message")
        held = any(
            "content" in each and "role" in each and "type" not in each
            for each in listed
        )
        require(not held, "give the blocks alone, not a message that holds them.")
        for block in listed:
            require_block(block)
        given = [block.get("tool_use_id") for block in listed]
        right = unanswered(messages)
        names = ", ".join(map(str, given))
        wanted = f"{', '.join(right)} should get a result; yours answers"
        require(
            sorted(map(str, given)) == sorted(right), f"{wanted} {names or 'none'}."
        )
        require_messages([*messages, {"role": "user", "content": results}])
        says = all(result_text(block) == INTERRUPTED for block in results)
        require(says, "the content should be the value of INTERRUPTED, without quotes.")
        errors = all(block.get("is_error") is True for block in results)
        require(
            errors,
            'without "is_error": True the model takes it for the output of the tool.',
        )


@exercise("05.4", "at turn 13 it is in view, at the next it is not.")
def _turn(answer: Answer) -> None:
    """panel.search.value = 'glibc that' and panel.kind.value = 'tool_result' leave one
    row.

    The column state says in view, cleared or summarised for the turn of the slider.
    """
    answer.hit(
        13,  # the last turn whose request has the file with the glibc line whole
        how="search for 'glibc that', and move the slider",
        low="the file is in view at a later turn than {}; go on.",
        high="at turn {} the file is not in view; go back.",
    )


# -- what the cells show ---------------------------------------------------------------

Part = Callable[..., Any]
"""A function of the learner's."""
_MORE = {"level", "isMeta", "usage", "crc32", "logicalParentUuid"}
HIDDEN = _MORE | {*session_file.envelope("", 0, None, 0.0)}
"""What many lines of a session file have, and `show` leaves out."""


def show(path: Path, *numbers: int) -> None:
    """Print lines of a session file without what is `HIDDEN`, cut for this page."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number in numbers:
        if not 0 < number <= len(lines):
            raise ValueError(f"no line {number}; the file has lines 1 to {len(lines)}")
        line = json.loads(lines[number - 1], object_hook=_cut)
        line.pop("settled", None)
        text = json.dumps(line, ensure_ascii=False)
        print(
            textwrap.fill(f"{number}: {cut(text, 420)}", LINE, subsequent_indent="    ")
        )


def _cut(part: dict[str, Any], longest: int = 90) -> dict[str, Any]:
    """Leave out what is `HIDDEN`, and cut long texts."""
    cut = {name: part[name] for name in part if name not in HIDDEN}
    for name, value in cut.items():
        if isinstance(value, str) and len(value) > longest:
            cut[name] = f"{value[:longest]}… {len(value):,} characters"
    return {name: cut[name] for name in ("role", "content")} if "role" in cut else cut


def first_line(path: Path, mark: str) -> int:
    """Return the number of the first line of a kind."""
    lines = [line for _, line in session_file.numbered(path) if isinstance(line, dict)]
    return next(
        n for n, line in enumerate(lines, 1) if mark in (line.get("subtype"), *line)
    )


def power_cut(append: Part, load: Part, close: Part | None = None) -> dict[str, Any]:
    """Write with `append`, lose the last 40 bytes, read with `load`, answer with
    `close`."""

    def save(messages: Sequence[Message], folder: Path, now: float) -> Path:
        path = folder / "mine.jsonl"
        for message in messages:
            append(message, path)
        path.write_bytes(path.read_bytes()[:-40])
        return path

    def read(path: Path) -> list[Message]:
        messages = load(path)
        results = close(messages) if close else []
        return (
            [*messages, {"role": "user", "content": results}] if results else messages
        )

    return {"save": save, "load": read, "resume_after": 17}


# -- a session as a table --------------------------------------------------------------

WHOLE = "in view"
CLEARED = "cleared"
SUMMARISED = "summarised"
ANSWER = "the answer"
"""How a turn's request holds a block. ANSWER: the block came back as the reply."""
COLUMNS = ["turn", "kind", "tool", "tokens", "state", "text"]
"""Of a session's table. `turn`: the request that a block answers, or into which it
first goes."""


def rows(session: Session, turn: int) -> DataFrame:
    """Return a row for everything up to a turn, from 1, and how that turn's request
    held it.

    A row is a block of the history, or a summary. Its `tool` is that of a call or a
    result. The session has the contexts as they were sent, so nothing is guessed from
    settings. The `tokens` are estimates of the whole block, scaled to the bill of the
    turn as those of its map are. Raises ValueError if there is no such turn.

    On paper: a prompt, a call, its result, a compaction that summarises these three, a
    second call, the end. The third request has the summary and the second exchange. So
    the first three rows say "summarised" at turn 3, and "in view" at turn 2.
    """
    if not 1 <= turn <= len(session.requests):
        raise ValueError(
            f"no turn {turn}; the session has turns 1 to {len(session.requests)}"
        )
    request = session.requests[turn - 1]
    tools = msg.tool_names(session.history)
    view = {_key(m, block): block for m in request.context for block in blocks(m)}
    billed = prompt_tokens(request.usage)
    estimate = sum(tile.tokens for tile in tiles(request.context, session=session))
    scale = billed / estimate if billed else 1.0
    table = list[tuple[Any, ...]]()
    for number, message in _placed(session, request.seen + 1):
        is_answer = message is session.history[request.seen]
        for block in blocks(message) if number <= turn else ():
            state = (
                ANSWER if is_answer else _state(block, view.get(_key(message, block)))
            )
            tool = block.get("name") or tools.get(block.get("tool_use_id", ""), "")
            alone = {**message, "content": [block]}
            kind, text = _kind_and_text(alone)
            tokens = round(scale * round(message_tokens(alone)))
            table.append((number, kind, tool, tokens, state, text))
    return DataFrame(table, columns=COLUMNS)


def _kind_and_text(alone: Message) -> tuple[str, str]:
    """Return the kind and the text of a message that has one block."""
    [(kind, text), *more] = msg.kinds_of(alone) or [("tool_result", "")]
    parts = [
        summary_text(alone) if kind == "summary" else text,
        *(part for _, part in more),
    ]
    return kind, "\n".join(parts)


def _placed(session: Session, stop: int) -> Iterator[tuple[int, Message]]:
    """Yield the messages before a place of the history and the summaries, each with its
    turn."""
    sent = [request.seen for request in session.requests]
    for place, message in enumerate(session.history[:stop]):
        for summary in (c.message for c in session.compactions if c.seen == place):
            if summary:
                yield (
                    bisect_left(sent, place) + 1,
                    {**summary, "content": blocks(summary)[:1]},
                )
        is_words = message["role"] == "user" and not of_type(message, "tool_result")
        yield bisect_right(sent, place) + is_words, message


def _key(message: Message, block: Block) -> object:
    """Recognise a block in another context: a result by its id, a person's words by
    their text."""
    if message["role"] == "user":
        return block.get("tool_use_id") or block.get("text") or id(block)
    return id(block)


def _state(block: Block, held: Block | None) -> str:
    if held is None:
        return SUMMARISED
    return WHOLE if held.get("content") == block.get("content") else CLEARED


def matching(rows: DataFrame, *, kind: str = "all", text: str = "") -> DataFrame:
    """Select the rows of one kind whose text, tool or state contains a text, in any
    case."""
    words = rows["text"] + "\n" + rows["tool"] + "\n" + rows["state"]
    sought = words.str.contains(text, case=False, regex=False)
    return rows[sought & (rows["kind"].eq(kind) | (kind == "all"))]


def print_rows(some: DataFrame) -> None:
    """Print the rows of the session browser's table."""
    for row in some.to_dict("records"):
        head = f"{row['turn']:3} {row['tool'] or row['kind']:11}"
        head += f"{row['tokens']:6,} {row['state']:11}"
        print(f"{head}{cut(excerpt(row['text']), LINE - len(head))}")


def session_browser(session: Session, turn: int | None = None) -> Panel:
    """Show the blocks of a session up to a turn, and the map of that turn's request.

    The controls are `turn`, from 1 (by default the last), `kind` of block, and
    `search`, words of a text, a tool or a state. Raises ValueError for a session
    without requests.
    """
    last = len(session.requests)
    if not last:
        raise ValueError(
            "the session has no request yet, so there is no turn to look at"
        )

    @lru_cache(maxsize=64)
    def draw(turn: int, kind: str, search: str) -> Drawing:
        request = session.requests[turn - 1]
        window = session.settings.context_window
        billed = prompt_tokens(request.usage) or None
        placed = tiles(request.context, billed=billed, session=session)
        every = rows(session, turn)
        some = matching(every, kind=kind, text=search)
        states = some["state"].value_counts(sort=False)
        text = f"{len(some)} of {len(every)} blocks, {some['tokens'].sum():,} tokens, "
        text += (
            ", ".join(f"{count} {state}" for state, count in states.items()) or "none"
        )
        text = f"{wrapped(text)}\nWindow map: {sentence(placed, window)}"
        chart = maps({f"The request of turn {turn}": placed}, window)
        return Drawing(chart.png(), text, as_html(some, search))

    kinds = rows(session, last)["kind"].unique()
    meaning = "the request that is shown, with all before it"
    controls = {
        "turn": slider("turn", turn or last, (1, last, 1), meaning, waits=True),
        "kind": choice("kind", "all", ["all", *kinds], "the kind of block"),
        "search": words("search", "text, tool or state"),
    }
    return Panel(controls, draw)


def as_html(some: DataFrame, search: str = "") -> str:
    """Turn the newest `SHOWN_ROWS` rows into a table in HTML. A click on a text shows
    it whole.

    A long text is shown from its beginning, or around the first place with the words of
    `search`.
    """
    table = some.tail(SHOWN_ROWS)
    table = table.assign(text=[_folded(text, search) for text in table["text"]])
    with option_context("display.max_colwidth", None):  # or pandas cuts the markup
        # Without a format of its own pandas writes \\n for a line break.
        own: Any = {
            "escape": False,
            "formatters": {"text": str, "tokens": "{:,}".format},
        }
        shown = scrolling(table, "the blocks of the session", "left", **own)
    older = len(some) - SHOWN_ROWS
    return (
        shown if older <= 0 else f"The newest {SHOWN_ROWS} rows; {older} more.{shown}"
    )


def _folded(text: str, search: str) -> str:
    short = excerpt(text, search)
    if short == text:
        return escape(short)
    whole = f'<pre style="white-space: pre-wrap; max-width: 60em">{escape(text)}</pre>'
    return f"<details><summary>{escape(short)}</summary>{whole}</details>"


def excerpt(text: str, search: str = "") -> str:
    """Cut a text to one short line, from its beginning or around the words of
    `search`."""
    line, words = (" ".join(each.split()) for each in (text, search))
    start = max(0, line.casefold().find(words.casefold()) - EXCERPT // 3)
    stop = start + EXCERPT
    return f"{'…' * (start > 0)}{line[start:stop]}{'…' * (stop < len(line))}"
