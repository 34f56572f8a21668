"""The figures of lesson 01: what an estimate says beside the bills, and where its alarm rings."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from agentlib.lab.figures.style import DARK, RED, ROOM, WIDTH, Chart, plain, points, wrapped
from agentlib.settings import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_SHARES = {"conversation": ROOM, "buffer": "#C9C9C9", "reserve": "#8A8A8A"}
_REFUSED = "#F0D8D3"
_SMALL: Any = {"fontsize": 9, "va": "center"}
_TOPS = (1.6, 2.5, 5.5)
"""Ends of the axis, in windows. The first that has room for the alarm is taken."""


@plain
def beside(tables: Mapping[str, "DataFrame"], settings: Settings) -> Chart:
    """Draw runs below each other: bills as an area, what the estimate said as a line.

    `tables`: by title, the table of `lab.replay.estimates.readings`. A request that was refused is
    a bar through the wall. Where the alarm rang, an arrow leads to what was sent instead.
    """
    plot = 2.5 if len(tables) == 1 else 1.75
    chart, window = Chart(0.25 + len(tables) * (plot + 0.65)), settings.context_window
    turns = max(map(len, tables.values()))
    highest = max(table[["billed", "said"]].to_numpy().max() for table in tables.values())
    for row, (title, table) in enumerate(tables.items(), 1):
        axes = chart.frame(0.84, chart.height - row * (plot + 0.65) + 0.3, 4.9, plot, title)
        axes.set(xlim=(0.5, turns + 1.5), ylim=(0, 1.12 * max(window, highest)))
        axes.set_ylabel("tokens in the prompt")
        for name, tokens, style, side in (
            ("window", window, "-", "bottom"),
            ("alarm set to", settings.threshold_tokens, "--", "top"),
        ):
            axes.axhline(tokens, color=DARK, linestyle=style, linewidth=2 if style == "-" else 1.3)
            axes.text(turns + 1.8, tokens, f"{name} {tokens:,}", fontsize=9, va=side)
        _bills_and_estimate(axes, table, window)
    chart.figure.axes[-1].set_xlabel("turn (one request each)")
    return chart


def _bills_and_estimate(axes: "Axes", table: "DataFrame", window: int) -> None:
    rows: list[Any] = [*table.itertuples()]
    sent = [row.billed for row in rows if row.billed <= window]
    red: Any = {"color": RED, "fontsize": 9}
    arrow = {"arrowstyle": "-|>", "color": DARK, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    axes.stairs(sent, [n + 0.5 for n in range(len(sent) + 1)], fill=True, color=ROOM)
    axes.text(len(sent) / 4, 0.06 * window, "area: billed", fontsize=9, color=DARK)
    for row in rows[len(sent) :]:
        axes.bar(row.turn, row.billed, 1, facecolor=_REFUSED, edgecolor=RED, linewidth=1.4)
        axes.text(row.turn - 0.8, row.billed, f"refused: {row.billed:,}", **red, ha="right")
    axes.plot(table["turn"], table["said"], drawstyle="steps-mid", color=RED, linewidth=2)
    axes.text(len(rows) + 0.7, rows[-1].said, f"estimate {rows[-1].said:,}", **red, va="center")
    for row in rows:
        if row.rang:
            ends: Any = {"xy": (row.turn, row.billed), "xytext": (row.turn, row.said)}
            axes.annotate("", **ends, arrowprops=arrow)
            axes.text(row.turn - 0.7, row.said, "rings", **red, ha="right", va="bottom")


@plain
def shares(settings: Settings, rings: float, off: int = 0) -> Chart:
    """Draw the window as one bar, and the real prompt size at which the alarm rings.

    `off`: the estimate's error in percent, for the words at the arrow.
    """
    window, point = settings.context_window, settings.threshold_tokens
    late = rings > window - settings.output_reserve
    colour, words = RED if late else DARK, _SMALL
    top = window * next((t for t in _TOPS if t * window > 1.05 * rings), _TOPS[-1])
    chart = Chart(2.6, _title(settings, rings))
    axes = chart.frame(0.12, 0.46, WIDTH - 0.52, 1.7, "")
    axes.set(xlim=(0, top), ylim=(0, 1), yticks=[], xlabel="tokens that are really in the prompt")
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _bar(axes, settings, words)
    axes.plot([point, point], [0.22, 0.7], color=DARK, linestyle="--", linewidth=1.3)
    _beside(axes, point, 0.74, f"set to {point:,}", not late and rings < point)
    axes.plot([rings, rings], [0.22, 0.6], color=colour, linewidth=2)
    axes.plot(rings, 0.64, "v", markersize=13, color=colour)
    if off:
        way: Any = {"xy": (rings, 0.72), "xytext": (point, 0.87)}
        arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.6, "shrinkA": 0}
        axes.annotate("", **way, arrowprops=arrow | {"connectionstyle": "angle,angleA=0,angleB=90"})
        how = f"the estimate reads {abs(off)} % {'low' if off < 0 else 'high'}"
        _beside(axes, rings, 0.96, how, rings < top / 2, color=colour)
    return chart


def _beside(axes: "Axes", at: float, height: float, text: str, right: bool, **looks: Any) -> None:
    """Write at one side of a place: at the other one, if there is no room."""
    top, wide = axes.get_xlim()[1], _wide(axes, text)
    right = at + wide <= top if right else at < wide
    gap = 0.008 * top if right else -0.008 * top
    axes.text(at + gap, height, text, ha="left" if right else "right", **looks, **_SMALL)


def _wide(axes: "Axes", text: str) -> float:
    """Return the tokens of the axis that a label takes, with a little air."""
    inches = axes.get_position().width * WIDTH
    return (points(text) / 72 + 0.12) / inches * axes.get_xlim()[1]


def _bar(axes: "Axes", settings: Settings, words: Any) -> None:
    """Draw conversation, buffer and reserve, and the prompts behind them that the API refuses."""
    start, window, free = 0, settings.context_window, 0.0
    sizes = (settings.threshold_tokens, settings.buffer, settings.output_reserve)
    for (name, fill), size in zip(_SHARES.items(), sizes, strict=True):
        axes.barh(0.37, size, 0.3, left=start, color=fill)
        if size:
            half = _wide(axes, name) / 2
            middle = start + size / 2
            place = max(middle, free + half)
            axes.plot([middle, place], [0.22, 0.13], color=DARK, linewidth=0.8)
            axes.text(place, 0.06, name, ha="center", **words)
            free = place + half
        start += size
    top = axes.get_xlim()[1]
    axes.barh(0.37, top - window, 0.3, left=window, color=_REFUSED)
    axes.plot([window, window], [0.22, 0.57], color=DARK, linewidth=3)
    past, patch = f"past {window:,}: refused", {"fc": _REFUSED, "ec": "none"}
    axes.text(window + 0.015 * top, 0.37, past, color=RED, zorder=4, bbox=patch, **words)


def _title(settings: Settings, rings: float) -> str:
    if rings > settings.context_window:
        return f"An alarm that can't ring: it waits for {rings:,.0f} tokens"
    if rings > settings.context_window - settings.output_reserve:
        return f"The alarm rings at {rings:,.0f}, too late for the answer"
    early = "in time" if rings >= settings.threshold_tokens else "earlier than it has to"
    return f"The alarm rings at {rings:,.0f}, {early}"


def shares_sentence(settings: Settings, rings: float) -> str:
    """Say what the bar shows."""
    window, reserve, buffer = settings.context_window, settings.output_reserve, settings.buffer
    text = f"{window:,} - {reserve:,} - {buffer:,} = {settings.threshold_tokens:,}; the alarm"
    text += f" rings at {rings:,.0f}: "
    if rings > window:
        text += "never, the API refuses the request first."
    elif rings > window - reserve:
        text += f"too late for an answer of {reserve:,}."
    else:
        text += "in time."
    return wrapped(text)
