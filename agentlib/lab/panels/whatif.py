"""The what-if panel: clearing and compacting under controls, the recorded session replayed.

Wiring only. Each move replays the session (nothing is run again, so nothing here says what the
agent would have done); the second pane, `run_pane`, does the task anew. Not here: what positions
mean (whatif_controls), the bills, the drawing (charts, bills_chart).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import base64
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ipywidgets import HTML, Button, GridBox, HBox, Layout, Textarea, ToggleButton

from agentlib.lab.figures import bills_chart, charts
from agentlib.lab.panels import whatif_controls as control
from agentlib.lab.panels.run_pane import RunPane
from agentlib.lab.panels.wall import Panel, choice, scrolling
from agentlib.lab.replay import bills, replay, table
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.settings import MODEL, Settings
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

PROMPTS, BILLS = "tokens in each prompt", "what was billed"
_COLUMNS = 72


class WhatIf(Panel):
    """The panel: controls, picture, sentence, the settings as code, and the buttons below.

    `panel.settings` is where the controls stand; it raises the ValueError that the line shows
    where they exclude each other. With a scenario, `panel.run` is the pane that runs the agent.
    """

    def __init__(self, session: Session, start: Settings, scenario: Scenario | None, model: str):
        self.known = control.bases(start)
        self.pictures = _Pictures(session, self.known[control.RECORDED], model)
        self.code = Textarea(description="as code", rows=3, layout=_wide("auto"))
        sliders = control.controls(self.known[control.RECORDED])
        sliders["shows"] = choice("shows", PROMPTS, (PROMPTS, BILLS), "what is drawn")
        super().__init__(sliders, self._draw)
        self.run = RunPane(scenario, lambda: self.settings, model) if scenario else None
        self._arrange()

    @property
    def settings(self) -> Settings:
        """What the controls stand for. Raises ValueError where they exclude each other."""
        return control.settings_at(self.known, self.values)

    def _draw(self, **values: Any) -> tuple[bytes, str]:
        try:
            settings = control.settings_at(self.known, values)
        except ValueError:
            self.code.value = "# These positions exclude each other: see above."
            raise
        self.code.value = control.as_code(settings)
        return self.pictures.draw(settings, values["shows"])

    def _moved(self, change: Any = None) -> None:
        if change and change["owner"] is self.sliders["preset"] and not self.still:
            self.move(**control.positions(self.known[change["new"]]))
            return
        self.sliders["threshold"].layout.display = _where(
            self.sliders["point"].value == control.FIXED
        )
        self.sliders["share"].layout.display = _where(self.sliders["point"].value == control.SHARE)
        super()._moved()
        if not self.still and hasattr(self, "files"):
            self.files.value = ""
            self._tabulate()

    def __repr__(self) -> str:
        return f"{textwrap.fill(self.code.value, _COLUMNS)}\n{self.text}"

    def _arrange(self) -> None:
        self.files, self.rows = HTML(), HTML()
        for each in self.sliders.values():
            each.layout = Layout(width="auto")
            each.style.description_width = "7.5em"
        self.table_button = ToggleButton(description="Show the table", icon="table")
        self.table_button.observe(self._tabulate, names="value")
        buttons = [
            _button("Reset", "undo", self.reset),
            _button("Save the picture", "save", self._save),
            self.table_button,
        ]
        grid = GridBox(list(self.sliders.values()), layout=_wide("100%", _TWO))
        bar = HBox(buttons, layout=Layout(flex_flow="row wrap"))
        shown = [grid, self.picture, self.line, self.code, bar, self.files, self.rows]
        self.children = [*shown, *([self.run] if self.run else [])]
        self._moved()

    def _save(self, button: object) -> None:
        self.files.value = links(self.png, self.pictures.svg())

    def _tabulate(self, change: object = None) -> None:
        shown = self.table_button.value
        self.rows.value = as_html(self.pictures.rows) if shown else ""


class _Pictures:
    """The two charts of a session, kept, and the table behind the one on the screen."""

    def __init__(self, session: Session, start: Settings, model: str) -> None:
        self.session, self.model, self.last = session, model, PROMPTS
        self.whole = replay(session, replace(start, enabled=False))
        self.whole_bills = bills.table(bills.bills(session, self.whole), model)
        self.rows = table(self.whole)
        known = {"auto", *("failed" if c.failure else c.trigger for c in session.compactions)}
        self.prompts = charts.TurnChart(
            self.rows,
            title="Tokens in each prompt, by kind of block",
            top=1.6 * start.context_window,
            kinds=("placeholder", "summary"),
            marks=[mark for mark in charts.MARKS if mark.compaction in known],
            ghost=list(self.rows["tokens"]),
        )
        self.bills = bills_chart.BillsChart(self.whole_bills, self.whole_bills)

    def draw(self, settings: Settings, picture: str) -> tuple[bytes, str]:
        frames = replay(self.session, settings)
        self.rows, self.last = table(frames), picture
        assert self.prompts.ghost
        self.dies = self.prompts.ghost.dies(settings.context_window)
        if picture == PROMPTS:
            self.prompts.update(self.rows)
            return self.prompts.png(), self._told()
        self.rows = bills.table(bills.bills(self.session, frames), self.model)
        ghost = self.whole_bills[: self.dies - 1] if self.dies else self.whole_bills
        self.bills.update(self.rows, ghost)
        return self.bills.png(), bills_chart.sentence(self.rows, ghost, self.dies)

    def _told(self) -> str:
        end = (
            f"it would meet the wall at turn {self.dies}"
            if self.dies
            else f"its largest prompt would be {max(frame.prompt_tokens for frame in self.whole):,}"
        )
        text = f"With nothing forgotten {end}."
        return charts.sentence(self.rows) + "\n" + textwrap.fill(text, _COLUMNS)

    def svg(self) -> bytes:
        chart = self.prompts if self.last == PROMPTS else self.bills
        return charts.svg(chart.figure)


def what_if(
    session: Session,
    settings: Settings | None = None,
    *,
    scenario: Scenario | None = None,
    model: str = MODEL,
) -> WhatIf:
    """The panel over a recorded session, standing at `settings`, by default the session's own.

    Layers that the settings switch off are switched on, or the controls would do nothing.
    `scenario`: the task to do anew in the second pane; `model`: whose prices dollars are at.
    Raises ValueError for a session without requests, or a model without a price.
    """
    return WhatIf(session, settings or session.settings, scenario, model)


def links(png: bytes, svg: bytes) -> str:
    """Links that save a picture in the browser, where nothing on the kernel's disk is written."""
    kinds = {"png": ("image/png", png), "svg": ("image/svg+xml", svg)}
    said = [
        f'<a download="what-if.{name}" href="data:{mime};base64,'
        f'{base64.b64encode(data).decode("ascii")}" style="text-decoration: underline">'
        f"{name.upper()}</a>"
        for name, (mime, data) in kinds.items()
    ]
    return f"The picture as it is now: {' · '.join(said)}"


def as_html(rows: "DataFrame") -> str:
    """The table behind the picture, a row a turn."""
    shown = rows.to_html(index=False, border=0, na_rep="", float_format=_number)
    return scrolling(shown, "table of the turns", "max-height: 17em")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or value >= 1 else f"{value:.6f}"


_TWO = "repeat(auto-fit, minmax(19em, 1fr))"


def _wide(width: str, columns: str | None = None) -> Layout:
    return Layout(width=width, max_width="100%", grid_template_columns=columns)


def _where(shown: bool) -> str | None:
    return None if shown else "none"


def _button(name: str, icon: str, does: Callable[..., None]) -> Button:
    button = Button(description=name, icon=icon, tooltip=name)
    button.on_click(does)
    return button
