"""The panel of lesson 05: a session as a table to search, and its window map at any turn.

Wiring only: a slider for the turn, a list of kinds, a text to search for. Not here: what the rows
say (sessions.table) and how the map is drawn (window_map).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import html
import textwrap
from collections.abc import Sequence
from typing import Any

from ipywidgets import HTML, Dropdown, Image, Layout, Text

from agentlib.estimation import prompt_tokens
from agentlib.lab.figures import charts
from agentlib.lab.figures.window_map import sentence, tiles, window_map
from agentlib.lab.panels.ahead import ONE_AT_A_TIME
from agentlib.lab.panels.wall import Pictured, slider
from agentlib.lab.sessions.table import Row, matching, rows
from agentlib.transcripts import Session

TURN = "the request whose view is shown; later rows are left out"
SHOWN, EXCERPT = 200, 90
"""Rows of the table, and characters of each text."""
_COLUMNS = ("turn", "who", "tool or kind", "tokens", "state", "text")
_CELL = "padding: 2px 8px; text-align: left; vertical-align: top;"
_KINDS = ("user", "assistant", "thinking", "tool_use", "tool_result", "image", "summary")


class SessionBrowser(Pictured):
    """The table, and the window map of the request at the chosen turn.

    `turn`, `kind` and `search` are the controls; setting `.value` in a cell does what moving them
    does. `rows` holds the rows found, `text` says what is shown. Raises ValueError for a session
    without requests, or without that `turn` (from 1; None: the last).
    """

    def __init__(self, session: Session, turn: int | None = None) -> None:
        if not session.requests:
            raise ValueError("the session has no request yet, so there is no turn to look at")
        self.session, self.rows, self.text, self.png = session, list[Row](), "", b""
        last, said = len(session.requests), {row.kind for row in rows(session)}
        if turn is not None and not 1 <= turn <= last:
            raise ValueError(f"no turn {turn}; the session has turns 1 to {last}")
        self.turn = slider("turn", turn or last, (1, last, 1), TURN)
        self.turn.continuous_update = False
        kinds = [kind for kind in _KINDS if kind in said]
        wide = Layout(width="38em", max_width="100%")
        named: dict[str, Any] = {"style": {"description_width": "7.5em"}, "layout": wide}
        self.kind = Dropdown(options=["all", *kinds], value="all", description="kind", **named)
        self.search = Text(
            description="search",
            placeholder="text, tool or state",
            continuous_update=False,
            **named,
        )
        self.table, self.line = HTML(), HTML()
        self.picture = Image(format="png", layout=Layout(max_width="100%", object_fit="contain"))
        self._map, self._drawn = "", 0
        super().__init__([self.turn, self.kind, self.search, self.table, self.picture, self.line])
        for control in (self.turn, self.kind, self.search):
            control.observe(self._moved, names="value")
        self._moved()

    def _moved(self, change: object = None) -> None:
        chosen: list[Any] = [each.value for each in (self.turn, self.kind, self.search)]
        turn, kind, search = chosen
        found = rows(self.session, turn)
        self.rows = matching(found, kind=kind, text=search)
        self.table.value = as_html(self.rows, search)
        if self._drawn != turn:  # the map depends on the turn alone
            self._draw(turn)
        tokens = sum(row.tokens for row in self.rows)
        told = f"{len(self.rows)} of {len(found)} blocks, {tokens:,} tokens, {_states(self.rows)}"
        self.text = f"{textwrap.fill(told, 72)}\nWindow map: {self._map}"
        shown = html.escape(self.text).replace("\n", "<br>")
        self.line.value = f'<div role="status" style="line-height: 1.4">{shown}</div>'

    def _draw(self, turn: int) -> None:
        window = self.session.settings.context_window
        request = self.session.requests[turn - 1]
        billed = prompt_tokens(request.usage) or None
        title = f"The request of turn {turn}"
        with ONE_AT_A_TIME:
            figure = window_map(request.context, window=window, billed=billed, title=title)
            self.png = self.picture.value = charts.png(figure)
        self._map, self._drawn = sentence(tiles(request.context, billed=billed), window), turn

    def __repr__(self) -> str:
        searched = f', search "{self.search.value}"' if self.search.value else ""
        return f"turn {self.turn.value}, kind {self.kind.value}{searched}:\n{self.text}"


def _states(found: Sequence[Row]) -> str:
    counts = {row.state: 0 for row in found}
    for row in found:
        counts[row.state] += 1
    return ", ".join(f"{count} {state}" for state, count in counts.items()) or "none"


def as_html(found: Sequence[Row], search: str = "") -> str:
    """The rows as a table that scrolls, at most `SHOWN` of them, the newest.

    A long text is shown from its beginning, or around the first place with the words of `search`.
    """
    head = "".join(f'<th scope="col" style="{_CELL}">{name}</th>' for name in _COLUMNS)
    body = "".join(_html_row(row, search) for row in found[-SHOWN:])
    left = max(0, len(found) - SHOWN)
    caption = f"<caption>the newest {SHOWN} rows; {left} more</caption>" if left else ""
    return (
        '<div style="max-height: 20em; overflow: auto" tabindex="0" role="region" '
        'aria-label="the blocks of the session">'
        '<table style="line-height: 1.3; border-collapse: collapse">'
        f"{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _excerpt(text: str, search: str) -> str:
    said, words = " ".join(text.split()), " ".join(search.split()).casefold()
    start = max(0, said.casefold().find(words) - EXCERPT // 3)
    stop = start + EXCERPT
    return f"{'…' * (start > 0)}{said[start:stop]}{'…' * (stop < len(said))}"


def _html_row(row: Row, search: str) -> str:
    text = _excerpt(row.text, search)
    cells = (row.turn, row.who, row.tool or row.kind, f"{row.tokens:,}", row.state, text)
    grey = "" if row.state in ("in view", "the answer") else "color: #595959; font-style: italic"
    styles = [_CELL] * (len(cells) - 1) + [f"{_CELL} overflow-wrap: anywhere; min-width: 20em;"]
    inside = "".join(
        f'<td style="{style}">{html.escape(str(cell))}</td>'
        for style, cell in zip(styles, cells, strict=True)
    )
    return f'<tr style="{grey}">{inside}</tr>'
