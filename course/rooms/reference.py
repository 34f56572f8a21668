"""The reference's table of settings, made from their docstrings."""

import ast
import inspect
import textwrap
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin, get_type_hints

from agentlib import presets, settings
from agentlib.settings import Settings
from course.table import Table, as_table
from session_report.style import LINE

LESSONS = {
    "00": "context_window enabled",
    "01": "output_reserve buffer threshold estimator",
    "02": "micro keep_recent min_chars keep_tools keep_messages max_result_chars",
    "03": "threshold_pct auto keep_exchanges summary_tokens",
    "04": "manual",
    "05": "recall",
    "06": "head_tokens tail_tokens summary_model reference_only",
    "07": "reactive summary_retries breaker_failures breaker_turns emergency_at warn_at",
    "08": "clear_at_least clear_when cache_ttl keep_alive",
    "10": "words_tokens",
    "11": "trim_over trim_keep",
    "here": "restore_files restore_tokens session_memory",
}
"""The settings by the lesson that explains them, or by this page."""


@dataclass(frozen=True)
class Setting:
    """One field of `Settings`, as a row of the table."""

    name: str
    value: str
    default: str
    """DEFAULT's value, if it differs."""
    values: str
    lesson: str
    meaning: str


def rows() -> list[Setting]:
    """Return a row for each field of `Settings`, in its order."""
    meanings = _docstrings()
    hints = get_type_hints(Settings, include_extras=True)
    lessons = {
        name: lesson for lesson, names in LESSONS.items() for name in names.split()
    }
    table = list[Setting]()
    for field in fields(Settings):
        name = field.name
        usual = getattr(Settings(), name)
        own = getattr(presets.DEFAULT, name)
        row = Setting(
            name=name,
            value=_shown(usual),
            default="" if own == usual else _shown(own),
            values=_values(hints[name]),
            lesson=lessons[name],
            meaning=meanings[name],
        )
        table.append(row)
    return table


def settings_table() -> Table:
    """Lay all settings out: as a table in HTML, and as paragraphs in plain text."""
    found = rows()
    frame = {
        row.name: {
            "Settings()": row.value,
            "DEFAULT": row.default,
            "values": row.values,
            "lesson": row.lesson,
            "meaning": row.meaning,
        }
        for row in found
    }
    html = as_table(frame, align="left").html
    # A narrow page would cut the table off. The web page lets keys scroll what is "wide".
    wide = f'<div class="wide" style="overflow-x: auto">{html}</div>'
    return Table("\n".join(map(_paragraph, found)), wide)


def _paragraph(row: Setting) -> str:
    own = f", DEFAULT {row.default}" if row.default else ""
    lesson = f"lesson {row.lesson}" if row.lesson.isdigit() else "on this page"
    first = f"{row.name}: {row.value}{own} ({row.values}; {lesson})"
    lines = textwrap.wrap(first, LINE, subsequent_indent="    ")
    looks: Any = {"initial_indent": "    ", "subsequent_indent": "    "}
    return "\n".join([*lines, *textwrap.wrap(row.meaning, LINE, **looks)])


def _docstrings() -> dict[str, str]:
    """Read the sentence under each field from the source."""
    module = ast.parse(inspect.getsource(settings))
    [body] = [
        node.body
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == "Settings"
    ]
    texts = dict[str, str]()
    for field, below in pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(below, ast.Expr):
            continue
        if isinstance(field.target, ast.Name) and isinstance(below.value, ast.Constant):
            texts[field.target.id] = " ".join(str(below.value.value).split())
    return texts


def _shown(value: object) -> str:
    return f"{value:,}" if type(value) is int else str(value)


_WORDS: dict[Any, str] = {
    settings.Tokens: "tokens, 0 or more",
    settings.SomeTokens: "tokens, 1 or more",
    settings.Percent: "percent of the window, over 0 to 100",
    settings.Share: "share of the window, over 0 to 1",
    int: "0 or more",
    float: "seconds, 0 or more",
    bool: "True or False",
    str: '"same", "auto" or a model\'s id',
    tuple[str, ...]: "names of tools",
    tuple[settings.Share, ...]: "shares of the window",
}


def _values(kind: Any) -> str:
    """Say which values a field takes.

    >>> _values(Literal["always", "cold"]), _values(settings.Percent | None)
    ('"always" or "cold"', 'percent of the window, over 0 to 100, or None')
    """
    if kind in _WORDS:
        return _WORDS[kind]
    choices = get_args(kind)
    if get_origin(kind) is Literal:
        *first, last = (f'"{choice}"' for choice in choices)
        return f"{', '.join(first)} or {last}"
    return f"{_values(choices[0])}, or None"
