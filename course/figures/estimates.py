"""The figures of lesson 01: what an estimate says beside the bills, and where its alarm
rings."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from pandas import DataFrame

from agentlib.settings import Settings
from session_report.style import DARK, RED, ROOM, WIDTH, Chart, level, plain, wrapped

_SHARES = {"conversation": ROOM, "buffer": "#C9C9C9", "reserve": "#8A8A8A"}
_REFUSED = "#F0D8D3"
_TOPS = (1.6, 2.5, 5.5)
"""Ends of the axis, in windows. The first that has room for the alarm is taken."""


@plain
def beside(tables: Mapping[str, DataFrame], settings: Settings) -> Chart:
    """Draw runs below each other: bills as an area, what the estimate said as a line.

    `tables`: by title, the table of `windtunnel.estimates.readings`. A request that was
    refused is a bar through the wall. Where the alarm rang, an arrow leads to what was
    sent instead.
    """
    plot = 2.5 if len(tables) == 1 else 1.75
    chart = Chart(0.25 + len(tables) * (plot + 0.65))
    window = settings.context_window
    turns = max(map(len, tables.values()))
    highest = max(
        table[["billed", "said"]].to_numpy().max() for table in tables.values()
    )
    for row, (title, table) in enumerate(tables.items(), 1):
        axes = chart.frame(
            0.84, chart.height - row * (plot + 0.65) + 0.3, 4.9, plot, title
        )
        axes.set(xlim=(0.5, turns + 1.5), ylim=(0, 1.12 * max(window, highest)))
        axes.set_ylabel("tokens in the prompt")
        level(axes, "window ", window, "bottom", color=DARK, lw=2)
        level(
            axes,
            "alarm set to ",
            settings.threshold_tokens,
            color=DARK,
            ls="--",
            lw=1.3,
        )
        _bills_and_estimate(axes, table, window)
    chart.figure.axes[-1].set_xlabel("turn (one request each)")
    return chart


def _bills_and_estimate(axes: Axes, table: DataFrame, window: int) -> None:
    rows: list[Any] = [*table.itertuples()]
    sent = [row.billed for row in rows if row.billed <= window]
    arrow = {
        "arrowstyle": "-|>",
        "color": DARK,
        "linewidth": 1.6,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    axes.stairs(sent, [n + 0.5 for n in range(len(sent) + 1)], fill=True, color=ROOM)
    axes.text(len(sent) / 4, 0.06 * window, "area: billed", color=DARK)
    for row in rows[len(sent) :]:
        axes.bar(
            row.turn, row.billed, 1, facecolor=_REFUSED, edgecolor=RED, linewidth=1.4
        )
        axes.text(
            row.turn - 0.8,
            row.billed,
            f"refused: {row.billed:,}",
            color=RED,
            ha="right",
        )
    axes.plot(
        table["turn"], table["said"], drawstyle="steps-mid", color=RED, linewidth=2
    )
    axes.text(
        len(rows) + 0.7,
        rows[-1].said,
        f"estimate {rows[-1].said:,}",
        color=RED,
        va="center",
    )
    for row in rows:
        if row.rang:
            ends: Any = {"xy": (row.turn, row.billed), "xytext": (row.turn, row.said)}
            axes.annotate("", **ends, arrowprops=arrow)
            axes.text(
                row.turn - 0.7, row.said, "rings", color=RED, ha="right", va="bottom"
            )


@plain
def shares(settings: Settings, rings: float, off: int = 0) -> Chart:
    """Draw the window as one bar, and the real prompt size at which the alarm rings.

    `off`: the estimate's error in percent, for the words at the arrow.
    """
    window = settings.context_window
    point = settings.threshold_tokens
    late = rings > window - settings.output_reserve
    colour = RED if late else DARK
    top = window * next((t for t in _TOPS if t * window > 1.05 * rings), _TOPS[-1])
    chart = Chart(2.75, _verdict(settings, rings)[0])
    axes = chart.frame(0.12, 0.72, WIDTH - 0.52, 1.6, "")
    axes.set(xlim=(0, top), ylim=(0.2, 1), yticks=[])
    axes.set_xlabel("tokens that are really in the prompt")
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _bar(axes, settings)
    axes.vlines(point, 0.22, 0.7, DARK, linestyle="--", linewidth=1.3)
    _aside(axes, point, 0.74, f"set to {point:,}", rings < point or point < top / 5)
    axes.vlines(rings, 0.22, 0.6, colour, linewidth=2)
    axes.plot(rings, 0.64, "v", markersize=13, color=colour)
    if off:
        way: Any = {"xy": (rings, 0.72), "xytext": (point, 0.87)}
        arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.6, "shrinkA": 0}
        axes.annotate(
            "",
            **way,
            arrowprops=arrow | {"connectionstyle": "angle,angleA=0,angleB=90"},
        )
        how = f"the estimate reads {abs(off)} % {'low' if off < 0 else 'high'}"
        _aside(axes, rings, 0.96, how, rings < top / 2, color=colour)
    chart.key()
    return chart


def _aside(
    axes: Axes, at: float, height: float, text: str, is_right: bool, **looks: Any
) -> None:
    """Write at one side of a place."""
    side = "left" if is_right else "right"
    axes.text(at, height, f" {text} ", ha=side, va="center", **looks)


def _bar(axes: Axes, settings: Settings) -> None:
    """Draw conversation, buffer and reserve, and the prompts behind them that the API
    refuses."""
    start = 0
    window = settings.context_window
    top = axes.get_xlim()[1]
    sizes = (settings.threshold_tokens, settings.buffer, settings.output_reserve)
    for (name, fill), size in zip(_SHARES.items(), sizes, strict=True):
        axes.barh(0.37, size, 0.3, left=start, color=fill, label=name)
        start += size
    axes.barh(0.37, top - window, 0.3, left=window, color=_REFUSED)
    axes.vlines(window, 0.22, 0.57, DARK, linewidth=3)
    past = f"past {window:,}: refused"
    patch = {"fc": _REFUSED, "ec": "none"}
    axes.text(
        window + 0.015 * top, 0.37, past, color=RED, va="center", zorder=4, bbox=patch
    )


def _verdict(settings: Settings, rings: float) -> tuple[str, str]:
    """Return the title of the bar, and the end of its sentence."""
    window = settings.context_window
    reserve = settings.output_reserve
    if rings > window:
        title = f"An alarm that can't ring: it waits for {rings:,.0f} tokens"
        return title, "never, the API refuses the request first"
    title = f"The alarm rings at {rings:,.0f}, "
    if rings > window - reserve:
        return (
            title + "too late for the answer",
            f"too late for an answer of {reserve:,}",
        )
    is_early = rings < settings.threshold_tokens
    return title + ("earlier than it has to" if is_early else "in time"), "in time"


def shares_sentence(settings: Settings, rings: float) -> str:
    """Say what the bar shows."""
    window = settings.context_window
    reserve = settings.output_reserve
    buffer = settings.buffer
    text = f"{window:,} - {reserve:,} - {buffer:,} = {settings.threshold_tokens:,}; the alarm"
    return wrapped(f"{text} rings at {rings:,.0f}: {_verdict(settings, rings)[1]}.")
