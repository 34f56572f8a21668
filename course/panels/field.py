"""The field as a panel: click a dot or pick a name, and read its numbers and its
code."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets and matplotlib have no complete types.

import inspect
import json
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from pathlib import Path

from ipywidgets import HTML

from agentlib.pipeline import ContextEngine, Stack, compact
from course.panels.panel import Panel, choice
from course.panels.what_if import as_code
from session_report.style import RED, wrapped
from windtunnel.field import place
from windtunnel.judge import NAMED, Verdict
from windtunnel.tasks.mechanisms import in_words

_CODE = """<div role="region" tabindex="0" aria-label="its code" style="overflow: auto; \
max-height: 24em"><pre style="line-height: 1.3">{}</pre></div>"""
_CLICK = Path(__file__).with_name("click.html").read_text(encoding="utf-8")
"""Let a click on the picture pick the nearest dot's name: ipywidgets' images have no
clicks."""


def field_panel(verdict: Verdict, mine: Mapping[str, ContextEngine]) -> Panel:
    """Mark a dot of the field, and show what it is. `mine`: your engines, the judged
    one last."""
    *trail, name = mine
    chart = verdict.picture("Pick an engine, and read its code below", trail)
    [axes] = chart.figure.axes
    (ring,) = axes.plot([], [], "o", markersize=17, mfc="none", mec=RED, mew=2)
    chart.move(ring)
    codes = {each: code_of(engine) for each, engine in mine.items()}
    codes |= {each: _source(each) for each in verdict.spreads if each in NAMED}

    @lru_cache(maxsize=64)
    def draw(name: str) -> tuple[bytes, str, str]:
        spread = verdict.spreads[name]
        x, y = place((spread.cost, spread.kept))
        ring.set_data([x], [y])
        return (
            chart.png(),
            wrapped(f"{name}: {spread}. {in_words(name)}".strip()),
            _CODE.format(escape(codes[name])),
        )

    dots = {
        each: place((verdict.spreads[each].cost, verdict.spreads[each].kept))
        for each in codes
    }
    pixels = axes.transData.transform([*dots.values()]) / chart.figure.bbox.size
    places = json.dumps(
        [[each, x, 1 - y] for each, (x, y) in zip(dots, pixels, strict=True)]
    )
    controls = {"name": choice("engine", name, [*codes], "whose code to show")}
    return Panel(controls, draw, HTML(_CLICK.format(dots=escape(places))))


def _source(name: str) -> str:
    """Return an engine's function, or what a preset has that Settings() hasn't."""
    settings, engine = NAMED[name]
    return as_code(settings) if engine is compact else code_of(engine)


def code_of(engine: ContextEngine) -> str:
    """Return an engine's source. Of a list of layers: those that are functions, then
    what runs."""
    if not isinstance(engine, Stack):
        return inspect.getsource(engine)
    functions = filter(inspect.isfunction, engine.layers)
    return "\n\n".join([*map(inspect.getsource, functions), str(engine.layers)])
