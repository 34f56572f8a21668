"""The panel of lesson 03: two numbers, a replay at once, and what the agent itself made of them."""

from dataclasses import replace

import pytest

from agentlib.lab.panels.compaction_panel import compaction_panel
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.settings import Settings

START = replace(
    Settings(micro="off", manual=False).scaled(32_000), threshold=20_800, summary_tokens=1_000
)


@pytest.fixture(scope="module")
def panel():
    recorded = play(REVIEW, Settings(enabled=False))
    return compaction_panel(recorded.session, START, [play(REVIEW, START)])


def test_the_point_goes_up_to_the_window_less_reserve_and_buffer(panel):
    assert panel.threshold.max == 32_000 - START.output_reserve - START.buffer == 27_360
    assert panel.threshold.min == 4_000
    assert panel.values == {"threshold": 20_800, "summary_tokens": 1_000}


def test_both_ends_and_the_middle_are_places_of_the_sliders(panel):
    for slider, places in (
        (panel.threshold, (4_000, 20_800, 27_360)),
        (panel.summary_tokens, (100, 1_000, 12_000)),
    ):
        assert [(place - slider.min) % slider.step for place in places] == [0, 0, 0]


def test_a_lower_point_compacts_more_often(panel):
    counts = []
    for point in (27_360, 4_000):
        panel.threshold.value = point
        counts.append(int(panel.text.split(" compaction")[0].split()[-1]))
    assert 0 < counts[0] < counts[1]


def test_a_move_draws_another_picture(panel):
    panel.threshold.value = 27_360
    before = panel.png
    panel.threshold.value = 4_000
    assert panel.png != before
    assert panel.png.startswith(b"\x89PNG")


def test_the_length_of_the_stand_in_is_the_slider(panel):
    panel.threshold.value, texts = 4_000, []
    for length in (100, 2_000):
        panel.summary_tokens.value = length
        texts.append(panel.text)
    assert texts[0] != texts[1]


def test_a_run_at_the_same_two_numbers_is_told_and_no_other(panel):
    run = play(REVIEW, START)
    panel.threshold.value, panel.summary_tokens.value = 20_800, 1_000
    assert f"The agent itself: {run.turns} turns" in panel.text
    panel.threshold.value = 20_960
    assert "not tried at these two numbers" in panel.text
