"""Tables that a person can read: in the notebook as HTML, and as plain text beside it.

The plain text is what nbval compares, and what a terminal shows. The same numbers give
the same bytes.
"""

# pyright: reportUnknownMemberType=false
# pandas has no complete types.

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, cast

from pandas import DataFrame, Index, MultiIndex, Series, option_context

from session_report.style import wrapped

DIGITS = 3
"""Digits that the largest number of a column shows. The others end at the same
place."""
MARK = "▶ "
"""Stands before the name of a marked row."""
_LINE = '<tr style="text-align: right;">'
_HEADING = re.compile(r"<th(?=[ >])")


@dataclass(frozen=True)
class Table:
    """A table as a notebook shows it."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def as_table(
    frame: "DataFrame | Series[Any] | Mapping[Any, Any]",
    *,
    units: Mapping[Any, str] | None = None,
    digits: Mapping[Any, int] | None = None,
    mark: Collection[Any] = (),
    caption: str = "",
    align: Literal["left", "right"] = "right",
) -> Table:
    """Lay out a frame, a series, or rows by name, for reading.

    Numbers have thousands separators. A column of fractions shows three digits of its
    largest, or as many decimals as `digits` says. True and False become yes and no, and
    a missing value stays empty. `units`: by column, what its numbers are in, for a
    second line of the heading. Without it, a name such as "kept, $" ends with its unit.
    `mark`: the rows that matter. A screen reader hears the mark before the row's name.
    `align`: in HTML, left for a table of words.
    Raises ValueError for a column or a row that the frame doesn't have.

    >>> rows = {"a": {"sent": 1_085_278.0, "cost, $": 0.0067}, "b": {"sent": 9, "cost, $": 0.1967}}
    >>> as_table(rows, units={"sent": "tokens"}, mark=["b"])
              sent   cost
            tokens      $
    a    1,085,278  0.007
    ▶ b          9  0.197
    """
    data = _frame(frame)
    units = units or {}
    digits = digits or {}
    columns: list[Any] = [*data.columns]
    rows: list[Any] = [*data.index]
    _need([*units, *digits], columns, "column")
    _need(mark, rows, "row")
    cells: Any = DataFrame(
        {
            place: _column(data.iloc[:, place].tolist(), digits.get(name))
            for place, name in enumerate(columns)
        },
        index=data.index,
    )
    marked = [row in mark for row in rows]
    top = data.index.name
    if data.index.nlevels == 1:
        names = zip(rows, marked, strict=True)
        cells.index = [f"{MARK * is_marked}{row}" for row, is_marked in names]
    headings = [_heading(name, units.get(name, "")) for name in columns]
    # The rows' own name stands in the line of the headings, not in one below it.
    if any(unit for _, unit in headings):
        cells.columns = MultiIndex.from_tuples(headings, names=[top, None])
    else:
        cells.columns = Index([name for name, _ in headings], name=top)
    with option_context("display.max_colwidth", None):
        text = "\n".join(map(str.rstrip, cells.to_string().splitlines()))
        html = _html(cells, marked, caption, align)
    above = f"{wrapped(caption)}\n" if caption else ""
    return Table(above + text, html)


def _frame(given: Any) -> Any:
    if isinstance(given, Series):
        return given.to_frame()
    if isinstance(given, DataFrame):
        return given
    rows = dict(cast("Mapping[Any, Any]", given))
    return DataFrame.from_dict(rows, orient="index")


def _need(names: Collection[Any], known: list[Any], kind: str) -> None:
    """Raise ValueError for the first name that isn't known."""
    for name in names:
        if name not in known:
            has = ", ".join(map(repr, known))
            raise ValueError(f"no {kind} {name!r} in the table; it has {has}")


def _heading(name: Any, unit: str) -> tuple[str, str]:
    """Return the two lines of a heading.

    >>> _heading("kept, $", ""), _heading("turns", "of 60"), _heading(("turns", "min"), "")
    (('kept', '$'), ('turns', 'of 60'), ('turns', 'min'))
    """
    if isinstance(name, tuple):
        first, second = map(str, cast("tuple[Any, Any]", name))
        return first, second
    if not unit and ", " in str(name):
        first, _, unit = str(name).rpartition(", ")
        return first, unit
    return str(name).strip(), unit


def _column(values: list[Any], decimals: int | None = None) -> list[str]:
    """Write all values of a column with the same number of decimals."""
    if decimals is None:
        numbers = [abs(value) for value in values if _is_number(value)]
        largest = max(numbers, default=0)
        is_whole = all(number == int(number) for number in numbers)
        decimals = 0 if is_whole else DIGITS - 1 - math.floor(math.log10(largest))
    return [_cell(value, max(0, decimals)) for value in values]


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def _cell(value: Any, decimals: int) -> str:
    """
    >>> [_cell(value, 2) for value in (True, 1_234, 0.5, None, float("nan"), "▲ 4")]
    ['yes', '1,234.00', '0.50', '', '', '▲ 4']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if _is_number(value):
        return f"{value:,.{decimals}f}"
    return str(value)


def _html(cells: Any, marked: list[bool], caption: str, align: str) -> str:
    """Turn cells into HTML whose headings say what they are the heading of."""
    shown: Any = cells.map(escape).rename(index=_escaped, columns=_escaped)
    for row, is_marked in enumerate(marked):
        if is_marked:
            shown.iloc[row] = [f"<strong>{cell}</strong>" for cell in shown.iloc[row]]
    text: str = shown.to_html(border=0, escape=False)
    text = text.replace(' border="0"', "").replace(' valign="top"', "")
    if align == "left":
        text = text.replace("<td>", '<td style="text-align: left;">')
    head, body = text.split("<tbody>")
    if caption:
        head = head.replace("\n", f"\n  <caption>{escape(caption)}</caption>\n", 1)
    head = head.replace("<th></th>", "<td></td>").replace("<tr>", _LINE)
    head = head.replace("text-align: right;", f"text-align: {align};")
    head = _HEADING.sub('<th scope="col"', head)
    body = _HEADING.sub('<th scope="row"', body)
    return f"{head}<tbody>{body}"


def _escaped(name: object) -> str:
    return escape(str(name))
