"""The report on sessions: named tables, which the terminal, the page and the JSON show.

Keys and tokens of known shapes are masked. Without texts, a numbered stand-in takes the
place of every word that isn't the program's own. Titles, sums and formats are in
`report.toml`.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import isnan
from typing import Any

import jinja2
from pandas import DataFrame
from rich.box import SIMPLE
from rich.cells import cell_len, set_cell_size
from rich.table import Table
from rich.text import Text

from agentlib.api.spending import price_list
from agentlib.cli.render import plain, short
from agentlib.messages import of_type
from agentlib.transcripts import Session
from session_report import kept, pictures
from session_report.amounts import money
from session_report.answer import answer
from session_report.one import PAUSE, WARM, Row, compactions, losses, responses
from session_report.tools import kind_of
from session_report.what_if import FEW, set_this

VERSION = 2
"""Of the JSON. A new one means that a field went or means something else."""
Report = dict[str, list[Row]]
"""Tables by name, each a list of rows."""
_HERE = files("session_report")
WORDS: dict[str, Any] = tomllib.loads(
    (_HERE / "report.toml").read_text(encoding="utf-8")
)
"""What each table adds up and how it is titled, and what stays when texts are left
out."""
_LEAST = 14
"""Characters of a text that are left, at least, before a column is left out: "window
175,000"."""
_WHOLE: list[str] = WORDS["narrow"]["whole"]
_KNOWN = {*WORDS["known"]["words"], *price_list()["models"]}

# -- the tables ------------------------------------------------------------------------


def of_overview(tables: Mapping[str, DataFrame]) -> Report:
    """Say what all sessions together cost, and what filled their windows."""
    listed = ("kept", "stated", "not priced", "not counted", "unread")
    report = {name: _rows(tables[name]) for name in listed}
    for name, spec in WORDS["tables"].items():
        if "by" in spec and not tables[spec["from"]].empty:
            report[name] = _rows(_summed(tables[spec["from"]], **spec))
    return report


def _summed(table: DataFrame, by: list[str], sums: list[str], **spec: str) -> DataFrame:
    """Group a table and add up. The largest last sum comes first, or else the `sort`
    column."""
    groups = table.groupby(by, sort=False)
    columns: Any = {
        name: groups[name].sum(min_count=1) for name in sums if name in table
    }
    counted = {"sessions": "conversation", "responses": "response"}
    columns |= {
        name: groups[counted[name]].nunique() for name in sums if name in counted
    }
    columns |= {"longest": groups["prompt"].max()} if "longest" in sums else {}
    summed = DataFrame({name: columns[name] for name in sums}).reset_index()
    return summed.sort_values(spec.get("sort", sums[::-1]), ascending="sort" in spec)


def of_session(session: Session) -> Report:
    """List a session's prompts, misses of the cache, silent clearings and
    compactions."""
    every = responses(session)
    prompts = [{name: row[name] for name in ("turn", "prompt")} for row in every]
    for row, request in zip(every, session.requests, strict=True):
        row["rewritten"], row["dollars"] = row["spent"].get(row["why"], (0, 0.0))
        newest = request.context[-1:]
        is_result = any(of_type(message, "tool_result") for message in newest)
        row["when"] = "in mid-turn" if is_result else "at a person's words"
    shown = ("turn", "minutes", "prompt", "rewritten", "dollars")
    why = ("why", *shown)
    gone = (*shown, "gone", "when")
    return {
        "misses": [
            {n: row[n] for n in why} for row in every if row["why"] in (PAUSE, WARM)
        ],
        "clearings": [{n: row[n] for n in gone} for row in every if row["gone"]],
        "compactions": compactions(session),
        "kept each": kept.rows(session),
        "lost": losses(session),
        "prompts": prompts,
    }


def of_what_if(table: DataFrame) -> Report:
    """Say what other settings would have cost, and which to set."""
    columns = ["line", "dollars", "percent", "low", "high", "error", "need"]
    few = table.attrs["sessions"] < FEW
    others = [
        {"program": program, "sessions": number}
        for program, number in table.attrs["others"].items()
    ]
    nothing = [
        {
            "line": "too few sessions to choose by"
            if few
            else "nothing is surely cheaper"
        }
    ]
    sure = set_this(table).assign(error=table.attrs["error"])
    tables = {"what if": _rows(table), "set this": _rows(sure[columns]) or nothing}
    return tables | ({"not tried": others} if others else {})


def _rows(table: DataFrame) -> list[Row]:
    return [
        {str(name): value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


# -- what may be shown -----------------------------------------------------------------


def shareable(report: Mapping[str, list[Row]], *, texts: bool = True) -> Report:
    """Mask keys in every text. Without texts, put a numbered stand-in for each word of
    a session.

    The same word has the same stand-in in the whole report.

    >>> shareable({"models": [{"model": "gpt", "tokens": 5}]}, texts=False)
    {'models': [{'model': 'model 1', 'tokens': 5}]}
    """
    stand_ins, masked = (
        dict[str, dict[str, str]](),
        cache(plain),
    )  # most texts come often

    def shown(column: str, value: Any) -> Any:
        if not isinstance(value, str):
            return None if isinstance(value, float) and isnan(value) else value
        is_ours = column in WORDS["known"]["columns"] or value in _KNOWN
        is_tool = column == "tool" and "__" not in value
        if (
            texts
            or is_ours
            or (is_tool and kind_of({"name": value, "input": {}}) != "other")
        ):
            return masked(value)
        known = stand_ins.setdefault(column, {})
        return known.setdefault(value, f"{column} {len(known) + 1}")

    return {
        name: [
            {column: shown(column, value) for column, value in row.items()}
            for row in rows
        ]
        for name, rows in report.items()
    }


# -- how it is shown -------------------------------------------------------------------


def cell(column: str, value: Any) -> str:
    """Write one value of a table as the column's format says.

    >>> cell("dollars", 1.5), cell("dollars", None), cell("tokens", 1_500)
    ('1.50', 'no price', '1,500')
    """
    if value is None:
        return "no price" if column == "dollars" else ""
    if column == "dollars" and not isinstance(value, str):
        return money(value).removeprefix("$")
    form = "{}" if isinstance(value, str) else WORDS["formats"].get(column, "{:,.0f}")
    return form.format(value)


def as_json(report: Report, answer: list[str], zone: str) -> dict[str, Any]:
    """Return the report as `report.schema.json` says, which stands beside this file.

    `zone`: whose days are counted.
    """
    return {"version": VERSION, "timezone": zone, "answer": answer, **report}


def _titles(zone: str) -> dict[str, str]:
    """Return the title of each table. That of the days says whose they are."""
    titles = {name: spec["title"] for name, spec in WORDS["tables"].items()}
    return titles | {"days": f"{titles['days']} ({zone})" if zone else titles["days"]}


def as_text(
    report: Report, width: int = 80, most: int = 12, *, zone: str = ""
) -> Iterator[Table]:
    """Yield the tables for a terminal, `most` rows of each. No number in them is ever
    cut. `zone`: whose days are counted."""
    titles = _titles(zone)
    for name, spec in WORDS["tables"].items():
        if rows := report.get(name):
            rest = f"{len(rows) - most} more rows with --html or --json. " * (
                len(rows) > most
            )
            table = Table(
                title=titles[name], caption=rest + _note(spec, rows), box=SIMPLE
            )
            table.title_justify = table.caption_justify = "left"
            columns = _columns(rows[:most], width)
            for column in columns:
                side: Any = "left" if isinstance(rows[0][column], str) else "right"
                table.add_column(column, justify=side, no_wrap=True)
            for each in zip(*columns.values(), strict=True):
                table.add_row(*map(Text, each))
            yield table


def _note(spec: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Return what explains a table. A single column is a sentence and needs nothing."""
    return spec.get("note", "") * (len(rows[0]) > 1)


def _columns(rows: Sequence[Row], width: int) -> dict[str, list[str]]:
    """Return the columns that fit, by name. Texts are shortened first, then columns
    left out."""
    shown = {
        name: [short(cell(name, row[name]), 200) for row in rows] for name in rows[0]
    }
    left_out = iter(WORDS["narrow"]["left_out"])
    while True:
        wide = {
            name: max(map(cell_len, [name, *cells])) for name, cells in shown.items()
        }
        texts = {
            n: wide[n] for n in shown if isinstance(rows[0][n], str) and n not in _WHOLE
        }
        room = (
            width - 3 * len(shown) - 1 - sum(wide[n] for n in shown if n not in texts)
        )
        caps = [
            n
            for n in range(_LEAST, 201)
            if sum(min(w, n) for w in texts.values()) <= room
        ]
        if caps or len(shown) == 1:
            break
        shown.pop(next((name for name in left_out if name in shown), next(iter(shown))))
    most = max(caps, default=_LEAST)
    return shown | {n: [_cut(n, text, most) for text in shown[n]] for n in texts}


def _cut(column: str, text: str, most: int) -> str:
    """Shorten a text: an id to its beginning, which --session takes, and a path to its
    end."""
    if column == "session" or cell_len(text) <= most:
        return text[:most]
    if "/" in text and " " not in text:
        return f"…{set_cell_size(text[::-1], most - 1).rstrip()[::-1]}"
    return f"{set_cell_size(text, most - 1).rstrip()}…"


def as_page(
    report: Report,
    title: str = "What your sessions cost, and what filled them",
    *,
    zone: str = "",
) -> str:
    """Write the report as one page of HTML that loads nothing. `zone`: whose days are
    counted."""
    plot = (
        pictures.prompts(report) if "prompts" in report else pictures.sessions(report)
    )
    shown = {"report": report, "tables": WORDS["tables"], "answer": answer(report)}
    shown["titles"] = _titles(zone)
    return _template().render(**shown, cell=cell, note=_note, plot=plot, title=title)


@cache
def _template() -> jinja2.Template:
    """Compile the page's template once: that takes longer than filling it in."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string((_HERE / "page.html.j2").read_text(encoding="utf-8"))
