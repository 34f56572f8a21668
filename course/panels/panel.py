"""A panel: any controls, a picture, and a sentence with its numbers.

It is an ordinary ipywidgets box whose picture is exchanged in place. There is no
`interact` and no `Output`, because they are slow and strict nbval can't hold them.
Setting a control in a cell does the same as moving it.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import asyncio
import base64
import contextlib
import html
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ipywidgets import HTML, Dropdown, HBox, Image, IntSlider, Layout, Text, VBox

from agentlib.settings import Settings
from session_report.style import SHOWN, wrapped

MEANINGS = {
    "KEEP_RECENT": "how many of the newest results stay whole",
    "min_chars": "results of at most so many characters stay whole",
    "summary": "tokens of each summary",
    "length": "tokens of each summary",
}
"""What the sliders of several panels mean, as a screen reader says it."""
PAUSE = 0.02
"""Seconds without a move before the next picture is drawn ahead."""
ONE_AT_A_TIME = threading.RLock()
"""Held while anything is drawn. JupyterLab moves sliders in a thread beside the cells,
and neither a figure nor matplotlib's settings can be used by two threads."""
_LABELS = Path(__file__).with_name("labels.html").read_text(encoding="utf-8")
"""Give sliders and picture the words that screen readers read: ipywidgets has no way
to."""


class Drawing(NamedTuple):
    """What a panel shows for one position of its controls."""

    png: bytes
    sentence: str
    table: str = ""
    """HTML below the sentence."""
    number: float | None = None
    """The number that the sentence is about, for a cell to use."""
    run: Any = None
    """The run that is shown, for a cell to use."""


def undrawn(error: Exception) -> Drawing:
    """Return what stands in a picture's place: the words of a wrong value or file, or
    the error."""
    kind = (
        "" if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: "
    )
    start = "" if isinstance(error, OSError) else "No picture here: "
    return Drawing(b"", wrapped(f"{start}{kind}{error}"))


class Panel(VBox):
    """Controls by name, a picture, its sentence, and perhaps a table.

    `draw` takes the controls' values by name and returns a `Drawing`, or just PNG and
    sentence. Each control is an attribute, so `panel.keep_recent.value = 1` moves it.
    If `draw` raises, the panel says why in place of a picture. If `draw` is cached by
    `functools.lru_cache`, the next step in the same direction is drawn while the reader
    looks at this one.
    """

    def __init__(
        self,
        controls: Mapping[str, Any],
        draw: Callable[..., tuple[Any, ...]],
        *more: Any,
    ) -> None:
        self.controls = dict(controls)
        self.draw = draw
        self.still = False
        natural = Layout(width=f"{SHOWN}px", max_width="100%", object_fit="contain")
        self.picture = Image(format="png", layout=natural)
        self.line = HTML()
        self.table = HTML()
        self.png = b""
        self.text = ""
        self.number: float | None = None
        self.run: Any = None
        self._ahead: asyncio.TimerHandle | None = None
        self.bar = HBox(list(controls.values()), layout=Layout(flex_flow="row wrap"))
        super().__init__([self.bar, self.picture, self.line, self.table, *more])
        for name, control in self.controls.items():
            setattr(self, name, control)
            control.observe(self._moved, names="value")
        self._moved()

    @property
    def values(self) -> dict[str, Any]:
        """The positions of the controls."""
        return {name: control.value for name, control in self.controls.items()}

    def move(self, **values: Any) -> None:
        """Set several controls at once and draw one new picture."""
        self.still = True
        try:
            for name, value in values.items():
                self.controls[name].value = value
        finally:
            self.still = False
        self._moved()

    def _moved(self, change: Any = None) -> None:
        if self.still:
            return
        if self._ahead:
            self._ahead.cancel()
        try:
            with ONE_AT_A_TIME:
                drawing = Drawing(*self.draw(**self.values))
        except Exception as error:  # shown, because the browser would drop it
            drawing = undrawn(error)
        self.png = drawing.png
        self.text = drawing.sentence
        self.number = drawing.number
        self.run = drawing.run
        self.picture.value = drawing.png
        self.picture.layout.display = None if drawing.png else "none"
        self.table.value = drawing.table
        self.line.value = (
            f'<div role="status" style="line-height: 1.4; white-space: pre-line">'
            f"{html.escape(drawing.sentence)}</div>{_LABELS}"
        )
        if (
            change
            and hasattr(self.draw, "cache_info")
            and isinstance(change["owner"], IntSlider)
        ):
            self._draw_ahead(change["owner"], change["new"] - change["old"])

    def _draw_ahead(self, moved: Any, step: int) -> None:
        """Draw the next step soon. Without an event loop, as in a script, do
        nothing."""
        to = min(max(moved.value + step, moved.min), moved.max)
        values = {
            n: to if self.controls[n] is moved else v for n, v in self.values.items()
        }

        def draw() -> None:
            # What fails here is raised again when it is wanted.
            with ONE_AT_A_TIME, contextlib.suppress(Exception):
                self.draw(**values)

        with contextlib.suppress(RuntimeError):
            self._ahead = asyncio.get_running_loop().call_later(PAUSE, draw)

    def __repr__(self) -> str:
        values = ", ".join(
            f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
            for name, value in self.values.items()
            if value != "" and not isinstance(value, bool)
        )
        return f"{wrapped(f'{values}:')}\n{self.text}"

    def _repr_mimebundle_(self, **kwargs: object) -> Any:
        """The live panel, and the picture and its numbers for where no widget is
        shown."""
        shown: dict[str, Any] = super()._repr_mimebundle_(**kwargs) or {}
        shown["text/plain"] = repr(self)
        if self.png:
            shown["image/png"] = base64.b64encode(self.png).decode("ascii")
        return shown, {"image/png": {"width": SHOWN}}


def slider(
    name: str,
    value: int,
    span: tuple[int, int, int],
    meaning: str = "",
    *,
    waits: bool = False,
) -> IntSlider:
    """Make a slider with its name beside it, from low to high by steps.

    `waits`: it counts as moved only when it is let go, because a new position takes a
    run.
    """
    low, high, step = span
    options = {
        **_named(name, meaning),
        "readout_format": ",d",
        "continuous_update": not waits,
    }
    return IntSlider(value=value, min=low, max=high, step=step, **options)


def knobs(settings: Settings, **spans: tuple[int, int, int]) -> dict[str, IntSlider]:
    """Make a slider that waits for each of these fields, standing where the field
    does."""
    names = {"keep_recent": "KEEP_RECENT", "summary_tokens": "summary"}
    places = {field: getattr(settings, field) for field in spans}
    return {n: slider(names.get(n, n), places[n], spans[n], waits=True) for n in spans}


def choice(name: str, value: str, options: Sequence[str], meaning: str) -> Dropdown:
    """Make a drop-down with its name beside it."""
    return Dropdown(options=list(options), value=value, **_named(name, meaning))


def words(name: str, meaning: str) -> Text:
    """Make an empty field with its name beside it. Enter moves it."""
    return Text(placeholder=meaning, continuous_update=False, **_named(name, meaning))


def _named(name: str, meaning: str) -> dict[str, Any]:
    return {
        "description": name,
        "tooltip": meaning or MEANINGS.get(name, ""),
        "style": {"description_width": "7.5em"},
        "layout": Layout(width="34em", max_width="100%"),
    }


def scrolling(
    table: Any, name: str, align: Literal["left", "right"] = "right", **options: Any
) -> str:
    """Turn a DataFrame into HTML that scrolls by mouse and by keyboard, some 17 lines
    at once."""
    text: str = table.to_html(
        border=0, na_rep="", index=False, justify=align, **options
    )
    for cell in ("td", "th"):
        text = text.replace(
            f"<{cell}>", f'<{cell} style="padding: 0 8px; vertical-align: top">'
        )
    return (
        f'<div role="region" tabindex="0" aria-label="{name}" style="overflow: auto; '
        f'line-height: 1.4; max-height: 24em; text-align: {align}">{text}</div>'
    )
