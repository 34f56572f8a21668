"""What each compaction of a session left: head, summary and tail in tokens, and what stands there.

A generation is a compaction, counted from the first. The bars of lesson 06 are drawn from it. Not
here: how it came about (head_and_tail) and tokens over the turns (charts).
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.style
from matplotlib.patches import Patch
from matplotlib.ticker import StrMethodFormatter

from agentlib.estimation import message_tokens
from agentlib.head_and_tail import summary_index
from agentlib.lab.figures.artists import LOOKS
from agentlib.lab.figures.charts import DPI, WIDTH, Chart, Kept
from agentlib.lab.tasks.scenarios import Scenario
from agentlib.messages import Message
from agentlib.transcripts import Session

PARTS = {"head": LOOKS["user"], "summary": LOOKS["summary"], "tail": LOOKS["tool_result"]}
"""How each part is drawn, from the bottom up."""


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The context as one compaction left it: tokens by part, and what of the task it holds."""

    head: int
    summary: int
    tail: int
    facts: int = 0
    """Planted facts that stand in head and summary; the tail is on its way out."""
    rule: bool = False
    """Whether the person's rule stands there."""


def left(context: Sequence[Message], scenario: Scenario | None = None) -> Generation | None:
    """The parts of a context, or None where no compaction has been.

    >>> said = {"role": "user", "content": "[Conversation compressed. Transcript: t]\\n\\nDone."}
    >>> asks, answer = ({"role": r, "content": "Go on."} for r in ("user", "assistant"))
    >>> found = left([asks, said, answer])
    >>> (found.head, found.tail) == tuple(round(message_tokens(m)) for m in (asks, answer))
    True
    >>> left([asks, answer]) is None
    True
    """
    at = summary_index(context)
    if at is None:
        return None
    sizes = [round(message_tokens(message)) for message in context]
    known = json.dumps(context[: at + 1], ensure_ascii=False)
    facts, rule = (scenario.facts, scenario.constraint) if scenario else ((), "")
    return Generation(
        head=sum(sizes[:at]),
        summary=sizes[at],
        tail=sum(sizes[at + 1 :]),
        facts=sum(fact in known for fact in facts),
        rule=bool(rule) and rule in known,
    )


def generations(session: Session, scenario: Scenario | None = None) -> list[Generation]:
    """One for each compaction that was followed by a request; those that failed left out."""
    found: list[Generation | None] = []
    for done in session.compactions:
        sent = next((r for r in session.requests if r.seen >= done.seen), None)
        if done.message and sent:
            found.append(left(sent.context, scenario))
    return [each for each in found if each]


def bars(
    rows: Mapping[str, Sequence[Generation]], *, facts: int = 0, top: int | None = None
) -> Chart:
    """Head, summary and tail of each generation as stacked bars; the names are the titles.

    `facts`: how many there are; above each bar stands how many of them are left, and a cross where
    the rule is gone; 0: nothing. `top`: the top of the axis in tokens. One to two names.
    """
    count = max((len(each) for each in rows.values()), default=0)
    known = [Patch(label=name, **_look(name)) for name in PARTS]
    high = top or 1.2 * max(sum(_sizes(g)) for each in rows.values() for g in each)
    with matplotlib.style.context("default"):
        figure = Chart(figsize=(WIDTH, 3.1), dpi=DPI, facecolor="white", layout="constrained")
        plots: Any = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
        for axes, (title, found) in zip(plots, rows.items(), strict=True):
            _stacked(axes, found)
            axes.set(xlabel="compaction", ylim=(0, high))
            axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
            axes.spines[["top", "right"]].set_visible(False)
            _across(axes, count)
            _said(axes, found, facts)
        plots[0].yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        plots[0].set_ylabel("tokens it left")
        figure.legend(handles=known, loc="outside lower center", ncols=3, frameon=False)
    return figure


class BarChart:
    """`bars` of one session, laid out once: `update` gives it other numbers, `png` draws them."""

    def __init__(self, found: Sequence[Generation], *, title: str, top: int) -> None:
        self.figure = bars({title: found}, top=top)
        self.kept = Kept(self.figure)
        self.update(found)

    def update(self, found: Sequence[Generation]) -> None:
        """Other bars, and as many places as there are compactions."""
        axes = self.figure.axes[0]
        for patch in [*axes.patches]:
            patch.remove()
        with matplotlib.style.context("default"):
            _stacked(axes, found)
            _across(axes, len(found))
        for moving in (*axes.patches, axes.xaxis):
            moving.set_animated(True)

    def png(self) -> bytes:
        """The picture as it is now."""
        axes = self.figure.axes[0]
        return self.kept.png([*axes.patches, axes.xaxis, axes.spines["bottom"]])


def _stacked(axes: Any, found: Sequence[Generation]) -> None:
    base = [0] * len(found)
    for name in PARTS:
        sizes = [getattr(each, name) for each in found]
        places = range(1, len(found) + 1)
        axes.bar(places, sizes, bottom=base, **_look(name))
        base = [low + size for low, size in zip(base, sizes, strict=True)]


def _look(name: str) -> dict[str, Any]:
    look = PARTS[name]
    colours = {"facecolor": look.colour, "edgecolor": "black"}
    return {**colours, "hatch": look.pattern, "linewidth": 0.5}


def _across(axes: Any, count: int) -> None:
    axes.set(xlim=(0.4, max(count, 1) + 0.6), xticks=range(1, max(count, 1) + 1))


def _said(axes: Any, found: Sequence[Generation], facts: int) -> None:
    for place, each in enumerate(found, 1):
        if facts:
            text = f"{each.facts}/{facts}" + ("" if each.rule else "\n✗ rule")
            axes.text(place, sum(_sizes(each)), text, ha="center", va="bottom", fontsize=7)


def _sizes(each: Generation) -> tuple[int, int, int]:
    return each.head, each.summary, each.tail
