"""What the known programs did in the wind tunnel, as `make programs` stored it.

A row holds sizes, kinds and marks, and nothing of a program's code, prompts or texts.
"""

import json
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

FIELD = Path(__file__).with_name("field.json")
"""A row for each program and seed."""
_NAMES = (
    *("program", "version", "seed", "window", "requests", "prompts", "kinds"),
    *("numbers", "read", "dollars", "seconds", "compactions", "calls_again"),
    *("unconfined", "kept", "passes"),
)


def stored(row: dict[str, Any], day: str) -> dict[str, Any]:
    """Return what of a verdict's row is stored: of findings their kinds and requests,
    because their texts may quote a program."""
    findings = [[each["kind"], each["request"]] for each in row["findings"]]
    kept = {name: row[name] for name in _NAMES}
    return {"date": day, **kept, "findings": findings}


def rows() -> list[dict[str, Any]]:
    """Read the stored rows."""
    return json.loads(FIELD.read_text(encoding="utf-8"))


def table(rows: list[dict[str, Any]]) -> str:
    """Write what the programs decided as a table in Markdown, a line for each program.

    Nothing in it is a rank, and what was kept in the end isn't in it.
    """
    head = f"| {' | '.join(_COLUMNS)} |"
    lines = [head, f"|{'---|' * len(_COLUMNS)}"]
    for name in dict.fromkeys(row["program"] for row in rows):
        own = [row for row in rows if row["program"] == name]
        lines.append(f"| {' | '.join(_cells(own))} |")
    return "\n".join(lines)


_COLUMNS = (
    *("program", "seeds", "requests", "compactions"),
    *("prompt before → after, mean", "results shown to the summariser"),
    *("put back as", "own words kept", "calls made again", "read from cache"),
    *("dollars", "seconds", "found"),
)


def _cells(rows: list[dict[str, Any]]) -> list[str]:
    made = [each for row in rows for each in row["compactions"]]
    shown = [each["shown"] for each in made if each["shown"] is not None]
    words = sum(each["words"] == "kept" for each in made)
    sizes = ""
    if made:
        before, after = (mean(each[n] for each in made) for n in ("before", "after"))
        sizes = f"{before:,.0f} → {after:,.0f}"
    return [
        f"{rows[0]['program']} {rows[0]['version']}",
        str(len(rows)),
        _range([row["requests"] for row in rows]),
        _range([len(row["compactions"]) for row in rows]),
        sizes,
        f"{mean(shown):.0%}" if shown else "",
        ", ".join(sorted({each["put_back"] for each in made if each["put_back"]})),
        f"{words} of {len(made)}" if made else "",
        _range([row["calls_again"] for row in rows]),
        f"{mean(row['read'] for row in rows):.0%}",
        _range([row["dollars"] for row in rows], ".2f"),
        _range([row["seconds"] for row in rows], ".0f"),
        _kinds(rows),
    ]


def _range(numbers: list[float], form: str = "") -> str:
    """Write the smallest and the largest of some numbers.

    >>> _range([3, 5, 4]), _range([2, 2])
    ('3–5', '2')
    """
    ends = [format(end, form) for end in (min(numbers), max(numbers))]
    return "–".join(dict.fromkeys(ends))


def _kinds(rows: list[dict[str, Any]]) -> str:
    """Name what was found, and on how many seeds if it wasn't on all."""
    counts = Counter(
        kind for row in rows for kind in {kind for kind, _ in row["findings"]}
    )
    told = (
        kind if counts[kind] == len(rows) else f"{kind} ({counts[kind]})"
        for kind in sorted(counts)
    )
    return ", ".join(told) or "nothing"
