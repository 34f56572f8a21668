"""Settings side by side: the same recorded session under each, small multiples and a table.

A replay keeps the recorded messages, so this compares what was sent and billed, never what an
agent would have done (play). Not here: the drawing (charts) and the bills (bills).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# ipywidgets has no types.

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ipywidgets import HTML, Checkbox, GridBox, Layout

from agentlib.lab.figures import charts
from agentlib.lab.panels.wall import Panel, scrolling
from agentlib.lab.replay import bills, replay, table
from agentlib.settings import MODEL, Settings
from agentlib.transcripts import Session

if TYPE_CHECKING:
    from pandas import DataFrame

_GRID = Layout(grid_template_columns="repeat(auto-fit, minmax(14em, 1fr))")


class Comparison(Panel):
    """A box to tick for each of the settings, their charts below each other, and the table.

    `panel.table` is the table as a DataFrame: a row for each of the settings that are ticked.
    """

    def __init__(self, session: Session, settings: Mapping[str, Settings], model: str) -> None:
        self.session, self.settings, self.model = session, dict(settings), model
        self.charts = {name: table(replay(session, each)) for name, each in settings.items()}
        self.all = self._rows()
        self.table, self.rows = self.all, HTML()
        boxes = {name: _box(name, n < 2) for n, name in enumerate(settings)}
        super().__init__(boxes, self._draw)
        grid = GridBox(list(boxes.values()), layout=_GRID)
        self.children = [grid, self.picture, self.line, self.rows]

    def _draw(self, **ticked: bool) -> tuple[bytes, str]:
        shown = [name for name, is_on in ticked.items() if is_on]
        if not shown:
            raise ValueError("nothing is ticked; tick one of the settings, or more")
        self.table = self.all.loc[shown]
        self.rows.value = as_html(self.table)
        picture = charts.compare({name: self.charts[name] for name in shown})
        return charts.png(picture), sentence(self.table)

    def _rows(self) -> "DataFrame":
        import pandas

        found = {name: self._row(name) for name in self.settings}
        return pandas.DataFrame.from_dict(found, orient="index")

    def _row(self, name: str) -> dict[str, Any]:
        frames = replay(self.session, self.settings[name])
        billed = bills.bills(self.session, frames)
        sent = bills.sent(billed)
        read = sum(bills.table(billed, self.model)["read"])
        return {
            "tokens sent": sent,
            "largest": max((frame.prompt_tokens for frame in frames), default=0),
            "compactions": sum(frame.compaction not in (None, "failed") for frame in frames),
            "cleared": sum(len(frame.step.cleared) for frame in frames),
            "% cached": round(100 * read / (sent or 1)),
            f"$ {self.model}": round(bills.spent(billed, self.model), 4),
        }


def comparison(
    session: Session, settings: Mapping[str, Settings], *, model: str = MODEL
) -> Comparison:
    """The panel; the first two of the settings are ticked. Names are the charts' titles.

    Raises ValueError for a session without requests, no settings, or a model without a price.
    """
    if not settings:
        raise ValueError("there is nothing to compare: no settings")
    return Comparison(session, settings, model)


def sentence(rows: "DataFrame") -> str:
    """What the table shows, in words: a line for each of the settings.

    >>> from pandas import DataFrame
    >>> row = {"tokens sent": 900, "compactions": 1, "cleared": 2, "% cached": 50, "$ m": 0.25}
    >>> print(sentence(DataFrame([row], index=["a"])))
    a: 900 tokens sent, 50% of them cached, $0.2500; 1 compaction, 2 results
      cleared.
    Dollars are at the prices of m.
    """
    lines: list[str] = []
    column = next(column for column in rows.columns if column.startswith("$ "))
    for name, row in zip(rows.index, rows.to_dict("records"), strict=True):
        text = (
            f"{name}: {row['tokens sent']:,} tokens sent, {row['% cached']}% of them cached, "
            f"${row[column]:.4f}; {_count(row['compactions'], 'compaction')}, "
            f"{_count(row['cleared'], 'result')} cleared."
        )
        lines.append(textwrap.fill(text, 72, subsequent_indent="  "))
    return "\n".join([*lines, f"Dollars are at the prices of {column.removeprefix('$ ')}."])


def as_html(rows: "DataFrame") -> str:
    """A row for each of the settings."""
    known: dict[str, Any] = {"tokens sent": _int, "largest": _int}
    shown = rows.to_html(border=0, formatters=known)
    return scrolling(shown, "table of the settings")


def _int(number: int) -> str:
    return f"{number:,}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _box(name: str, ticked: bool) -> Checkbox:
    wide: Any = {"width": "auto"}
    return Checkbox(value=ticked, description=name, indent=False, tooltip=name, layout=wide)
