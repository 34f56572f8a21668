"""The hour: the documents' agent in one notebook, built of the lessons' exercises."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

from collections.abc import Mapping

from agentlib.pipeline import ContextEngine
from course import real_model
from course.figures import charts
from course.page import run_sentence
from course.panels.panel import Panel, knobs
from course.rooms.the_wall import wall_panel as wall_panel
from course.table import Table, as_table
from course.the_hour import CLEARS as CLEARS
from course.the_hour import DOCUMENTS as DOCUMENTS
from course.the_hour import KNOBS, TURNS, WINDOW, measures, moved, units
from course.the_hour import LATE as LATE
from course.the_hour import OFF as OFF
from course.the_hour import after_a_power_cut as after_a_power_cut
from session_report.style import RED, Chart
from windtunnel.runner import Run


def chart(run: Run, title: str, killed: int = 0) -> Chart:
    """Draw the tokens of each request of a run. `killed`: a turn to mark."""
    refused = {"": run.refused} if run.refused else {}
    picture = charts.turns(run.table(), title=title, turns=TURNS, refused=refused)
    if killed:
        axes = picture.figure.axes[0]
        axes.axvline(killed + 0.5, color=RED, linewidth=1.5, linestyle=":")
        axes.text(killed + 1, 0.9 * WINDOW, "killed", color=RED)
    return picture


def agent_panel(engine: ContextEngine) -> Panel:
    """Run the task with an engine for each threshold, in tokens, and KEEP_RECENT."""

    def draw(threshold: int, keep_recent: int) -> tuple[bytes, str]:
        run, title = moved(engine, threshold, keep_recent)
        return chart(run, title).png(), run_sentence(run)

    return Panel(knobs(LATE, **KNOBS), draw)


def rows(runs: Mapping[str, Run]) -> Table:
    """Lay runs out, a row for each, with a mark at the last, and a real model's runs
    below if there are any."""
    frame = {name: measures(run) for name, run in runs.items()}
    last = list(runs)[-1]
    real, sentence = real_model.hour(runs)
    return as_table(
        frame | real, units=units(runs[last]), mark=[last], caption=sentence
    )
