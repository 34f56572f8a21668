"""The panel of lesson 06: head, tail and summary in tokens, by replay. Wiring only.

A replay moves at once and knows no behaviour; its summaries are stand-ins of the length on the
slider. Not here: the replay, what a compaction left (generations) and the drawing.
"""

import textwrap
from dataclasses import replace

from agentlib.lab.figures import charts
from agentlib.lab.generations import BarChart, Generation, left
from agentlib.lab.panels.ahead import Ahead
from agentlib.lab.panels.wall import Panel, slider
from agentlib.lab.replay import Frame, replay, table
from agentlib.settings import Settings
from agentlib.transcripts import Session

HEAD = "tokens of the head: the first words, an exchange or two"
TAIL = "tokens of the tail: the newest exchanges"
LENGTH = "tokens of each summary"
TITLE = "What each compaction left, the recorded session replayed"


def tail_panel(session: Session, settings: Settings) -> Panel:
    """What each compaction of a recorded session leaves, for each place of the three sliders.

    `settings`: where the sliders start; all else in it stays. `head_tokens` and `summary_tokens`
    go up to an eighth of the window, `tail_tokens` to the compaction point.
    """
    point, most = settings.threshold_tokens, settings.context_window // 8
    began = replay(session, settings, summary_tokens=settings.summary_tokens)
    chart = BarChart(_found(began), title=TITLE, top=int(1.2 * point))

    def draw(head_tokens: int, tail_tokens: int, summary_tokens: int) -> tuple[bytes, str]:
        ends = {"head_tokens": head_tokens, "tail_tokens": tail_tokens}
        moved = replace(settings, **ends, summary_tokens=summary_tokens)
        frames = replay(session, moved, summary_tokens=summary_tokens)
        chart.update(found := _found(frames))
        return chart.png(), _text(frames, found)

    sliders = {
        "head_tokens": slider("head", settings.head_tokens, (0, most, 40), HEAD),
        "tail_tokens": slider("tail", settings.tail_tokens or 0, (0, point, 80), TAIL),
        "summary_tokens": slider("summary", settings.summary_tokens, (50, most, 50), LENGTH),
    }
    return Panel(sliders, Ahead(draw))


def _found(frames: list[Frame]) -> list[Generation]:
    made = [f for f in frames if f.compaction not in (None, "failed")]
    return [each for frame in made if (each := left(frame.context))]


def _text(frames: list[Frame], found: list[Generation]) -> str:
    text = charts.sentence(table(frames))
    if not found:
        return text
    last = found[-1]
    parts = f"head {last.head:,}, summary {last.summary:,}, tail {last.tail:,} tokens"
    return f"{text}\n" + textwrap.fill(f"The last compaction left {parts}.", 72)
