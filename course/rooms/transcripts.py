"""Lesson 05: a line for each message, what is read back, and the calls that have no
result."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# ipywidgets and pandas have no complete types.

import json
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from pandas import DataFrame, option_context

from agentlib import messages as msg
from agentlib.auto_compact import summary_text
from agentlib.estimation import message_tokens, prompt_tokens
from agentlib.messages import Block, Message, blocks, of_type
from agentlib.session import file as session_file
from agentlib.transcripts import Session
from course.checks.transcripts import power_cut as power_cut
from course.figures import history as history
from course.figures.window_map import maps, sentence, tiles
from course.panels.panel import Drawing, Panel, choice, scrolling, slider, words
from session_report.style import LINE, cut, wrapped
from windtunnel.crash import SETTINGS as SETTINGS
from windtunnel.crash import kill_while_it_waits as kill_while_it_waits
from windtunnel.tasks.generated import SWEEPS as SWEEPS
from windtunnel.tasks.scenarios import LONG as LONG
from windtunnel.tasks.scenarios import REVIEW as REVIEW
from windtunnel.tasks.scenarios import Clock as Clock

SHOWN_ROWS = 100
EXCERPT = 90
"""Rows of the session browser's table, and characters of a text before a click."""


# -- what the cells show ---------------------------------------------------------------


@lru_cache
def _box() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


def folder() -> Path:
    """Make an empty folder, which goes when the kernel does."""
    return Path(mkdtemp(dir=_box().name))


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
