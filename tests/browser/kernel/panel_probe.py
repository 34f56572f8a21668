"""Describe the widgets of a kernel. A notebook's kernel imports this, the tests never
do.

The functions return JSON, because their results travel as the value of an expression.
"""

import hashlib
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from ipywidgets import HTML, Checkbox, Image, Text, Textarea, Widget
from ipywidgets.widgets.widget import _instances
from ipywidgets.widgets.widget_int import _BoundedInt
from ipywidgets.widgets.widget_selection import _Selection

from course.panels.panel import ONE_AT_A_TIME, undrawn
from course.panels.what_if import WhatIf
from tools.drawing import Sheet, recording

CONTROLS = (_BoundedInt, _Selection, Checkbox, Text, Textarea)

FIRST: dict[Widget, Any] = {}
"""The values that the controls had at first."""


def state(model_id: str) -> str:
    """Return controls by their labels, sentences without markup, and hashes of
    pictures."""
    shown = list(walk(_instances[model_id]))
    controls = {w.description: value_text(w) for w in shown if is_control(w)}
    texts = [plain(w.value) for w in shown if isinstance(w, HTML)]
    pictures = [digest(w.value) for w in shown if isinstance(w, Image)]
    return json.dumps({"controls": controls, "texts": texts, "pictures": pictures})


def put_back(model_id: str) -> str:
    """Set every control to its value at the first call."""
    for widget in filter(is_control, walk(_instances[model_id])):
        widget.value = FIRST.setdefault(widget, widget.value)
    return "null"


def is_control(widget: Widget) -> bool:
    return isinstance(widget, CONTROLS) and bool(widget.description)


def differences(model_id: str) -> str:
    """Draw each panel again for its values; return what differs from what it shows."""
    panels: list[Any] = [w for w in walk(_instances[model_id]) if hasattr(w, "draw")]
    return json.dumps([fault for panel in panels for fault in stale(panel)])


def at(model_id: str, places: str) -> str:
    """Move a panel through its places, and back. Return what it says and draws at each.

    A bench remembers its trials, so a new one is moved in its stead.
    """
    panel: Any = _instances[model_id]
    own = panel.values
    moving = WhatIf(panel.source) if isinstance(panel, WhatIf) else panel
    shown = [moved(moving, values) for values in json.loads(places)]
    panel.move(**own)
    return json.dumps(shown)


def moved(panel: Any, values: dict[str, Any]) -> tuple[str, list[Any], str]:
    """Return the sentence, the marks of each picture, and the table.

    A bench is moved a control at a time, because its presets and trials move the
    others.
    """
    sheet = Sheet()
    pictures = list[Any]()
    draw = panel.draw
    panel.draw = getattr(panel.draw, "__wrapped__", panel.draw)
    with recording(sheet, pictures):
        if isinstance(panel, WhatIf):
            # Or a trial made before would draw nothing again.
            panel.turns.clear()
            panel.pictures.clear()
            for name, value in values.items():
                known = [*panel.known]
                panel.controls[name].value = known[value] if name == "trial" else value
        else:
            panel.move(**values)
    panel.draw = draw
    marks = [*sheet.marks]
    drawn = [[marks[mark][1:] for mark in picture] for _, picture in pictures]
    return panel.text, drawn, panel.table.value


def stale(panel: Any) -> Iterator[str]:
    try:
        with ONE_AT_A_TIME:
            draw = getattr(panel.draw, "__wrapped__", panel.draw)
            picture, text, *_ = draw(**panel.values)
    except Exception as error:  # a panel says why in place of a picture
        picture, text, *_ = undrawn(error)
    if text != panel.text:
        yield f"at {panel.values} it says {panel.text!r} and not {text!r}"
    if digest(picture) != digest(panel.picture.value):
        yield f"at {panel.values} the picture differs"


def walk(widget: Widget) -> Iterator[Any]:
    """Yield a widget and everything in it, in the order of the page."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from walk(child)


def value_text(widget: Any) -> str:
    """Return a control's value as the page writes it."""
    return str(widget.label if isinstance(widget, _Selection) else widget.value)


def plain(text: str) -> str:
    texts: list[str] = []
    parser = HTMLParser()
    parser.handle_data = texts.append
    parser.feed(text)
    parser.close()
    return " ".join("".join(texts).split())


def digest(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()
