"""The panels of lesson 09: a session under other windows, and your own sessions at a
press."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from ipywidgets import ToggleButton

from agentlib.presets import CLAUDE_CODE
from agentlib.transcripts import Session
from course.figures import charts
from course.panels.panel import Drawing, Panel, slider, words
from session_report import PROJECTS, load
from session_report.amounts import many
from session_report.formats import Source
from session_report.one import lifetime
from session_report.overview import overview
from session_report.playback import replay, table
from session_report.put_back import NEEDED, Score, covered, forgotten
from session_report.reading import sources
from session_report.report import as_page, of_overview, of_what_if, shareable
from session_report.style import wrapped
from session_report.what_if import (
    RESERVED,
    SMALL,
    choices,
    fitted,
    nearest,
    trial,
    what_if,
)

NEWEST = 30
"""Sessions of one's own that are read at a press: the newest, so that it takes about a
minute."""
ROOM = 10_000
"""Tokens that a rule may put back in a session of one's own."""


def sessions_panel(session: Session, model: str) -> Panel:
    """Lesson 09: replay a session as Claude Code would have sent it, told of a smaller
    window.

    The slider `tell` is that window, and the sentence has the dollars at the `model`'s
    prices.
    """

    @lru_cache(maxsize=16)
    def draw(tell: int) -> tuple[bytes, str]:
        settings = fitted(nearest(tell - RESERVED).settings, SMALL)
        row = trial(session, settings, lifetime(session), model)
        need = 100 * row["need"] / len(session.requests)
        title = (
            f"Told of {tell:,}: ${row['dollars']:.2f}, {row['compactions']} compactions"
        )
        chart = charts.turns(table(replay(session, settings)), title=title)
        parts = f"${row['dollars']:.2f}, of which ${row['again']:.2f} for reading again"
        return chart.png(), wrapped(f"{parts}; {need:.1f} needs in 100 turns.")

    meaning = "the window that Claude Code is told; it compacts 33,000 tokens below"
    return Panel(
        {"tell": slider("window", SMALL, (100_000, 200_000, 12_500), meaning)}, draw
    )


def own_sessions_panel(rule: Score) -> Panel:
    """Lesson 09: report on one's own sessions, once `read` is pressed, and judge a rule
    on them.

    Nothing is read before. An empty `folder` is Claude Code's. The report is shown by
    the panel alone, so that no words of a session are stored with the notebook.
    """

    def tell(done: Iterable[Any], *, total: int) -> Iterable[Any]:
        for number, each in enumerate(done, 1):
            panel.line.value = f"{number} of {total} files"
            yield each

    def draw(folder: str, read: bool) -> Drawing:
        if not read:
            return Drawing(b"", "Nothing is read before you press the button.")
        every = sources([Path(folder.strip() or PROJECTS).expanduser()])
        if not every:
            return Drawing(
                b"", f"There is no session file in {folder.strip() or PROJECTS}."
            )
        newest = sorted(every, key=lambda source: source.modified)[-NEWEST:]
        report = of_overview(overview(newest, timezone=UTC, track=tell))
        with suppress(ValueError):  # no model of them has a known price
            report |= of_what_if(what_if(newest, choices(), track=tell))
        page = escape(as_page(shareable(report), zone="UTC"))
        frame = f'<iframe title="the report" srcdoc="{page}" width="100%" height="640"></iframe>'
        return Drawing(
            b"", f"{_judged(rule, newest)} Of {many(len(newest), 'file')}:", frame
        )

    look = {
        "description": "read my sessions",
        "tooltip": "files are only read, and stay here",
    }
    controls = {
        "folder": words("folder", str(PROJECTS.relative_to(PROJECTS.parents[1])))
    }
    panel: Panel = Panel({**controls, "read": ToggleButton(**look)}, draw)
    return panel


def _judged(rule: Score, every: Iterable[Source]) -> str:
    """Say how much of what was needed a rule would have put back. A file without need
    is left."""
    settings = fitted(CLAUDE_CODE, SMALL)
    lost = [forgotten(load(source), settings) for source in every]
    pieces = [row for rows in lost for row in rows]
    needed = sum(row[NEEDED] for row in pieces)
    if not needed:
        return "No session is long enough to judge your rule."
    try:
        return f"Your rule covers {100 * covered(rule, pieces, ROOM):.0f} % of {needed} needs."
    except Exception as error:  # the learner's own function
        return f"Your rule raised {error!r}: real pieces have other kinds, and some have 0 tokens."
