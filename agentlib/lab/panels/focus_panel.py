"""The panel of lesson 04: a button that compacts now, and a field for what to keep.

Wiring only. The button does what `/compact` does in the terminal; then the agent goes on to the
end of its task, so that what was forgotten shows. Not here: the run (by_hand) and the drawing
(window_map).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import textwrap
from typing import Any

from ipywidgets import HTML, Button, HBox, Image, Layout, Text

from agentlib.lab.figures.charts import png
from agentlib.lab.figures.window_map import window_maps
from agentlib.lab.panels.ahead import ONE_AT_A_TIME
from agentlib.lab.panels.wall import Pictured, slider, status
from agentlib.lab.play import Run, play
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.settings import Settings

_WHEN = "the turn after which the agent waits for you"
_KEEP = "what the summary is to keep, concretely; may be empty"


class FocusPanel(Pictured):
    """Compact by hand: `after` says when, `words` what to keep, `button` does it.

    `panel.words.value = "…"` and `panel.button.click()` are typing and pressing. Another place or
    other words do nothing until the button is pressed again; `again` (Reset) puts all back.
    """

    def __init__(
        self, scenario: Scenario, settings: Settings, *, after: int, turns: int = 40
    ) -> None:
        self.scenario, self.settings, self.start = scenario, settings, after
        self.after: Any = slider("after turn", after, (1, turns, 1), _WHEN)
        self.words = Text(
            description="focus",
            placeholder="rules of the user",
            tooltip=_KEEP,
            continuous_update=False,
            style={"description_width": "7.5em"},
            layout=Layout(width="38em", max_width="100%"),
        )
        self.button = Button(description="Compact now", tooltip="as /compact does in the terminal")
        self.again = Button(description="Reset", tooltip="back to the window before")
        self.picture = Image(format="png", layout=Layout(max_width="100%", object_fit="contain"))
        self.line = HTML()
        self.png, self.text = b"", ""
        buttons = HBox([self.button, self.again], layout=Layout(flex_flow="row wrap"))
        super().__init__([self.after, self.words, buttons, self.picture, self.line])
        self.after.continuous_update = False
        self.after.observe(self._waiting, names="value")
        self.button.on_click(self._compact)
        self.again.on_click(self._reset)
        self._waiting()

    def _waiting(self, change: object = None) -> None:
        """The window as it is, before anything is pressed."""
        self._show(None)

    def _compact(self, button: object = None) -> None:
        self._show(self.words.value.strip())

    def _reset(self, button: object = None) -> None:
        self.words.value = ""
        if self.after.value == self.start:
            self._show(None)
        self.after.value = self.start  # where it moves, it draws

    def _show(self, focus: str | None) -> None:
        try:
            after = self.after.value
            run = play(self.scenario, self.settings, compact_after=after, focus=focus or "")
            views = {"Before": run.before}
            if focus is not None:
                views["After"] = run.step.messages
            with ONE_AT_A_TIME:
                self.png = png(window_maps(views, window=self.settings.context_window))
            self.text = _now(run, self.settings) if focus is None else told(run, self.scenario)
        except Exception as error:  # shown, not lost: the browser would drop it
            self.png, self.text = b"", _lines(f"{type(error).__name__}: {error}")
        self.picture.value = self.png or self.picture.value
        warning = "" if self.png else "<b>No new picture.</b> "
        self.line.value = status(self.text, warning)

    def __repr__(self) -> str:
        focus = f"focus {self.words.value.strip()!r}" if self.words.value.strip() else "no focus"
        return f"after turn {self.after.value:,}, {focus}:\n{self.text}"


def _now(run: Run, settings: Settings) -> str:
    size, window = run.step.tokens_before, settings.context_window
    return f"{size:,} tokens, {100 * size // window}% of the window. Not compacted yet."


def told(run: Run, scenario: Scenario) -> str:
    """A compaction by hand and what came of it, in three sentences."""
    step = run.step
    if step.compaction != "manual":
        return _lines(
            f"Nothing was compacted: {step.failure or 'there is nothing to replace yet'}."
        )
    kept, checks = run.kept(scenario), run.checks
    rule = "kept" if kept["rule"] else "lost"
    text = f"{step.tokens_before:,} -> {step.tokens_after:,} tokens. The summary holds "
    text += f"{kept['facts']} of {len(scenario.facts)} facts and {kept['names']} names; "
    text += f"the rule is {rule}. The agent went on, {run.turns:,} turns in all"
    if "described" in checks:
        text += f": the report describes {checks['described']} of {checks['files']} files"
        text += f", rule {'kept' if checks['constraint'] else 'broken'}"
    return _lines(f"{text}.")


def _lines(text: str) -> str:
    return textwrap.fill(text, 72)
