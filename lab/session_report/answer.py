"""What a reader of the report can act on: at most ten points, each with its numbers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isnan

from agentlib.cli.render import short
from session_report.amounts import many, money
from session_report.kept import EARLIER, EDITED, MESSAGES, RULES
from session_report.one import PAUSE, WARM, Row
from session_report.overview import COPIED, ESTIMATED, GONE, LOST, STATED, UNCOUNTED
from session_report.what_if import BASELINE, FEW, PROGRAM, YOURS

Report = Mapping[str, Sequence[Row]]
_MOST = 10
_FAR = 0.02
"""The least share by which a program's own total is worth a line."""
_MISSES = {PAUSE: "Pauses that outlived the cache", WARM: "Other misses of the cache"}
"""Places of dollars that have a line of their own."""


def answer(report: Report) -> list[str]:
    """Return the lines that come first, from the tables of a report, whose words may be
    masked.

    What was spent and on what, what that leaves out, what the pauses cost, what left
    the window silently, what the compactions kept and lost, what fills the window, and
    which line to set. If there are more than ten, those about files and the window go.
    """
    first = [*_spent(report), *_left_out(report), *_happened(report)]
    advice = list(_advice(report))
    filled = list(_filled(report))
    room = max(0, _MOST - len(first) - len(advice))
    return [*first, *filled[:room], *advice][:_MOST]


def _total(rows: Sequence[Row], column: str) -> float:
    return sum(row[column] or 0 for row in rows)


def _spent(report: Report) -> Iterator[str]:
    kinds = report["kinds"]
    models = report.get("models", ())
    where = report.get("where", ())
    count = _total(kinds, "responses")
    usd = _total(kinds, "dollars")
    unpriced = _total([row for row in models if row["dollars"] is None], "responses")
    files = ", ".join(many(row["sessions"], row["kind"]) for row in kinds)
    copied = _noted(report, COPIED)
    once = (
        f" {copied:,.0f} more are copies by /resume or a fork and don't count."
        if copied
        else ""
    )
    if unpriced and unpriced == count:
        responses = "this response" if count == 1 else f"these {count:,.0f} responses"
        yield (
            f"No price is known for the model of {responses}, {files}. "
            f"--price MODEL=IN,OUT names one.{once}"
        )
        return
    if unpriced:
        yield _unpriced(models, count, unpriced)
    of = many(int(count - unpriced), "response") + f" of {count:,.0f}" * bool(unpriced)
    yield f"{money(usd)} at list prices for {of}, {files}.{once}"
    shares = (
        f"{(row['dollars'] or 0) / (usd or 1):.0%} {row['where']}"
        for row in where
        if row["where"] not in _MISSES and row["dollars"]
    )
    yield from [f"Of this {', '.join([*shares][:5])}."] if where and usd else []


def _unpriced(models: Sequence[Row], count: float, unpriced: float) -> str:
    """Say how much has no price."""
    lacking = [row for row in models if row["dollars"] is None]
    share = _total(lacking, "tokens") / (_total(models, "tokens") or 1)
    names = ", ".join(str(row["model"]) or "no name" for row in lacking[:3])
    rest = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
    have = "has" if unpriced == 1 else "have"
    return (
        f"{unpriced:,.0f} of {many(int(count), 'response')}, with {share:.0%} of the tokens, "
        f"{have} no price: {names}{rest}. The dollars are of the others."
    )


def _noted(report: Report, what: str) -> float:
    notes = report.get("not counted", ())
    return sum(row["number"] for row in notes if row["what"] == what)


def _left_out(report: Report) -> Iterator[str]:
    """Say what the dollars leave out, and how sure they are."""
    parts = [_said_of(row) for row in report.get("not priced", ())]
    if parts:
        yield f"Not priced: {', '.join(parts)}."
    notes = {
        ESTIMATED: ("has an estimated answer", "have an estimated answer"),
        UNCOUNTED: ("has no token count", "have no token count"),
        STATED: ("costs what its file states", "cost what their file states"),
    }
    numbers = {what: _noted(report, what) for what in notes}
    doubts = [f"{n:,.0f} {notes[w][n != 1]}" for w, n in numbers.items() if n]
    if doubts:
        yield f"Of the responses {', and '.join(doubts)}."
    if unread := report.get("unread"):
        first = unread[0]
        reason = first["reason"].rpartition("can't be read: ")[2]
        why = short(reason.removeprefix("ValueError: "), 100)
        yield f"Not read: {many(len(unread), 'file')}, {first['file'][-60:]} first: {why}."
    if gone := _noted(report, GONE):
        yield f"Sub-agents used {gone:,.0f} tokens more, but their files are not there."
    for row in report.get("stated", ()):
        off = row["dollars"] / row["stated"] - 1
        if abs(off) >= _FAR:
            which = f"{many(row['sessions'], 'session')} in which it says so"
            yield (
                f"{row['program']} itself counted {money(row['stated'])} in the "
                f"{which}, where these files have {money(row['dollars'])} ({off:+.0%})."
            )


def _said_of(row: Row) -> str:
    """Say a number of things.

    >>> _said_of({"what": "web searches", "number": 1})
    '1 web search'
    """
    first, *rest = row["what"].split(" ")
    if row["number"] != 1:
        return f"{row['number']:,.0f} {row['what']}"
    is_last = first == "web"
    words = [first, *(word.removesuffix("es") for word in rest)] if is_last else []
    return f"1 {' '.join(words or [first.removesuffix('s'), *rest])}"


def _happened(report: Report) -> Iterator[str]:
    usd = _total(report["kinds"], "dollars") or 1.0
    for row in sorted(report.get("where", ()), key=lambda row: row["where"]):
        if row["where"] in _MISSES and row["dollars"]:
            paid = f"{money(row['dollars'])}, {row['dollars'] / usd:.0%}"
            yield f"{_MISSES[row['where']]}: {row['responses']:,.0f}. They cost {paid}."
    yield from _compacted(report.get("compactions", ()), report.get("lost", ()))
    programs = [row["program"] for row in report.get("programs", ())]
    yield from _kept({row["what"]: row for row in report.get("kept", ())}, programs)
    for row in report.get("events", ()):
        if not (row["what"] == LOST and "compactions" in report):
            tokens = f"{row['number']:,.0f}, of {row['tokens']:,.0f} tokens"
            yield f"{row['what'].capitalize()}: {tokens}."


def _compacted(compactions: Sequence[Row], lost: Sequence[Row]) -> Iterator[str]:
    """Say what the compactions of a single session did, and what they lost."""
    if compactions:
        most = max(compactions, key=lambda row: row["before"])
        sizes = f"{most['before']:,.0f} to {most['after']:,.0f} tokens at turn {most['turn']}"
        pieces = (
            f"{many(len(lost), 'lost piece')} ({_total(lost, 'tokens'):,.0f} tokens)"
        )
        names = Counter(map(_name, lost))
        often = "".join(f", most often {name}" for name, _ in names.most_common(1))
        largest = f"Compactions: {len(compactions)}, the largest from {sizes}."
        yield f"{largest} Asked for again: {pieces}{often}."


def _kept(rows: Mapping[str, Row], programs: Sequence[str]) -> Iterator[str]:
    """Say what the compactions kept word for word, how many rules are gone, and what
    puts the person's words back in one of the programs."""
    parts = list[str]()
    if row := rows.get(MESSAGES):
        parts.append(f"{row['kept']:,.0f} of {row['of']:,.0f} of your messages")
    if row := rows.get(EDITED):
        parts.append(f"{row['kept']:,.0f} of {many(int(row['of']), 'edited file')}")
    if not parts:
        return
    text = f"Compactions kept {' and '.join(parts)} word for word"
    rules = rows.get(RULES)
    if rules:
        gone = rules["of"] - rules["kept"]
        are = "is" if gone == 1 else "are"
        text += f"; {gone:,.0f} of your {many(int(rules['of']), 'rule')} {are} gone"
    said = [rows[what] for what in (MESSAGES, RULES, EARLIER) if what in rows]
    is_lost = any(row["kept"] < row["of"] for row in said)
    back = " `agentlib-keep` gives Claude Code your words back."
    yield f"{text}.{back if is_lost and PROGRAM in programs else ''}"


def _name(row: Row) -> str:
    return " of ".join(filter(None, (row["what"], row["tool"])))


def _filled(report: Report) -> Iterator[str]:
    window = report.get("window", ())
    files = report.get("files", ())
    if window:
        most = (f"{row['share']:.0%} {_name(row)}" for row in window[:3])
        yield f"The window is filled by {', '.join(most)}."
    if files and files[0]["reads"] > 1:
        often = f"{files[0]['reads']:,.0f} of {_total(files, 'reads'):,.0f} times"
        name = files[0]["file"]
        yield f"Read most often, {often}: {'…' * (len(name) > 50)}{name[-50:]}."


def _advice(report: Report) -> Iterator[str]:
    """Name the line to set, what it saves, and what it makes the agent need again."""
    tried = report.get("what if", ())
    sure = report.get("set this", ())
    if not tried:
        programs = [row["program"] for row in report.get("programs", ())]
        if sure:
            yield f"{sure[0]['line']}."
        elif PROGRAM in programs:
            yield "--what-if says what other settings would have cost."
        return
    if others := report.get("not tried"):
        left = " and ".join(
            f"{row['sessions']:,} of {row['program']}" for row in others
        )
        yield f"The next line is about {PROGRAM}'s sessions alone, without {left}."
    today = next(row for row in tried if row["policy"] == BASELINE)
    yield from (_yours(row, today) for row in tried if row["policy"] == YOURS)
    every = report.get("programs") or report["kinds"]
    count = _total(
        [row for row in every if row.get("program", PROGRAM) == PROGRAM], "sessions"
    )
    if count < FEW:
        few = f"Too few to choose a setting by ({many(int(count), 'file')} of at least {FEW})"
        best = next((row for row in tried if row["line"] and row["percent"] < 0), None)
        yield f"{few}: {_compared(best, today)}" if best else f"{few}."
    elif "dollars" in sure[0]:
        alone = [row for row in sure if row["need"] <= today["need"]]
        yield from (f"Set {_said(row, today['need'])}" for row in alone[:1] or sure[:2])
    else:
        yield f"{sure[0]['line'].capitalize()}."


def _yours(row: Row, today: Row) -> str:
    """Answer the question that the options asked."""
    side = "less" if row["percent"] <= 0 else "more"
    need = f"{_often(row['need'])}, in place of {today['need']:.1f}"
    return (
        f"With your settings these days would have cost {abs(row['percent']):.1f} % "
        f"{side}, and {need}."
    )


def _compared(row: Row, today: Row) -> str:
    """Say what a line would have saved, as no more than a comparison of simulated
    bills."""
    need = f"{_often(row['need'])}, in place of {today['need']:.1f}"
    return (
        f"replayed with {row['line']}, these days would have cost "
        f"{-row['percent']:.1f} % less, and {need}."
    )


def _often(need: float) -> str:
    return f"replies would have needed forgotten text {need:.1f} times in 100 responses"


def _said(row: Row, today: float) -> str:
    """Say of a line what it saves, how surely, and what is needed again, in one
    sentence."""
    band = f"{row['percent']:+.1f} %"
    if row["low"] is not None and not isnan(row["low"]):
        band += f" ({row['low']:+.1f} to {row['high']:+.1f})"
    if "error" in row:
        band += f", from a replay that is off by {row['error']:+.1f} %"
    more = (
        "and makes the agent need more again"
        if row["need"] > today
        else "and no more is needed"
    )
    return f"{row['line']}: {band}, {more}: {_often(row['need'])}, today {today:.1f}."
