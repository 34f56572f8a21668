"""Tables for reading: the same numbers in plain text and in HTML."""

import pytest
from pandas import DataFrame, Index, MultiIndex, Series

from course.table import as_table

RUNS = DataFrame(
    {
        "tokens": [1_085_278.0, 436_288.67],
        "cost, $": [1.306, 0.2714],
        "done": [True, False],
    },
    index=Index([1, 40], name="keep_recent"),
)


def test_numbers_have_separators_and_digits_that_mean_something():
    text = repr(as_table(RUNS))
    assert "1,085,278" in text
    assert "436,289" in text
    assert "0.27 " in text
    assert ".00" not in text


def test_the_names_of_the_rows_stand_in_the_line_of_the_headings_and_units_below():
    first, second, *rows = repr(as_table(RUNS)).splitlines()
    assert first.split() == ["keep_recent", "tokens", "cost", "done"]
    assert second.split() == ["$"]
    assert [row.split()[-1] for row in rows] == ["yes", "no"]


def test_a_marked_row_is_marked_in_both():
    table = as_table(RUNS, mark=[40])
    assert repr(table).splitlines()[-1].startswith("▶ 40")
    assert '<th scope="row">▶ 40</th>' in table._repr_html_()
    assert table._repr_html_().count("<strong>") == 3


def test_html_names_its_headings_and_escapes_what_it_is_given():
    rows = {"<b>": {"a & b": "<i>"}}
    html = as_table(rows, caption="x < y")._repr_html_()
    for part in ("<caption>x &lt; y</caption>", '<th scope="col">a &amp; b</th>'):
        assert part in html
    assert '<th scope="row">&lt;b&gt;</th>' in html
    assert "<td>&lt;i&gt;</td>" in html
    assert "<thead>" in html
    assert "<td></td>" in html  # no heading without a name


def test_the_same_numbers_give_the_same_bytes_and_the_frame_stays_as_it_is():
    before = RUNS.copy()
    one, two = (as_table(RUNS, mark=[1], units={"tokens": "sent"}) for _ in range(2))
    assert one == two
    assert before.equals(RUNS)


def test_series_groups_and_long_texts_are_shown_whole():
    long = (
        "a name that is much longer than the fifty letters pandas would show by itself"
    )
    pairs = MultiIndex.from_tuples([("calls", "bash"), ("calls", "read")])
    assert long in repr(as_table({long: {"text": long}}))
    assert "2.50" in repr(as_table(Series([1.0, 2.5], ["a", "b"], name="cost, $")))
    assert repr(as_table(DataFrame({"n": [1, 2]}, index=pairs))).count("calls") == 1
    ends = RUNS.groupby("done")[["tokens"]].agg(["min", "max"])
    assert repr(as_table(ends)).splitlines()[1].split() == ["min", "max"]


@pytest.mark.parametrize(
    "wrong", [{"mark": [2]}, {"units": {"price": "$"}}, {"digits": {"x": 1}}]
)
def test_a_row_or_column_that_is_not_there_is_named(wrong):
    with pytest.raises(ValueError, match="in the table; it has"):
        as_table(RUNS, **wrong)


def test_missing_values_stay_empty():
    table = as_table({"a": {"x": 1.5, "y": None}, "b": {"x": float("nan"), "y": "z"}})
    assert "nan" not in repr(table).lower()
    assert "None" not in repr(table)
