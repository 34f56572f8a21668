"""The panel of lesson 05: a session as a table to search, and its window map at any turn."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Sequence
from functools import lru_cache

from agentlib.estimation import prompt_tokens
from agentlib.lab.figures.style import wrapped
from agentlib.lab.figures.window_map import sentence, tiles, window_map
from agentlib.lab.panels.panel import Drawing, Panel, choice, scrolling, slider, words
from agentlib.lab.sessions.table import Row, matching, rows
from agentlib.messages import KINDS
from agentlib.transcripts import Session

SHOWN_ROWS, EXCERPT = 200, 90
"""Rows of the table, and characters of each text."""


def session_browser(session: Session, turn: int | None = None) -> Panel:
    """Show the blocks of a session up to a turn, and the map of that turn's request.

    The controls are `turn`, from 1 (by default the last), `kind` of block, and `search`, words of
    a text, a tool or a state. Raises ValueError for a session without requests or without `turn`.
    """
    last = len(session.requests)
    if not last:
        raise ValueError("the session has no request yet, so there is no turn to look at")
    kinds = {row.kind for row in rows(session, turn)} | {row.kind for row in rows(session)}

    @lru_cache(maxsize=64)
    def map_of(turn: int) -> tuple[bytes, str]:
        request, window = session.requests[turn - 1], session.settings.context_window
        billed, title = prompt_tokens(request.usage) or None, f"The request of turn {turn}"
        chart = window_map(request.context, window=window, billed=billed, title=title)
        return chart.png(), sentence(tiles(request.context, billed=billed), window)

    def draw(turn: int, kind: str, search: str) -> Drawing:
        every = rows(session, turn)
        some = matching(every, kind=kind, text=search)
        png, text = map_of(turn)
        counts = f"{len(some)} of {len(every)} blocks, {sum(row.tokens for row in some):,} tokens, "
        shown = f"{wrapped(counts + _states(some))}\nWindow map: {text}"
        return Drawing(png, shown, as_html(some, search))

    at = slider("turn", turn or last, (1, last, 1), "the request that is shown, with all before it")
    at.continuous_update = False
    shown = ["all", *(kind for kind in KINDS if kind in kinds)]
    controls = {
        "turn": at,
        "kind": choice("kind", "all", shown, "the kind of block"),
        "search": words("search", "text, tool or state"),
    }
    return Panel(controls, draw)


def _states(some: Sequence[Row]) -> str:
    states = [row.state for row in some]
    return ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states)) or "none"


def as_html(some: Sequence[Row], search: str = "") -> str:
    """Turn the newest `SHOWN_ROWS` rows into a table in HTML.

    A long text is shown from its beginning, or around the first place with the words of `search`.
    """
    from pandas import DataFrame

    cells = [
        (r.turn, r.who, r.tool or r.kind, f"{r.tokens:,}", r.state, _excerpt(r.text, search))
        for r in some[-SHOWN_ROWS:]
    ]
    columns = ("turn", "who", "tool or kind", "tokens", "state", "text")
    shown = scrolling(DataFrame(cells, columns=columns), "the blocks of the session", "left")
    older = len(some) - SHOWN_ROWS
    return shown if older <= 0 else f"The newest {SHOWN_ROWS} rows; {older} more.{shown}"


def _excerpt(text: str, search: str) -> str:
    line, words = " ".join(text.split()), " ".join(search.split()).casefold()
    start = max(0, line.casefold().find(words) - EXCERPT // 3)
    stop = start + EXCERPT
    return f"{'…' * (start > 0)}{line[start:stop]}{'…' * (stop < len(line))}"
