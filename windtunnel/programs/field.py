"""What the known programs did in the wind tunnel, as `make programs` stored it.

A row holds sizes, kinds and marks, and nothing of a program's code, prompts or texts.
"""

import json
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
    lines = [
        "| program | requests | compactions | prompt before → after, mean | "
        "results shown to the summariser | put back as | own words kept | read from cache "
        "| found |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["program"] for row in rows):
        own = [row for row in rows if row["program"] == name]
        lines.append(f"| {' | '.join(_cells(own))} |")
    return "\n".join(lines)


def _cells(rows: list[dict[str, Any]]) -> list[str]:
    made = [each for row in rows for each in row["compactions"]]
    shown = [each["shown"] for each in made if each["shown"] is not None]
    kinds = sorted({kind for row in rows for kind, _ in row["findings"]})
    words = sum(each["words"] == "kept" for each in made)
    sizes = ""
    if made:
        before, after = (mean(each[n] for each in made) for n in ("before", "after"))
        sizes = f"{before:,.0f} → {after:,.0f}"
    return [
        f"{rows[0]['program']} {rows[0]['version']}",
        ", ".join(str(row["requests"]) for row in rows),
        ", ".join(str(len(row["compactions"])) for row in rows),
        sizes,
        f"{mean(shown):.0%}" if shown else "",
        ", ".join(sorted({each["put_back"] for each in made if each["put_back"]})),
        f"{words} of {len(made)}" if made else "",
        f"{mean(row['read'] for row in rows):.0%}",
        ", ".join(kinds) or "nothing",
    ]
