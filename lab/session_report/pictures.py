"""Place the marks of the report's picture, in percent of its width and height.

The page draws them with HTML and SVG, so they need no script and follow the reader's
colours.
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from session_report.one import PAUSE, Row

_POINTS = 400
_MARKS = 120
_NAMED = 5
Plot = dict[str, Any]


def sessions(report: Mapping[str, list[Row]]) -> Plot | None:
    """Place each session by its dollars and its longest prompt. The most expensive are
    named."""
    rows = [row for row in report.get("sessions", []) if row["dollars"]]
    if not rows:
        return None
    right, top = (max(row[name] for row in rows) for name in ("dollars", "longest"))
    marks = list[Row]()
    for number, row in enumerate(rows[:_MARKS]):
        place = 100 * row["dollars"] / right, 100 * row["longest"] / (top or 1)
        says = f"${row['dollars']:,.2f}, longest prompt {row['longest']:,.0f} tokens"
        name = row["session"] if number < _NAMED else ""
        marks.append(_mark(*place, row["kind"], f"{row['session']}: {says}", name))
    title = "Each session: dollars to the right, its longest prompt upwards"
    axis = f"$0 to ${right:,.2f}; 0 to {top:,.0f} tokens"
    absent = [row["session"] for row in report["sessions"] if not row["dollars"]]
    if absent:
        axis += f". No price, so no dot: {len(absent)}, {', '.join(absent[:_NAMED])}"
    return {
        "title": title,
        "axis": axis,
        "bars": [],
        "marks": marks,
        "more": len(rows) - _MARKS,
    }


def prompts(report: Mapping[str, list[Row]]) -> Plot:
    """Draw the prompts of one session over its turns, and mark where it lost
    something."""
    rows = report["prompts"]
    last = len(rows)
    top = max((row["prompt"] for row in rows), default=0) or 1
    heights = [100 * row["prompt"] / top for row in rows]
    step = -(-last // _POINTS)
    peaks = [max(heights[at : at + step]) for at in range(0, last, step)]
    bars = [
        {
            "height": round(peak, 1),
            "says": f"turn {1 + n * step:,}: {peak * top / 100:,.0f} tokens",
        }
        for n, peak in enumerate(peaks)
    ]
    found = sorted(_events(report), key=lambda event: event[2], reverse=True)
    marks = [
        _mark(
            100 * (turn - 0.5) / last,
            heights[min(turn, last) - 1],
            kind,
            f"turn {turn}: {says}",
        )
        for turn, kind, _, says in sorted(found[:_MARKS])
    ]
    title = f"{last:,} prompts, the largest of {top:,.0f} tokens"
    axis = f"turn 1 to {last:,}; 0 to {top:,.0f} tokens"
    return {
        "title": title,
        "axis": axis,
        "bars": bars,
        "marks": marks,
        "more": len(found) - _MARKS,
    }


def _events(report: Mapping[str, list[Row]]) -> Iterator[tuple[int, str, float, str]]:
    """Yield turn, kind, weight and sentence of each miss of the cache, fall and
    compaction."""
    for row in report.get("misses", []):
        kind = "pause" if row["why"] == PAUSE else "miss"
        tokens = row["rewritten"]
        says = f"{tokens:,.0f} tokens {row['why']}, after {row['minutes']:,.0f} minutes"
        yield row["turn"], kind, tokens, says
    for row in report.get("clearings", []):
        yield (
            row["turn"],
            "fall",
            row["gone"],
            f"{row['gone']:,.0f} tokens left silently",
        )
    for row in report.get("compactions", []):
        pieces = [
            each for each in report["lost"] if each["compaction"] == row["compaction"]
        ]
        pieces.sort(key=lambda each: -each["times"])
        times = sum(each["times"] for each in pieces)
        size = f"compacted from {row['before']:,.0f} to {row['after']:,.0f} tokens"
        lost = f"{len(pieces)} lost pieces were needed again, {times} times"
        says = "; ".join([size, lost, *map(_piece, pieces[:_NAMED])])
        yield row["turn"], "compaction", inf, says


def _piece(row: Row) -> str:
    """Name a lost piece, when it was needed again, and how often."""
    names = " ".join(
        filter(None, (row["what"], row["tool"], row["file"].rpartition("/")[2]))
    )
    return f"{names}, {row['times']}× from turn {row['turn']}"


def _mark(left: float, up: float, kind: str, says: str, name: str = "") -> Row:
    return {
        "left": round(left, 2),
        "up": round(up, 1),
        "kind": kind,
        "says": says,
        "name": name,
    }
