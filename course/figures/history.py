"""The picture of lesson 05: what the file holds, and what each request sends of it."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from typing import Any

from agentlib.estimation import prompt_tokens
from agentlib.transcripts import Session
from offline_api.tokens import lay_out
from session_report.amounts import many
from session_report.style import DARK, LOOKS, RED, Chart, level, plain, wrapped


def sizes(session: Session) -> list[tuple[int, int]]:
    """Return for each request the tokens of the whole history then, and of what was
    sent of it."""
    known: dict[str, Any] = {
        "model": "",
        "system": session.system,
        "tools": session.tools,
    }
    whole = (
        lay_out({**known, "messages": session.history[: s.seen]})
        for s in session.requests
    )
    views = (prompt_tokens(sent.usage) for sent in session.requests)
    return [(layout.tokens, view) for layout, view in zip(whole, views, strict=True)]


@plain
def history(session: Session, killed: int, *, title: str) -> Chart:
    """Draw the history and the view over the turns. The process was killed in turn
    `killed`."""
    chart = Chart(3.6, title)
    pairs = sizes(session)
    axes = chart.frame(0.86, 0.5, 5.06, 2.6, "")
    edges = [turn + 0.5 for turn in range(len(pairs) + 1)]
    whole, view = ([pair[n] for pair in pairs] for n in (0, 1))
    axes.stairs(whole, edges, baseline=view, fill=True, facecolor="#F4F4F4", edgecolor="#B9B9B9",
                hatch="////", hatch_linewidth=0.5, linewidth=0)  # fmt: skip
    axes.stairs(view, edges, fill=True, color=LOOKS["tool_result"].colour)
    axes.stairs(whole, edges, baseline=None, color=DARK, linewidth=1.6)
    last = edges[-1]
    window = session.settings.context_window
    top = 1.2 * whole[-1]
    level(axes, "window\n", window, "center", color=DARK, ls=":", lw=0.9)
    axes.axvline(killed + 0.5, color=RED, linewidth=2)
    words: Any = {"color": RED, "fontsize": 10, "fontweight": "bold", "va": "top"}
    axes.text(killed + 0.1, top, "kill -9", horizontalalignment="right", **words)
    axes.text(killed + 0.9, top, "a new process reads the file", **words)
    for place, text, colour in (
        (whole[-1], "history:\nin the file", DARK),
        ((whole[-1] + window) / 2, "hatched: only\nin the file", "#6B6B6B"),
        (view[-1] / 2, "view: sent with\nthe request", DARK),
    ):
        axes.text(last + 0.4, place, text, va="center", color=colour)
    for compaction in session.compactions:
        turn = 1 + sum(sent.seen < compaction.seen for sent in session.requests)
        place = (turn - 0.5, max(view[turn - 2 : turn]))
        axes.annotate("compacted", place, xytext=(turn - 0.5, 1.05 * window), ha="center",
                      va="bottom", color=DARK, bbox={"fc": "white", "ec": "none", "pad": 1.5},
                      arrowprops={"arrowstyle": "->", "color": DARK})  # fmt: skip
    axes.set(xlim=(0.5, last), ylim=(0, top), xlabel="turn")
    axes.set_ylabel("tokens")
    return chart


def sentence(session: Session, killed: int) -> str:
    """Say what the picture shows."""
    whole, view = sizes(session)[-1]
    text = f"The last request sends {view:,} tokens of a history of {whole:,}. The agent was "
    text += f"killed in turn {killed} and went on to turn {len(session.requests)}."
    return wrapped(f"{text} It was compacted {many(len(session.compactions), 'time')}.")
