"""The session of bench-panels: 200 turns that read real source, and what there is to draw of it.

Imported by the kernel that is measured. Not here: what is measured (bench_panels).
"""

import email
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from agentlib import loop
from agentlib.lab.figures import charts
from agentlib.lab.panels.panel import Panel, slider
from agentlib.lab.replay import replay, table
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from tests.fakes import asks_for_summary, call, client, say

TURNS = 200
SETTINGS = Settings(keep_recent=3).scaled(24_000)
TEXT = "".join(
    path.read_text(encoding="utf-8") for path in sorted(Path(email.__file__).parent.glob("*.py"))
)


def session() -> Session:
    """A file of 800 to 7,800 characters is read at every turn but the last."""
    folder = Path(mkdtemp())
    for n in range(TURNS):
        start = n * 1_009 % (len(TEXT) - 9_000)
        part = TEXT[start : start + 800 + n * 733 % 7_000]
        (folder / f"{n}.py").write_text(part, encoding="utf-8", newline="\n")

    def brain(body: dict[str, Any]) -> dict[str, Any]:
        if asks_for_summary(body):
            return say("All read so far. " * 40)
        n = sum(message["role"] == "assistant" for message in made.history)
        return say(call(f"toolu_{n}", "read_file", path=f"{n}.py") if n < TURNS - 1 else "Done.")

    made = Session.create(folder, settings=SETTINGS, session_id="bench")
    known: dict[str, Any] = {"settings": SETTINGS, "session": made, "max_turns": TURNS + 1}
    list(loop.run(client(brain), "Read all.", Workspace(folder), **known))
    return made


def rows(made: Session, keep_recent: int) -> Any:
    """What both sides draw: a replay, as a table."""
    return table(replay(made, replace(SETTINGS, keep_recent=keep_recent)))


def panel(made: Session) -> Panel:
    """A panel over the session, which draws the next step in a pause."""
    chart = charts.turns(rows(made, 3), top=1.6 * 24_000)

    def draw(window: int, keep_recent: int) -> tuple[bytes, str]:
        turns = table(replay(made, replace(SETTINGS, keep_recent=keep_recent).scaled(window)))
        chart.update(turns)
        return chart.png(), charts.sentence(turns)

    sliders = {
        "window": slider("window", 24_000, (6_000, 36_000, 1_500), "tokens of one request"),
        "keep_recent": slider("KEEP_RECENT", 3, (0, 20, 1), "results that stay whole"),
    }
    return Panel(sliders, lru_cache(maxsize=64)(draw))
