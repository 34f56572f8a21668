"""The field's programs, each with the sizes of its requests, and what each shows its
summariser."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves its keyword arguments without types.

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from session_report.style import BLUE, DARK, GREY, PALE, RED, Chart, plain

PURPLE = "#8757A8"
SCRIPTED = "One scripted model, the same for all. Nobody is ranked."
"""Stands in a picture that names products."""
_ROW = 0.56
_GAP = 0.2
_HEAD = 0.6
_FOOT = 0.62
"""Inches."""
_LEFT = 1.95
_ACROSS = 3.3
_COLOURS = {"main": BLUE, "summary": PURPLE, "refused": RED, "other": PALE}
"""Of each kind of request."""
_MARKS = {"summary": ("^", -0.09), "refused": ("x", 1.03)}
"""A kind's mark, and how high it stands as a share of the row."""
Row = Mapping[str, Any]


def name_of(row: Row) -> str:
    """Return a program's name with its version.

    >>> name_of({"program": "pi-0.74", "version": "0.74.2"})
    'pi 0.74.2'
    """
    version = row["version"]
    name, _, edition = row["program"].rpartition("-")
    is_twice = edition and version.startswith(edition)
    return f"{name if is_twice else row['program']} {version}".strip()


@plain
def sawteeth(rows: Sequence[Row], notes: Sequence[str], title: str) -> Chart:
    """Draw a row for each run: the size of each prompt, under the window.

    `rows` are stored runs, `notes` a line or two for the right of each. An arrow is a
    compaction, a triangle a request for a summary, a cross a prompt that the API
    refused.
    """
    chart = Chart(_HEAD + len(rows) * (_ROW + _GAP) + _FOOT, title)
    longest = max(len(row["prompts"]) for row in rows)
    for place, (row, note) in enumerate(zip(rows, notes, strict=True)):
        bottom = chart.height - _HEAD - (place + 1) * _ROW - place * _GAP
        axes = chart.frame(_LEFT, bottom, _ACROSS, _ROW)
        window = row["window"]
        axes.set(xlim=(0, longest + 1), ylim=(0, 1.12 * window), xticks=[], yticks=[])
        axes.axhline(window, color=GREY, linewidth=1, linestyle="--")
        _draw(axes, row)
        axes.text(
            -0.02, 0.5, name_of(row), transform=axes.transAxes, ha="right", va="center"
        )
        axes.text(
            1.02,
            0.5,
            note,
            transform=axes.transAxes,
            va="center",
            color=GREY,
            fontsize=8.5,
        )
    words = "each bar is a request · dashed: the window · arrow: a compaction"
    chart.figure.text(0.014, 0.3 / chart.height, words, color=GREY, fontsize=9)
    more = "▲ purple: a request for a summary · × red: a refused prompt"
    chart.figure.text(0.014, 0.1 / chart.height, more, color=GREY, fontsize=9)
    _say(chart)
    return chart


def _draw(axes: Any, row: Row) -> None:
    """Draw a run's requests in the order in which they were sent.

    A bar is narrow, so a request for a summary has a mark below it, and a refusal has
    one above the window. Nobody has to tell them apart by their colours.
    """
    pairs = zip(row["kinds"], row["prompts"], strict=True)
    for place, (kind, tokens) in enumerate(pairs, 1):
        axes.bar(place, tokens, width=1.0, color=_COLOURS[kind], linewidth=0)
        if kind in _MARKS:
            look: Any = {"color": _COLOURS[kind], "markersize": 4, "clip_on": False}
            marker, height = _MARKS[kind]
            across = axes.get_xaxis_transform()
            axes.plot(place, height, marker, transform=across, **look)
    for made in row["compactions"]:
        if made["by"] != "summary":
            continue
        place = 1 + row["numbers"].index(made["request"])
        ends = {"xy": (place, made["after"]), "xytext": (place, made["before"])}
        arrow = {"arrowstyle": "->", "color": DARK, "linewidth": 1}
        axes.annotate("", **ends, arrowprops=arrow)


@plain
def shown(rows: Mapping[str, Sequence[Row]], title: str) -> Chart:
    """Draw for each program how much of the results its summariser was shown.

    `rows` are all stored runs by name, from above. Grey is what was cut out.
    """
    parts = {
        name: [made["shown"] for row in own for made in row["compactions"]]
        for name, own in rows.items()
    }
    known = {
        name: mean(part for part in each if part is not None)
        for name, each in parts.items()
        if any(part is not None for part in each)
    }
    order = [*reversed(known)]  # drawn from below
    chart = Chart(0.6 + 0.34 * len(order) + 0.62, title)
    axes = chart.frame(1.95, 0.62, 4.6, 0.34 * len(order))
    axes.set(xlim=(0, 100), ylim=(-0.6, len(order) - 0.4), xticks=[])
    axes.set_yticks(range(len(order)), order)
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    for place, name in enumerate(order):
        share = 100 * known[name]
        axes.barh(place, 100, height=0.62, color="#ECEEF0")
        axes.barh(place, share, height=0.62, color=BLUE)
        inside = share > 12
        axes.text(
            share - 1.5 if inside else share + 1.5,
            place,
            f"{share:.0f} %",
            ha="right" if inside else "left",
            va="center",
            color="white" if inside else DARK,
        )
    words = "of the results in the conversation, what the summariser was shown"
    chart.figure.text(0.014, 0.34 / chart.height, words, color=GREY, fontsize=9)
    _say(chart)
    return chart


def _say(chart: Chart) -> None:
    chart.figure.text(
        0.986, 0.1 / chart.height, SCRIPTED, ha="right", fontsize=7.5, color=GREY
    )
