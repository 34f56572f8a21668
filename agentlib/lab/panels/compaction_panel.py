"""The panel of lesson 03: the compaction point and the length of the summary, by replay.

Wiring only. A replay moves at once and knows no behaviour; where the agent itself has worked at
just these numbers, what came of it stands below. Not here: the replay, the runs and the drawing.
"""

import textwrap
from collections.abc import Iterable
from dataclasses import replace

from agentlib.lab.figures import charts
from agentlib.lab.panels.ahead import Ahead
from agentlib.lab.panels.rerun_panel import told
from agentlib.lab.panels.wall import Panel, slider
from agentlib.lab.play import Run
from agentlib.lab.replay import replay, table
from agentlib.settings import Settings
from agentlib.transcripts import Session

POINT = "past so many tokens the conversation is compacted"
LENGTH = "tokens of each summary"
STEP = 160


def compaction_panel(session: Session, settings: Settings, runs: Iterable[Run] = ()) -> Panel:
    """Tokens over the turns of a recorded session, for each place of the two sliders.

    `settings`: where the sliders start; all else in it stays. The sliders are `threshold`, an
    eighth of the window up to window - reserve - buffer, and `summary_tokens`, up to half of the
    window. `runs`: what is said beside the replay where one was made at the same two numbers.
    """
    known = {(r.settings.threshold_tokens, r.settings.summary_tokens): told(r) for r in runs}
    window = settings.context_window
    highest = window - settings.output_reserve - settings.buffer
    chart = charts.TurnChart(
        table(replay(session, settings)),
        title="Tokens in each prompt, the recorded session replayed",
        top=1.15 * window,
        kinds=("summary",),
        marks=[mark for mark in charts.MARKS if mark.compaction in ("auto", "failed")],
    )

    def draw(threshold: int, summary_tokens: int) -> tuple[bytes, str]:
        moved = replace(settings, threshold=threshold, summary_tokens=summary_tokens)
        rows = table(replay(session, moved, summary_tokens=summary_tokens))
        chart.update(rows)
        agent = known.get((threshold, summary_tokens), "not tried at these two numbers.")
        said = textwrap.fill(f"The agent itself: {agent}", 72)
        return chart.png(), f"{charts.sentence(rows)}\n{said}"

    point = (window // 8, highest, STEP)
    sliders = {
        "threshold": slider("point", settings.threshold_tokens, point, POINT),
        "summary_tokens": slider(
            "summary", settings.summary_tokens, (100, window // 2, 100), LENGTH
        ),
    }
    return Panel(sliders, Ahead(draw))
