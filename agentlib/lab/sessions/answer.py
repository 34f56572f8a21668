"""What a reader of the report can act on: at most ten lines, each with its numbers."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from agentlib.lab.sessions.one import PAUSE, WARM, Row
from agentlib.lab.sessions.overview import COPIED
from agentlib.lab.sessions.what_if import BASELINE, FEW

Report = Mapping[str, Sequence[Row]]


def answer(report: Report) -> list[str]:
    """Return the lines that come first, from the tables of a report, whose words may be masked.

    What was spent and on what, what the pauses cost, what left the window silently, what the
    compactions lost, what fills the window, and which line to set.
    """
    return [*_spent(report), *_happened(report), *_filled(report), *_advice(report)][:10]


def _total(rows: Sequence[Row], column: str) -> float:
    return sum(row[column] or 0 for row in rows)


def _spent(report: Report) -> Iterator[str]:
    kinds, where = report["kinds"], report.get("where", ())
    count, usd = _total(kinds, "responses"), _total(kinds, "dollars")
    copied = [row["number"] for row in report.get("not counted", ()) if row["what"] == COPIED]
    once = f" {copied[0]:,.0f} more are copies by /resume and don't count." if copied else ""
    yield f"${usd:,.2f} at list prices for {count:,.0f} responses, {_files(kinds)}.{once}"
    if usd and where:
        shares = (f"{(row['dollars'] or 0) / usd:.0%} {row['where']}" for row in where[:5])
        yield f"Of this {', '.join(shares)}."


def _files(kinds: Sequence[Row]) -> str:
    return ", ".join(f"{each['sessions']:,.0f} × {each['kind']}" for each in kinds)


def _happened(report: Report) -> Iterator[str]:
    usd = _total(report["kinds"], "dollars") or 1.0
    said = {PAUSE: "Pauses that outlived the cache", WARM: "Other misses of the cache"}
    for row in sorted(report.get("where", ()), key=lambda row: row["where"]):
        if row["where"] in said and row["dollars"]:
            paid = f"${row['dollars']:,.2f}, {row['dollars'] / usd:.0%}"
            yield f"{said[row['where']]}: {row['responses']:,.0f}. They cost {paid}."
    turns = _total(report["kinds"], "responses")
    for row in report.get("events", ()):
        often = f"{row['number']:,.0f}, {100 * row['number'] / turns:.1f} in 100 responses"
        yield f"{row['what'].capitalize()}: {often}, of {row['tokens']:,.0f} tokens."


def _filled(report: Report) -> Iterator[str]:
    window, files = report.get("window", ()), report.get("files", ())
    if window:
        names = (" of ".join(filter(None, (row["what"], row["tool"]))) for row in window[:3])
        most = (f"{row['share']:.0%} {name}" for row, name in zip(window, names, strict=False))
        yield f"The window is filled by {', '.join(most)}."
    if files and files[0]["reads"] > 1:
        often = f"{files[0]['reads']:,.0f} of {_total(files, 'reads'):,.0f} times"
        yield f"Read most often, {often}: {files[0]['file'][-50:]}."


def _advice(report: Report) -> Iterator[str]:
    """Name the line to set, what it saves, and what it makes the agent need again."""
    tried, sure = report.get("what if", ()), report.get("set this", ())
    if not tried:
        yield sure[0]["line"] if sure else "--what-if says what other settings would have cost."
        return
    today = next(row["need"] for row in tried if row["policy"] == BASELINE)
    count = _total(report["kinds"], "sessions")
    if count < FEW:
        yield f"Sessions: {count:,.0f}. Below {FEW} they are too few to choose a setting by."
        sure = [row for row in tried if row["line"] and row["percent"] < 0]
        yield from (f"On these {_said(row, today)}" for row in sure[:1])
    elif "dollars" in sure[0]:
        alone = [row for row in sure if row["need"] <= today]
        yield from (f"Set {_said(row, today)}" for row in alone[:1] or sure[:2])
    else:
        yield f"{sure[0]['line'].capitalize()}."


def _said(row: Row, today: float) -> str:
    """Say of a line what it saves, how surely, and what is needed again, in one sentence."""
    band = f"{row['percent']:+.1f} %"
    if row["low"] is not None and not isnan(row["low"]):
        band += f" ({row['low']:+.1f} to {row['high']:+.1f})"
    if "error" in row:
        band += f", from a replay that is off by {row['error']:+.1f} %"
    more = "and makes the agent need more again" if row["need"] > today else "and no more is needed"
    need = f"{row['need']:.1f} pieces in 100 turns, today {today:.1f}"
    return f"{row['line']}: {band}, {more}: {need}."
