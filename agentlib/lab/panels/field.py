"""The field as a panel: pick an engine or a preset, and read its numbers and its code."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets and matplotlib have no complete types.

import inspect
import sys
from collections.abc import Mapping
from functools import lru_cache
from html import escape

from agentlib.lab.figures.field import place
from agentlib.lab.figures.style import RED, wrapped
from agentlib.lab.judge import NAMED, Verdict
from agentlib.lab.panels.panel import Panel, choice
from agentlib.lab.panels.what_if import as_code
from agentlib.step import ContextEngine

_CODE = """<div role="region" tabindex="0" aria-label="its code" style="overflow: auto; \
max-height: 24em"><pre style="line-height: 1.3">{}</pre></div>"""


def field_panel(verdict: Verdict, mine: Mapping[str, ContextEngine]) -> Panel:
    """Mark a dot of the field, and show what it is. `mine`: your engines, the judged one last."""
    *trail, name = mine
    chart = verdict.picture("Pick an engine, and read its code below", trail)
    [axes] = chart.figure.axes
    (ring,) = axes.plot([], [], "o", markersize=17, mfc="none", mec=RED, mew=2)
    chart.move(ring)
    codes = {each: inspect.getsource(engine) for each, engine in mine.items()}
    codes |= {each: _source(each) for each in verdict.spreads if each in NAMED}

    @lru_cache(maxsize=64)
    def draw(name: str) -> tuple[bytes, str, str]:
        spread = verdict.spreads[name]
        x, y = place((spread.cost, spread.kept))
        ring.set_data([x], [y])
        return chart.png(), wrapped(f"{name}: {spread}."), _CODE.format(escape(codes[name]))

    return Panel({"name": choice("engine", name, [*codes], "whose code to show")}, draw)


def _source(name: str) -> str:
    """Return an engine's module, or what a preset has that Settings() hasn't."""
    settings, engine = NAMED[name]
    if (module := sys.modules[engine.__module__]).__name__ != "agentlib.pipeline":
        return inspect.getsource(module)
    return as_code(settings)
