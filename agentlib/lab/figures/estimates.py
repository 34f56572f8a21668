"""The figures of lesson 01: estimates beside the bills, their errors, the shares of the window.

The first two draw a table of `lab.replay.estimates`.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from agentlib.lab.figures.style import DARK, RED, ROOM, Chart, Look, patches, plain, wrapped
from agentlib.lab.replay.estimates import BLOCKS, CHARS, LAST_BILL, METER, WAYS
from agentlib.settings import Settings

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_LINES: Mapping[str, Mapping[str, Any]] = {
    "billed": {"color": DARK, "linewidth": 3},
    CHARS: {"color": "#D55E00", "linestyle": "--", "marker": "v"},
    BLOCKS: {"color": "#E69F00", "linestyle": "-.", "marker": "s"},
    LAST_BILL: {"color": "#56B4E9", "linestyle": ":", "marker": "D"},
    METER: {"color": "#0072B2", "marker": "o"},
}
_SHARES = {"conversation": Look(ROOM), "buffer": Look("#F0E442", "...."),
           "output reserve": Look("#D0D0D0", "////")}  # fmt: skip
_TOP = 500_000


@plain
def lines(table: "DataFrame", *, window: int, title: str = "") -> Chart:
    """Draw every estimate at every turn, beside the bill and the window's end."""
    chart = _curves(table, {way: table[way] for way in ("billed", *WAYS)}, title)
    axes = chart.figure.axes[0]
    axes.axhline(window, color=DARK, linewidth=1.2)
    axes.annotate(f"window {window:,}", (1, window), xytext=(0, 4),
                  textcoords="offset points", fontsize=9)  # fmt: skip
    axes.set_ylabel("tokens in the prompt")
    return chart


@plain
def errors(table: "DataFrame", *, title: str = "") -> Chart:
    """Draw the error of every estimate at every turn, in percent of the bill, without its sign."""
    percents = {way: 100 * (table[way] / table["billed"] - 1) for way in WAYS}
    chart = _curves(table, {way: each.abs().clip(0.01) for way, each in percents.items()}, title)
    axes = chart.figure.axes[0]
    axes.set(yscale="log", ylabel="error, % of the bill")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    return chart


def _curves(table: "DataFrame", curves: Mapping[str, "Series[Any]"], title: str) -> Chart:
    """Draw curves over the turns, with their names at the right."""
    chart, every = Chart(3.4), max(1, len(table) // 10)
    axes = chart.frame(0.86, 0.52, 4.3, 2.5, title)
    for name, heights in curves.items():
        axes.plot(table["turn"], heights, label=name, markersize=5, markevery=every, **_LINES[name])
    axes.set_xlabel("turn (one request each)")
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=9, frameon=False)
    return chart


@plain
def shares(settings: Settings, rings: int) -> Chart:
    """Draw the window as one bar, and the prompt size at which the alarm really rings."""
    chart, start = Chart(2.1), 0
    axes = chart.frame(0.22, 0.88, 6.48, 0.76, "")
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    sizes = (settings.threshold_tokens, settings.buffer, settings.output_reserve)
    for look, size in zip(_SHARES.values(), sizes, strict=True):
        axes.barh(0.5, size, left=start, **look.fill(0.8))
        start += size
    late = rings > settings.context_window - settings.output_reserve
    place, colour = min(rings, _TOP), RED if late else DARK
    axes.plot(place, 1.14, "v", markersize=10, color=colour, clip_on=False)
    axes.text(place, 1.3, f"rings at {rings:,}", fontsize=10, color=colour,
              horizontalalignment="right" if place > 0.7 * _TOP else "left")  # fmt: skip
    axes.set(xlim=(0, _TOP), ylim=(0, 1), yticks=[], xlabel="tokens")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    chart.key(patches(_SHARES, 0.8))
    return chart


def shares_sentence(settings: Settings, rings: int, growths: Sequence[int] = ()) -> str:
    """Say what the bar shows. `growths`: tokens that recorded turns brought."""
    window, reserve, buffer = settings.context_window, settings.output_reserve, settings.buffer
    text = f"{window:,} - {reserve:,} - {buffer:,} = {settings.threshold_tokens:,}; the alarm"
    text += f" rings at {rings:,}: "
    if rings > window:
        text += "never, the API refuses the request first."
    elif rings > window - reserve:
        text += f"too late for an answer of {reserve:,}."
    else:
        text += "in time."
    if growths:
        larger = sum(growth > buffer for growth in growths)
        text += f" {larger} of {len(growths)} recorded turns brought more than the buffer; the"
        text += f" largest {max(growths):,}."
    return wrapped(text)
