"""Show a real model's runs beside the simulated ones, if `make real` has stored some.

Without a stored file there is nothing to show, and nothing is claimed.
"""

from collections.abc import Collection, Mapping
from typing import Any

from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

from course.table import as_table
from windtunnel import real


def hour(there: Collection[str]) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the rows for An hour's table, and the sentence about them.

    The simulated model's runs are `there` under their names. Those that aren't come
    too. What a report says of a file is counted in the simulated model's form alone, so
    `described` stays empty.
    """
    rows = dict[str, dict[str, Any]]()
    sentences = list[str]()
    for record in real.stored():
        for run in record["runs"]:
            if run["set"] != real.HOUR:
                continue
            if run["policy"] not in there:
                rows[f"{run['policy']}: simulated"] = _measures(run["simulated"])
            rows[f"{run['policy']}: {real.name_of(record)}"] = _measures(run["real"])
        sentences.append(real.agreement(record, real.HOUR, ("report", "rule")))
    return rows, " ".join(filter(None, sentences))


def _measures(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what An hour compares runs by. A run that was ended says so for its
    report."""
    return {
        "turns": row["turns"],
        "summaries": sum(row["compactions"].values()),
        "sent": row["sent"],
        "described": None,
        "rule": row["rule"],
        "report": row["ended"].partition(":")[0] or row["report"],
    }


def show(*marks: str) -> None:
    """Show the generated tasks: a table of both models for each stored file, with the
    sentence. `marks`: what they are compared by, of `real.MARKS`."""
    for record in real.stored():
        sentence = real.agreement(record, real.TASKS, marks)
        if sentence:
            display(as_table(_sums(record), caption=sentence))


def _sums(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Add up the generated tasks under each policy, first the simulated model's."""
    runs = [run for run in record["runs"] if run["set"] == real.TASKS]
    rows = dict[str, dict[str, Any]]()
    for policy in dict.fromkeys(run["policy"] for run in runs):
        for model, name in {
            "simulated": "simulated",
            "real": real.name_of(record),
        }.items():
            own = [run[model] for run in runs if run["policy"] == policy]
            rows[f"{policy}: {name}"] = {
                "tasks": len(own),
                "at the wall": sum(bool(row["over_window"]) for row in own),
                "summaries": sum(sum(row["compactions"].values()) for row in own),
                **{
                    name: sum(row[name] for row in own)
                    for name in ("report", "rule", "facts", "of")
                },
                "cost, $": sum(row["dollars"] for row in own),
            }
    return rows
