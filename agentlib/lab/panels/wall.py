"""Panels: sliders over a chart, and a line of text with the numbers. Wiring only.

A panel is an ordinary ipywidgets box whose picture is exchanged in place: no `interact`, no
`Output`, so that it is quick, strict nbval holds it, and nothing that goes wrong gets lost: an
error stands in the text line and in the panel's repr. Setting a slider in a cell does what moving
it does. Not here: what is computed (replay) and how it is drawn (charts).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import base64
import html
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ipywidgets import HTML, Dropdown, Image, IntSlider, Layout, VBox

from agentlib.lab.figures import charts
from agentlib.lab.panels.ahead import ONE_AT_A_TIME, Ahead
from agentlib.lab.replay import replay, table
from agentlib.settings import Settings
from agentlib.transcripts import Session

WINDOW = "tokens of one request; the compaction point moves with it"
BOTH_LAYERS: dict[str, Any] = {
    "enabled": True,
    "auto": True,
    "micro": "clear",
    "clear_when": "always",
}
KEEP_RECENT = "how many of the newest results stay whole"

_LABELS = (
    '<img alt="" style="display: none" src="data:image/svg+xml,%3Csvg '
    "xmlns='http://www.w3.org/2000/svg'/%3E\" onload=\"setTimeout(() => { "
    "const panel = this.closest('.widget-vbox'), line = this.closest('.widget-html'); "
    "if (!panel) return; for (const each of panel.querySelectorAll('.widget-slider')) "
    "each.querySelector('[role=slider]').setAttribute('aria-label', "
    "each.querySelector('label').textContent); "
    "const picture = panel.querySelector('.widget-image'); "
    'if (picture) picture.alt = line.textContent; }, 100)">'
)
"""What screen readers read for sliders and picture: ipywidgets has no way to say it."""


class Pictured(VBox):
    """A box that shows a picture, `png`; notebooks keep a copy of it, where no widget is shown."""

    png: bytes = b""

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        """The live panel; beside it the picture and the numbers, where widgets are not shown."""
        shown: dict[str, Any] = super()._repr_mimebundle_(**kwargs) or {}
        shown["text/plain"] = repr(self)
        if self.png:
            shown["image/png"] = base64.b64encode(self.png).decode("ascii")
        return shown


class Panel(Pictured):
    """Sliders by name, a picture and its sentence.

    `draw` gets the sliders' values by name and returns PNG and sentence. Each slider is an
    attribute: `panel.keep_recent.value = 1` moves it. An error of `draw` is shown, and the last
    picture stays. Drop-downs and check boxes are sliders too. Where `draw` is an `Ahead`, the
    next step in the direction of the last is drawn before it is asked for.
    """

    def __init__(self, sliders: Mapping[str, Any], draw: Callable[..., tuple[bytes, str]]) -> None:
        self.sliders, self.draw = dict(sliders), draw
        self.start, self.still = self.values, False
        self.picture = Image(format="png", layout=Layout(max_width="100%", object_fit="contain"))
        self.line = HTML()
        self.png, self.text = b"", ""
        super().__init__([*self.sliders.values(), self.picture, self.line])
        for name, slider in self.sliders.items():
            if not hasattr(self, name):  # a learner may name a setting like a part of the panel
                setattr(self, name, slider)
            slider.observe(self._moved, names="value")
        self._moved()

    @property
    def values(self) -> dict[str, Any]:
        """Where the sliders stand."""
        return {name: slider.value for name, slider in self.sliders.items()}

    def move(self, **values: Any) -> None:
        """Set several sliders at once: one new picture."""
        self.still = True
        try:
            for name, value in values.items():
                self.sliders[name].value = value
        finally:
            self.still = False
        self._moved()

    def reset(self, button: object = None) -> None:
        """All sliders back to where they stood at first."""
        self.move(**self.start)

    def _moved(self, change: Any = None) -> None:
        if self.still:
            return
        try:
            with ONE_AT_A_TIME:
                self.png, self.text = self.draw(**self.values)
        except Exception as error:  # shown, not lost: the browser would drop it
            self.png, self.text = b"", f"{type(error).__name__}: {error}"
        self.picture.value = self.png or self.picture.value
        warning = "" if self.png else "<b>No new picture.</b> "
        self.line.value = status(self.text, warning) + _LABELS
        if change and isinstance(self.draw, Ahead) and hasattr(change["owner"], "min"):
            self.draw.expect(**self._next(change["owner"], change["new"] - change["old"]))

    def _next(self, moved: Any, step: int) -> dict[str, Any]:
        """The values after the same step again, as far as the slider goes."""
        to = min(max(moved.value + step, moved.min), moved.max)
        return {name: to if each is moved else each.value for name, each in self.sliders.items()}

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {_said(value)}" for name, value in self.values.items())
        return f"{textwrap.fill(values, 72)}:\n{self.text}"


def wall(session: Session, settings: Settings | None = None) -> Panel:
    """What fills the window, by the window's size and KEEP_RECENT: a replay at each move.

    `settings`: the policy to start from, by default the session's own, but always with both
    layers on and old results cleared at every turn. The sliders are `window` in tokens, a quarter
    to one and a half of the start, and `keep_recent` in results. Raises ValueError for a session
    without requests.
    """
    start = replace(settings or session.settings, **BOTH_LAYERS)
    known = {"auto", *("failed" if c.failure else c.trigger for c in session.compactions)}
    width = start.context_window
    chart = charts.TurnChart(
        table(replay(session, replace(start, enabled=False))),
        title="Tokens in each prompt, by kind of block",
        top=1.6 * width,
        kinds=("placeholder", "summary"),
        marks=[mark for mark in charts.MARKS if mark.compaction in known],
    )

    def draw(window: int, keep_recent: int) -> tuple[bytes, str]:
        rows = table(replay(session, replace(start, keep_recent=keep_recent).scaled(window)))
        chart.update(rows)
        return chart.png(), charts.sentence(rows)

    sliders = {
        "window": slider("window", width, (width // 4, width * 3 // 2, width // 16), WINDOW),
        "keep_recent": slider("KEEP_RECENT", start.keep_recent, (0, 20, 1), KEEP_RECENT),
    }
    return Panel(sliders, Ahead(draw))


def status(text: str, before: str = "") -> str:
    """A line that screen readers read out when it changes; `before` is HTML."""
    return f'<div role="status" style="line-height: 1.4">{before}{html.escape(text)}</div>'


def scrolling(table: str, name: str, style: str = "") -> str:
    """A table in HTML that scrolls by itself, by mouse and by keyboard; numbers to the right."""
    shown = table.replace("<td>", f"<td {_CELL}>").replace("<th>", f"<th {_CELL}>")
    return (
        f'<div role="region" tabindex="0" aria-label="{name}" '
        f'style="overflow: auto; line-height: 1.4; {style}">{shown}</div>'
    )


_CELL = 'style="text-align: right; padding: 2px 8px"'


def slider(name: str, value: int, span: tuple[int, int, int], meaning: str) -> IntSlider:
    """A slider with its name beside it, from low to high by steps; the arrow keys move it too."""
    low, high, step = span
    return IntSlider(
        value=value,
        min=low,
        max=high,
        step=step,
        description=name,
        tooltip=meaning,
        readout_format=",d",
        style={"description_width": "7.5em"},
        layout=Layout(width="38em", max_width="100%"),
    )


def choice(name: str, value: str, options: Sequence[str], meaning: str) -> Dropdown:
    """A drop-down with its name beside it."""
    return Dropdown(
        options=list(options),
        value=value,
        description=name,
        tooltip=meaning,
        style={"description_width": "7.5em"},
        layout=Layout(width="38em", max_width="100%"),
    )


def _said(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
