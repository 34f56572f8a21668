"""What the known programs did in the wind tunnel, as `make programs` stored it.

A row holds sizes, kinds and marks, and nothing of a program's code, prompts or texts.
"""

import json
from pathlib import Path
from typing import Any

FIELD = Path(__file__).with_name("field.json")
"""A row for each program and seed."""
_NAMES = (
    *("program", "version", "seed", "window", "requests", "prompts", "kinds"),
    *("numbers", "read", "dollars", "seconds", "compactions"),
    *("unconfined", "kept", "verdict"),
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
