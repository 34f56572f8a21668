"""Lesson 00: the loop, a window that fills, a tool of one's own."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import json
import re
import textwrap
from functools import lru_cache
from html import escape
from typing import Any

from agentlib.messages import Message
from agentlib.settings import MODEL
from course.checks.the_wall import eight_lines as eight_lines
from course.figures.wall import Wall
from course.figures.window_map import Tile, tiles
from course.panels.panel import Drawing, Panel, slider
from session_report.amounts import many
from session_report.style import wrapped
from windtunnel.runner import Run

TOO_LONG = r"(\d+) tokens > \d+ maximum"
"""The size of a prompt in the API's refusal."""


# -- what the cells show ---------------------------------------------------------------


def wall_panel(run: Run) -> Panel:
    """The window fills, request by request, beside the JSON that is sent and returned.

    `request` is the slider, which starts one before the run's last. If the API refused
    that last one, the refusal is its answer.
    """
    pages = exchanged(run)
    window = run.settings.context_window
    chart = Wall([added for *_, added in pages], window)
    span = (1, len(pages), 1)

    @lru_cache(maxsize=64)
    def draw(request: int) -> Drawing:
        chart.show(request)
        sent, answer, _ = pages[request - 1]
        size = sum(chart.sizes[:request])
        text = f"Request {request} of {len(pages)}: {size:,.0f} tokens, {size / window:.0%} of the "
        text += f"window of {window:,}."
        if "error" in answer:
            text += f" The API refuses it: {answer['error']['message']}."
        boxes = as_json("New in this request", sent) + as_json(
            "The API's answer", answer
        )
        table = f'<div style="display: flex; gap: 8px">{boxes}</div>'
        return Drawing(chart.png(), wrapped(text), table)

    last_but_one = max(1, len(pages) - 1)
    return Panel({"request": slider("request", last_but_one, span, "of the run")}, draw)


def exchanged(run: Run) -> list[tuple[dict[str, Any], dict[str, Any], list[Tile]]]:
    """For each request of a run, return what was new in it, the API's answer, and the
    new blocks.

    The blocks are scaled to what the API counted.
    """
    session = run.session
    old = 0
    before = 0
    refusal = {"type": "invalid_request_error", "message": run.refused}
    said: list[tuple[list[Message], dict[str, Any]]] = [
        (
            r.context,
            {
                "content": r.reply["content"],
                "stop_reason": r.stop_reason,
                "usage": r.usage,
            },
        )
        for r in session.requests
    ]
    said.append((session.context, {"type": "error", "error": refusal}))
    sizes = [*run.sizes, *map(int, re.findall(TOO_LONG, run.refused))]
    pages: list[tuple[dict[str, Any], dict[str, Any], list[Tile]]] = []
    for (context, answer), size in zip(said, sizes, strict=False):
        new = context[old:]
        base = None if old else session
        sent = {
            "messages": [f"… the {many(old, 'message')} before, word for word …", *new]
        }
        if base:
            sent = {
                "model": MODEL,
                "system": base.system,
                "tools": base.tools,
                "messages": new,
            }
        pages.append((sent, answer, tiles(new, billed=size - before, session=base)))
        old = len(context)
        before = size
    return pages


def as_json(name: str, value: object) -> str:
    """Show a value as JSON in HTML that scrolls by mouse and by keyboard."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    text = escape(
        re.sub(r"\n {3,}|\n {2}(?=[}\]])", " ", text)
    )  # a message on one line
    text = text.replace("\\n", "↵\n")
    return (
        f'<div style="flex: 1 1 50%; min-width: 0"><b>{name}</b><pre role="region" tabindex="0" '
        f'aria-label="{name}" style="max-height: 18em; overflow: auto; line-height: 1.35; '
        'font-size: 12px; white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere">'
        f"{text}</pre></div>"
    )


def describe(run: Run) -> None:
    """Print how far a run came."""
    print(f"{run.turns} requests answered; the largest has {max(run.sizes):,} tokens.")
    if run.refused:
        print(textwrap.fill(f"Request {run.turns + 1} was refused: {run.refused}.", 72))


def picture(run: Run) -> Wall:
    """Draw all requests of a run. If it is done, the title says how much room is
    left."""
    window = run.settings.context_window
    chart = Wall([new for *_, new in exchanged(run)], window)
    if run.checks["done"]:
        empty = f"{1 - max(run.sizes) / window:.0%} of the window empty"
        chart.headline.set_text(f"Done in {run.turns} requests, {empty}")
    return chart
