"""The pictures of lesson 01 hold the numbers of the table and of the sliders."""

from typing import Any

import pandas
import pytest

from agentlib.lab.panels import estimation_panel
from agentlib.lab.replay.estimates import BLOCKS, CHARS, LAST_BILL, METER
from agentlib.settings import Settings

TABLE = pandas.DataFrame(
    {"turn": [1, 2], "billed": [100, 200], CHARS: [40, 90], BLOCKS: [50, 80]}
    | {LAST_BILL: [40, 190], METER: [90, 200]}
)


def drawn(chart: Any) -> dict[str, list[float]]:
    """Label of each line of a chart -> its heights."""
    return {line.get_label(): list(line.get_ydata()) for line in chart.axes[0].lines}


def test_the_readings_are_drawn_beside_the_bills_and_the_window():
    lines = drawn(estimation_panel.lines(TABLE, window=150))
    assert lines["billed"] == [100, 200]
    assert (lines[CHARS], lines[METER]) == ([40, 90], [90, 200])
    assert [150, 150] in lines.values()


def test_errors_are_drawn_without_their_sign_and_never_below_a_hundredth():
    lines = drawn(estimation_panel.errors(TABLE))
    assert lines[CHARS] == pytest.approx([60, 55])
    assert lines[METER] == pytest.approx([10, 0.01])


def test_the_bar_has_the_windows_shares():
    chart = estimation_panel.SharesChart()
    chart.update(Settings(), 171_000)
    shares = [(bar.get_x(), bar.get_width()) for bar in chart.bars]
    assert shares == [(0, 171_000), (171_000, 13_000), (184_000, 16_000)]


@pytest.mark.parametrize(
    ("rings", "place", "late"),
    [(184_000, 184_000, False), (184_001, 184_001, True), (900_000, 500_000, True)],
)
def test_the_sign_stands_where_the_alarm_rings_and_is_red_when_that_is_too_late(
    rings: int, place: int, late: bool
):
    chart = estimation_panel.SharesChart()
    in_time = chart.sign.get_color()
    chart.update(Settings(), rings)
    assert list(chart.sign.get_xdata()) == [place]
    assert chart.words.get_text() == f"rings at {rings:,}"
    assert (chart.sign.get_color() != in_time) is late


def test_only_turns_that_brought_more_than_the_buffer_are_counted():
    said = estimation_panel.shares_sentence(Settings(), 171_000, [13_000, 13_001, 14_000])
    assert "2 of 3 recorded turns brought more than the buffer" in said
    assert said.endswith("14,000.")
