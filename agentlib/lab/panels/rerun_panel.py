"""The panel of lesson 02: KEEP_RECENT and the smallest size, and the agent works again.

Wiring only. A run takes a second or two, so it starts when a slider is let go, and each setting is
run once. Not here: the run (play) and the drawing (charts).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import textwrap
from dataclasses import replace

from agentlib.lab.figures import charts
from agentlib.lab.panels.wall import KEEP_RECENT, Panel, slider
from agentlib.lab.play import Run, play
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.settings import Settings

SMALLEST = "results of so many characters or fewer stay whole"


def rerun_panel(scenario: Scenario, settings: Settings, *, turns: int = 160) -> Panel:
    """Tokens over the turns of a task that is done anew for each place of the sliders.

    `settings`: where the sliders start; all else in it stays. `turns`: how many the axis has room
    for, so that runs of different lengths compare. The sliders are `keep_recent` in results and
    `min_chars` in characters.
    """
    chart = charts.TurnChart(
        play(scenario, settings).table(),
        title="Tokens in each prompt, the task done anew",
        kinds=("placeholder",),
    )
    chart.stack.axes.set_xlim(0.5, turns + 0.5)

    def draw(keep_recent: int, min_chars: int) -> tuple[bytes, str]:
        run = play(scenario, replace(settings, keep_recent=keep_recent, min_chars=min_chars))
        chart.update(run.table())
        return chart.png(), told(run)

    sliders = {
        "keep_recent": slider("KEEP_RECENT", settings.keep_recent, (0, 40, 1), KEEP_RECENT),
        "min_chars": slider("min_chars", settings.min_chars, (0, 14_000, 100), SMALLEST),
    }
    for each in sliders.values():
        each.continuous_update = False
    return Panel(sliders, draw)


def told(run: Run) -> str:
    """A run in a sentence."""
    checks = ", ".join(f"{name} {_shown(value)}" for name, value in run.checks.items())
    text = f"{run.turns:,} turns, {run.repeated:,} calls made again, {run.sent:,} tokens sent"
    text += f"; {checks}."
    if run.refused:
        text += f" The API ended it: {run.refused.rstrip('.')}."
    return textwrap.fill(text, 72)


def _shown(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value}"
