"""The panel of lesson 07: how often the summariser fails, and how; the session's fate on a chart.

Wiring only. The offline agent does the task anew for each place of the slider, so the first visit
takes a moment; each run is remembered. Not here: the run (play) and the faults.
"""

import textwrap
from typing import get_args

from agentlib.lab.api.faults import Fault, Kind
from agentlib.lab.figures import charts
from agentlib.lab.panels.wall import Panel, choice, slider
from agentlib.lab.play import Run, outcomes, play
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.settings import Settings

RATE = "share of the requests for a summary that fail, in percent"
HOW = "what comes in place of a summary"
KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "timeout")
"""A time-out ends as a 500 does, only later: the SDK waits for seconds before it asks again."""


def fault_panel(scenario: Scenario, settings: Settings, *, turns: int = 60, seed: int = 0) -> Panel:
    """Tokens over the turns of a task done anew, its summariser failing as the sliders say.

    The sliders are `rate` in percent of the requests for a summary, drawn by `seed`, and `how`.
    `turns`: how many the axis has room for, so that runs compare.
    """
    sound = play(scenario, settings)
    chart = charts.TurnChart(
        sound.table(),
        title="Tokens in each prompt, the summariser failing",
        top=1.3 * settings.context_window,
        kinds=("summary",),
        marks=[mark for mark in charts.MARKS if mark.compaction in ("auto", "failed")],
    )
    chart.stack.axes.set_xlim(0.5, turns + 0.5)

    def draw(rate: int, how: Kind) -> tuple[bytes, str]:
        faults = (Fault(how, rate=rate / 100, seed=seed, only="summary"),) if rate else ()
        run = play(scenario, settings, faults=faults)
        chart.update(run.table())
        return chart.png(), fate(run)

    rate = slider("fails, %", 50, (0, 100, 10), RATE)
    rate.continuous_update = False  # a new place takes a run
    return Panel({"rate": rate, "how": choice("how", "empty", KINDS, HOW)}, draw)


def fate(run: Run) -> str:
    """What became of the session, in words."""
    found = outcomes(run.session)
    made = ", ".join(f"{found[name]} {name}" for name in ("done", "cut to size", "failed"))
    text = f"{run.turns:,} turns, {run.sent:,} tokens sent; compactions: {made}. "
    text += f"Task done: {'yes' if run.checks['done'] else 'no'}."
    if run.refused:
        text += f" The API ended it: {run.refused.rstrip('.')}."
    return textwrap.fill(text, 72)
