"""Record charts and panels in a notebook's kernel, so that a web page can draw and play
them.

A panel is recorded at each position of its controls. If that would take long, `STOPS`
names the positions that are offered, and a line under the controls says so.
"""

import base64
import gzip
import json
import re
from collections.abc import Mapping
from functools import partial
from itertools import pairwise, product
from typing import Any

from session_report.style import LINE
from tools import runs
from tools.drawing import NotRecorded, Sheet, recording
from tools.stops import STOPS, with_own

MIME = "application/vnd.agent-course.play+json"
MOST = 2_000
"""Places that a page can hold of one panel."""

PARTS = re.compile(r"(?=<tr)|(?=<details)|(?<=</details>)")
"""Where a table is cut, so that a page holds each row and each long text in it once."""


def install(stem: str) -> None:
    """Let this kernel add a recording to the outputs of each chart and each panel."""
    from IPython.core.getipython import get_ipython

    from course.panels.panel import Panel
    from session_report.style import Chart

    runs.install()
    shell: Any = get_ipython()
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type(Chart, figure)
    formatter.for_type(Panel, partial(beside, stops=STOPS.get(stem, {})))


def beside(shown: Any, stops: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return a panel's usual outputs and its recording."""
    usual, metadata = shown._repr_mimebundle_()
    return usual | panel(shown, stops), metadata


def figure(chart: Any) -> dict[str, Any]:
    """Record a chart."""
    sheet = Sheet()
    place = [sheet.picture(chart), "", []]
    return bundle("figure", sheet, [place], text=repr(chart))


def panel(shown: Any, stops: Mapping[str, Any]) -> dict[str, Any]:
    """Record a panel at each combination of its controls' values."""
    from course.panels.what_if import WhatIf

    if isinstance(shown, WhatIf):
        return bench(shown, stops)
    controls = {
        name: offered(name, each, stops) for name, each in shown.controls.items()
    }
    values = [each["values"] for each in controls.values()]
    sheet = Sheet()
    places = list[Any]()
    chunks = dict[str, int]()
    for at in product(*values):
        picture, drawing = drawn(shown, dict(zip(controls, at, strict=True)), sheet)
        parts = PARTS.split(drawing.table) if drawing.table else []
        table = [chunks.setdefault(part, len(chunks)) for part in parts]
        places.append([picture, unwrapped(drawing.sentence), table])
    if len(places) > MOST:
        raise ValueError(
            f"{len(places):,} places are too many for a page; add stops for {values}"
        )
    moving = [each for each in controls.values() if len(each["values"]) > 1]
    more = {"controls": moving, "chunks": [*chunks], "fixed": rest(controls)}
    return bundle(
        "panel", sheet, places, text=repr(shown), sentence=unwrapped(shown.text), **more
    )


def bench(shown: Any, stops: Mapping[str, Any]) -> dict[str, Any]:
    """Record a bench. It begins where its controls stand."""
    from tools.trail import trail

    controls = {name: offered(name, each, {}) for name, each in shown.controls.items()}
    sheet, data = trail(shown, stops)
    kept = [n for n in controls if n in ("preset", "trial", "model", *data["fields"])]
    fixed = [each["label"] for name, each in controls.items() if name not in kept]
    more = {
        "controls": [controls[name] for name in kept],
        "labels": {name: controls[name]["label"] for name in kept},
        "start": shown.name,
        "fixed": f"On this page, {', '.join(fixed)} stay where the preset has them, and the others"
        " have some of their positions. “make lab” has them all.",
    }
    return bundle("trail", sheet, text=repr(shown), sentence=shown.text, **data, **more)


def unwrapped(text: str) -> str:
    """Join the lines of a sentence that were broken only because they were full."""
    whole = list[str]()
    for before, line in pairwise(["", *text.splitlines()]):
        full = before and len(before) + 1 + len(line.split(" ")[0]) > LINE
        whole += [f"{whole.pop()} {line}" if full else line]
    return "\n".join(whole)


def drawn(shown: Any, values: Mapping[str, Any], sheet: Sheet) -> tuple[Any, Any]:
    """Return what a panel shows at one place: the picture if there is one, and the
    drawing.

    What the panel can't draw is shown as the panel shows it; what can't be recorded is
    an error.
    """
    from course.panels.panel import Drawing, undrawn

    draw = getattr(shown.draw, "__wrapped__", shown.draw)
    pictures = list[Any]()
    try:
        with recording(sheet, pictures):
            drawing = Drawing(*draw(**values))
    except Exception as error:  # shown, as the panel does
        return None, undrawn(error)
    if drawing.png and not pictures:
        raise NotRecorded(
            "the panel has a picture that it didn't draw when it was asked to"
        )
    return pictures[-1] if pictures else None, drawing


def offered(name: str, control: Any, stops: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a control for a page: its values there, and the words for each."""
    kind = "select"
    every = getattr(control, "options", ())
    if hasattr(control, "step"):
        kind = "range"
        every = range(control.min, control.max + 1, control.step)
    values = with_own(control.value, stops.get(name, every))
    return {
        "name": name,
        "label": control.description,
        "help": control.tooltip,
        "type": kind,
        "values": values,
        "shown": [f"{v:,}" if isinstance(v, int) else v or "nothing" for v in values],
        "start": values.index(control.value),
        "of": len(every),
    }


def rest(controls: Mapping[str, Mapping[str, Any]]) -> str:
    """Say which positions a page doesn't have."""
    lines: list[str] = []
    for each in controls.values():
        count = len(each["values"])
        of = each["of"]
        if count == 1:
            words = {"": "empty", "False": "off"}
            where = words.get(str(each["values"][0]), f"at {each['shown'][0]}")
            lines.append(f"{each['label']} stays {where}")
        elif not of:
            lines.append(f"{each['label']} has {count} wordings")
        elif count < of:
            lines.append(f"{each['label']} has {count} of its {of} positions")
    return (
        f"On this page, {', '.join(lines)}. “make lab” has them all." if lines else ""
    )


def bundle(
    kind: str, sheet: Sheet, places: Any, *, text: str, sentence: str = "", **more: Any
) -> dict[str, Any]:
    """Return the data of an output."""
    data = {"kind": kind, **sheet.tables(), "places": places, **more}
    every = [] if kind == "trail" else [place[0] for place in places]
    high = max((picture[0] for picture in every if picture), default=0)
    play = {"high": high / 10, "sentence": sentence, "data": packed(data)}
    return {MIME: play, "text/plain": text}


def packed(data: Any) -> str:
    words = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(words.encode(), 9, mtime=0)).decode("ascii")
