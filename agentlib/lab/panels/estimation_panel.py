"""The pictures of lesson 01: readings beside the bills, their errors, and the window's shares.

Drawing and wiring only; the numbers come from `readings` and from the sliders. Not here: the
panel itself (panels) and the chart that every lesson uses (charts).
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.style
from matplotlib.patches import Rectangle
from matplotlib.ticker import StrMethodFormatter

from agentlib.lab.figures.charts import DPI, WIDTH, Chart, Kept
from agentlib.lab.panels.ahead import Ahead
from agentlib.lab.panels.wall import Panel, slider
from agentlib.lab.replay.estimates import WAYS, error_percent, rings_at
from agentlib.settings import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_LINES = (
    ("#D55E00", "--", "v"),
    ("#E69F00", "-.", "s"),
    ("#56B4E9", ":", "D"),
    ("#0072B2", "-", "o"),
)
_DARK, _LATE = "#111111", "#A02C00"
_SHARES = (("conversation", "#B9E0D3", ""), ("buffer", "#F0E442", "...."),
           ("output reserve", "#E4E4E4", "////"))  # fmt: skip
_TOP, _COLUMNS = 500_000, 72


def lines(table: "DataFrame", *, window: int, title: str = "") -> Chart:
    """What each way read at every turn, beside the bill and the window's end."""
    with matplotlib.style.context("default"):
        figure, axes = _figure(3.2, title, "tokens in the prompt")
        axes.plot(table["turn"], table["billed"], color=_DARK, linewidth=3, label="billed")
        _draw(axes, table, {way: table[way] for way in WAYS})
        axes.axhline(window, color=_DARK, linewidth=1.2)
        axes.annotate(f"window {window:,}", (1, window), xytext=(0, 4),
                      textcoords="offset points", fontsize=9)  # fmt: skip
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    return figure


def errors(table: "DataFrame", *, title: str = "") -> Chart:
    """How far off each way was at every turn, in percent of the bill, without its sign."""
    with matplotlib.style.context("default"):
        figure, axes = _figure(3.2, title, "error, % of the bill")
        off = {way: [_off(way, row) for row in table.to_dict("records")] for way in WAYS}
        _draw(axes, table, off)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    return figure


def _off(way: str, row: Any) -> float:
    return max(0.01, abs(error_percent(row[way], row["billed"])))


def _figure(high: float, title: str, what: str) -> "tuple[Chart, Axes]":
    figure = Chart(figsize=(WIDTH, high + 0.2), dpi=DPI, facecolor="white")
    axes = figure.add_axes((0.12, 0.15, 0.6, 0.74))
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set(xlabel="turn (one request each)", ylabel=what)
    axes.grid(axis="y", color="#E4E4E4", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    return figure, axes


def _draw(axes: "Axes", table: "DataFrame", values: Any) -> None:
    every = max(1, len(table) // 10)
    for (way, heights), (colour, style, sign) in zip(values.items(), _LINES, strict=True):
        axes.plot(table["turn"], heights, color=colour, linestyle=style, marker=sign, label=way,
                  markersize=5, markevery=every)  # fmt: skip
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=9, frameon=False)


class SharesChart:
    """The window as one bar: conversation, buffer, reserve, and where the alarm really rings."""

    def __init__(self) -> None:
        with matplotlib.style.context("default"):
            self.figure = Chart(figsize=(WIDTH, 2.1), dpi=DPI, facecolor="white")
            self.axes = axes = self.figure.add_axes((0.03, 0.42, 0.9, 0.36))
            axes.set(xlim=(0, _TOP), ylim=(0, 1), yticks=[], xlabel="tokens")
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axes.tick_params(labelsize=9)
            axes.spines[["top", "right", "left"]].set_visible(False)
            self.bars = [
                axes.add_patch(_bar(colour, pattern, name)) for name, colour, pattern in _SHARES
            ]
            (self.sign,) = axes.plot([0], [1.14], marker="v", markersize=10, color=_DARK,
                                     clip_on=False, linestyle="none", animated=True)  # fmt: skip
            self.words = axes.text(0, 1.3, "", fontsize=10, animated=True)
            self.figure.legend(handles=self.bars, loc="lower left", bbox_to_anchor=(0.02, 0),
                               ncols=3, fontsize=9, frameon=False)  # fmt: skip
        self.kept = Kept(self.figure)

    def update(self, settings: Settings, rings: int) -> None:
        """Other shares, and the real tokens at which the alarm rings."""
        widths = (settings.threshold_tokens, settings.buffer, settings.output_reserve)
        start = 0
        for bar, width in zip(self.bars, widths, strict=True):
            bar.set(x=start, width=width)
            start += width
        place = min(rings, _TOP)
        late = rings > settings.context_window - settings.output_reserve
        side = ("left", "center", "right")[min(2, 3 * place // _TOP)]
        self.sign.set(xdata=[place], color=_LATE if late else _DARK)
        self.words.set(x=place, text=f"rings at {rings:,}", color=_LATE if late else _DARK, ha=side)

    def png(self) -> bytes:
        """The picture as it is now."""
        return self.kept.png((*self.bars, self.sign, self.words))


def _bar(colour: str, pattern: str, name: str) -> Any:
    return Rectangle((0, 0.1), 0, 0.8, facecolor=colour, edgecolor=_DARK, hatch=pattern or None,
                     label=name, linewidth=0.8, animated=True)  # fmt: skip


def shares_sentence(settings: Settings, rings: int, growths: Sequence[int] = ()) -> str:
    """What the picture shows, in words; `growths`: tokens that recorded turns brought."""
    window, safe = settings.context_window, settings.context_window - settings.output_reserve
    text = (
        f"{window:,} - {settings.output_reserve:,} - {settings.buffer:,} = "
        f"{settings.threshold_tokens:,}; the alarm rings at {rings:,}: "
    )
    if rings > window:
        text += "never, the API refuses the request first."
    elif rings > safe:
        text += f"too late for an answer of {settings.output_reserve:,}."
    else:
        text += "in time."
    if growths:
        larger = sum(growth > settings.buffer for growth in growths)
        text += (
            f" {larger} of {len(growths)} recorded turns brought more than the buffer; the "
            f"largest {max(growths):,}."
        )
    return textwrap.fill(text, _COLUMNS)


def estimation(growths: Sequence[int] = (), settings: Settings | None = None) -> Panel:
    """window - reserve - buffer, and where the alarm rings if the estimate is off.

    Sliders: `window`, `reserve` and `buffer` in tokens, and `off`, the estimate's error in
    percent (-60: it reads 60 % low; 100: twice too high). `growths`: what each turn of a recorded
    session brought, counted against the buffer. Shares that do not fit are shown as an error.
    """
    start, chart = settings or Settings(), SharesChart()

    def draw(window: int, reserve: int, buffer: int, off: int) -> tuple[bytes, str]:
        chosen = Settings(context_window=window, output_reserve=reserve, buffer=buffer)
        rings = rings_at(chosen.threshold_tokens, off)
        chart.update(chosen, rings)
        return chart.png(), shares_sentence(chosen, rings, growths)

    amount, answer = "tokens", "tokens kept for the answer"
    sliders = {
        "window": slider("window", start.context_window, (40_000, 400_000, 10_000), amount),
        "reserve": slider("reserve", start.output_reserve, (0, 64_000, 1_000), answer),
        "buffer": slider("buffer", start.buffer, (0, 40_000, 1_000), "tokens for one more turn"),
        "off": slider("off by %", 0, (-80, 100, 5), "how far the estimate is off"),
    }
    return Panel(sliders, Ahead(draw))
