"""Move the panels of a notebook. Its kernel imports this, the tests never do."""

import json
from typing import Any

from IPython.core.getipython import get_ipython

from agentlib.lab.panels.panel import Panel
from agentlib.lab.panels.what_if import WhatIf
from tools.drawing import Sheet, recording

PANELS: list[Panel] = []
"""Those that were displayed, in their order."""


def install() -> None:
    """Keep each panel that is displayed."""
    shell: Any = get_ipython()
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type(Panel, lambda panel: PANELS.append(panel) or {"text/plain": ""})


def print_moves(moves: list[list[dict[str, Any]]]) -> None:
    """Move each panel through its places. Print what it says and draws there, as JSON."""
    pairs = zip(PANELS, moves, strict=True)
    print(json.dumps([[shown(panel, each) for each in places] for panel, places in pairs]))


def shown(panel: Panel, values: dict[str, Any]) -> tuple[str, list[Any], str]:
    """Return the sentence, the marks of each picture, and the table.

    A bench is moved a control at a time, because its presets and trials move the others.
    """
    sheet, pictures = Sheet(), list[Any]()
    draw, panel.draw = panel.draw, getattr(panel.draw, "__wrapped__", panel.draw)
    with recording(sheet, pictures):
        if isinstance(panel, WhatIf):
            for name, value in values.items():
                known = [*panel.known]
                panel.controls[name].value = known[value] if name == "trial" else value
        else:
            panel.move(**values)
    panel.draw = draw
    marks = [*sheet.marks]
    drawn = [[marks[mark][1:] for mark in picture] for _, picture in pictures]
    return panel.text, drawn, panel.table.value
