"""Recorded charts. The expected paths are worked out on paper: 1,000 units are an
inch."""

import json

import pytest
from matplotlib.patches import Rectangle

from session_report.style import DARK, LOOKS, RED, Chart
from tools.drawing import NotRecorded, Sheet, recording


def framed() -> tuple[Chart, object]:
    """An empty frame: x from 0 to 3 in six inches, y from 0 to 10 in two."""
    chart = Chart(2.72, "Three bars")
    axes = chart.frame(1, 0.5, 6, 2, "")
    axes.set(xlim=(0, 3), ylim=(0, 10), xticks=[], yticks=[])
    return chart, axes


def marks(sheet: Sheet, chart: Chart) -> list[tuple]:
    """The marks of a chart, each with its style written out."""
    height, picture = sheet.picture(chart)
    assert height == round(1_000 * chart.height)
    tables = json.loads(json.dumps(sheet.tables()))
    every = (tables["marks"][n] for n in picture)
    return [(tables["styles"][style], *rest) for style, *rest in every]


def filled(sheet: Sheet, chart: Chart, colour: str) -> list[str]:
    return [
        each[1]
        for each in marks(sheet, chart)
        if each[0][0] == colour and len(each) == 2
    ]


def test_three_bars_are_three_rectangles():
    chart, axes = framed()
    axes.bar([0.5, 1.5, 2.5], [5, 10, 2.5], 1, color=RED)
    assert filled(Sheet(), chart, RED.lower()) == [
        "M1000 2220h2000v-1000h-2000z",
        "M3000 2220h2000v-2000h-2000z",
        "M5000 2220h2000v-500h-2000z",
    ]


def test_words_keep_their_anchor_their_size_and_their_weight():
    chart, axes = framed()
    axes.text(1, 5, "<b>", ha="right", va="baseline", fontsize=9, color=RED)
    axes.set_ylabel("tokens")
    words = {each[3]: each for each in marks(Sheet(), chart) if len(each) > 2}
    style, *rest = words["<b>"]
    assert (style[0], rest) == (RED.lower(), [3000, 1220, "<b>", 125, 0, 2, 0])
    style, *rest = words["Three bars"]
    assert (style[0], rest[0], rest[3:]) == (DARK.lower(), 101, [181, 1, 0, 0])
    assert words["tokens"][5:] == (0, 1, 90)


def test_what_stands_out_of_the_frame_is_cut_there_and_nothing_else():
    chart, axes = framed()
    axes.add_patch(Rectangle((0, 0), 1, 20, color=RED, linewidth=0))
    axes.add_patch(Rectangle((1, 0), 1, 5, color=RED, linewidth=0))
    bars = [each for each in marks(Sheet(), chart) if each[0][0] == RED.lower()]
    assert [each[0][-1] for each in bars] == ["1000 220 6000 2000", ""]


def test_dashes_hatches_and_opacity():
    chart, axes = framed()
    axes.axhline(
        5, color=RED, linestyle=(0, (2, 1)), linewidth=7.2, dash_capstyle="butt"
    )
    axes.add_patch(Rectangle((0, 0), 1, 1, **LOOKS["placeholder"].fill()))
    axes.add_patch(Rectangle((0, 0), 1, 1, color=DARK, alpha=0.5, linewidth=0))
    styles = [each[0][:6] for each in marks(Sheet(), chart)]
    assert ["", RED.lower(), 100, "200 100", "", 1] in styles
    assert ["#ffffff", "", 0, "", "//// #333333 8", 1] in styles
    assert [DARK.lower(), "", 0, "", "", 0.5] in styles


def test_what_moves_is_drawn_last_and_the_rest_is_stored_once():
    chart, axes = framed()
    bar = axes.add_patch(Rectangle((0, 0), 1, 5, color=RED))
    axes.add_patch(Rectangle((0, 0), 1, 10, color=DARK))
    chart.move(bar)
    sheet = Sheet()
    _, first = sheet.picture(chart)
    count = len(sheet.marks)
    bar.set_height(10)
    _, second = sheet.picture(chart)
    assert (first[:-1], len(sheet.marks)) == (second[:-1], count + 1)
    assert filled(sheet, chart, RED.lower()) == ["M1000 2220h2000v-2000h-2000z"]


def test_filled_shapes_keep_their_opacity():
    chart, axes = framed()
    axes.fill_between([0, 3], [0, 0], [5, 5], color=RED, linewidth=0)
    axes.fill_between([0, 3], [5, 5], [10, 10], color=DARK, alpha=0.5, linewidth=0)
    seen = {each[0][0]: each[0][5] for each in marks(Sheet(), chart) if len(each) == 2}
    assert (seen[RED.lower()], seen[DARK.lower()]) == (1, 0.5)


def test_what_cannot_be_recorded_is_an_error():
    chart, axes = framed()
    axes.imshow([[0, 1]])
    with (
        recording(Sheet(), []),
        pytest.raises(NotRecorded, match="NotImplementedError"),
    ):
        chart.png()


def test_a_chart_makes_pngs_again_after_the_recording():
    chart = framed()[0]
    sheet = Sheet()
    pictures = []
    with recording(sheet, pictures):
        chart.png()
    assert pictures == [sheet.picture(chart)]
    assert chart.png().startswith(b"\x89PNG")
