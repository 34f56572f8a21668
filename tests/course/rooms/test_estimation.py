"""Lesson 01: its wrong answers, and its run with the published solutions."""

import json
from itertools import combinations, product
from typing import ClassVar

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Rectangle, StepPatch
from pandas import DataFrame

from agentlib.estimation import estimate_tokens
from agentlib.settings import Settings
from course.checks.estimation import rings_at
from course.figures import estimates
from course.rooms.estimation import estimation_panel
from tests.course.rooms.solved import EDITED, Lesson


def words_only(messages):
    return sum(len(str(m)) + 2 for m in messages if isinstance(m["content"], str)) // 4


def eats_its_input(billed, sent, messages):
    del messages[:sent]
    return billed + estimate_tokens(messages)


WRONG = {
    "01.1": [
        (words_only, "a call in a list"),
        (lambda messages: 0, "a request"),
        (lambda messages: len(json.dumps(messages)) // 4, "a result in Chinese"),
        (lambda messages: len(str(messages)) / 4, "the answer is 15, not 15."),
        (lambda messages: round(len(str(messages)) / 4), "the answer is"),
        (lambda messages: len(str(messages[-1])) // 4, "a call in a list"),
    ],
    "01.2": [
        (lambda threshold, off: threshold * (1 + off / 100), "is 200, not 50"),
        (lambda threshold, off: threshold * (1 - off / 100), "is 200, not 150"),
        (lambda threshold, off: threshold / (-off / 100), "20 % low"),
        (
            lambda threshold, off: threshold / (1 - abs(off) / 100),
            "it raised ZeroDivisionError",
        ),
        (lambda threshold, off: threshold - threshold * off / 100, "is 200, not 150"),
        (lambda threshold, off: threshold / (1 - off / 100), "is 200, not 66"),
    ],
    "01.3": [
        (
            lambda billed, sent, m: billed + estimate_tokens(m[-(len(m) - sent) :]),
            "the first 5 messages were billed, so only 0 have to be guessed",
        ),
        (
            lambda billed, sent, messages: estimate_tokens(messages),
            "the first 3 messages",
        ),
        (lambda billed, sent, messages: billed, "before any bill"),
        (
            lambda billed, sent, messages: billed + estimate_tokens(messages),
            "the first 3 messages",
        ),
        (
            lambda billed, sent, m: billed + estimate_tokens(m[-2:] if billed else m),
            "only 4 have to be guessed",
        ),
        (eats_its_input, EDITED),
    ],
    "01.4": [
        (-14, "with -14 the alarm rings past 184,000"),
        (-6, "with -6 the alarm rings in time"),
        (7, "negative means low"),
        ("-7", "is no whole number; give whole percent"),
        (-6.5, "-6.5 is no whole number; give whole percent"),
        (-8, "past 184,000"),
    ],
}
RIGHT = {
    "01.1": [lambda conversation: int(len(f"{conversation}") / 4)],
    "01.2": [
        lambda threshold, off: threshold * 100 / (100 + off),
        lambda alarm, error: round(alarm / (1 + error / 100)),
    ],
    "01.3": [lambda paid, count, sent: paid + len(str(sent[count:])) // 4],
    "01.4": [-7.0],
}


class TestEstimation(Lesson):
    wrong = WRONG
    right = RIGHT
    panels: ClassVar = {"the alarm": estimation_panel}


def test_the_shares_of_the_window_and_the_alarm(unpainted):
    panel = estimation_panel()
    assert "= 171,000; the alarm rings at 171,000: in\ntime." in panel.text
    panel.off.value = -60
    assert "rings at 427,500: never" in panel.text
    panel.off.value = -10
    assert "too late for an answer of 16,000" in panel.text.replace("\n", " ")


@pytest.mark.parametrize(
    ("off", "title"), [(-80, "can't ring"), (0, "in time"), (-10, "too late")]
)
def test_the_alarm_stands_on_the_axis_at_the_tokens_at_which_it_rings(
    off: int, title: str
):
    settings = Settings()
    real = rings_at(settings.threshold_tokens, off)
    chart = estimates.shares(settings, real, off)
    [axes] = chart.figure.axes
    shown = chart.figure.texts[0]
    [place] = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "v"]
    assert place == real < axes.get_xlim()[1]
    assert title in shown.get_text()


@pytest.mark.parametrize("window", [40_000, 200_000, 400_000])
def test_labels_stay_inside_and_apart_at_the_ends_of_all_sliders(window: int):
    for reserve, buffer, off in product(
        (0, 16_000, 64_000), (0, 40_000), (-80, -5, 0, 100)
    ):
        if window <= reserve + buffer:
            continue
        chosen = Settings(context_window=window, output_reserve=reserve, buffer=buffer)
        figure = estimates.shares(
            chosen, rings_at(chosen.threshold_tokens, off), off
        ).figure
        canvas = FigureCanvasAgg(figure)
        words = [each for each in figure.axes[0].texts if each.get_text()]
        boxes = [each.get_window_extent(canvas.get_renderer()) for each in words]
        assert all(figure.bbox.contains(*box.min) for box in boxes)
        assert all(figure.bbox.contains(*box.max) for box in boxes)
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_where_reserve_and_buffer_take_all_the_panel_says_so_without_a_picture():
    panel = estimation_panel()
    panel.move(window=40_000, reserve=64_000)
    assert "Nothing is left" in panel.text
    assert panel.png == b""


def test_a_learners_formula_moves_the_alarm():
    panel = estimation_panel(rings=lambda threshold, off: threshold + 1_000)
    assert "rings at 172,000" in panel.text


def test_bills_are_an_area_and_a_refused_prompt_goes_through_the_wall():
    start = Settings(context_window=100, output_reserve=10, buffer=10)
    rows = DataFrame({"turn": [1, 2, 3], "billed": [40, 20, 120], "said": [30, 85, 60]})
    tables = {"mine": rows.assign(rang=[False, True, False])}
    axes = estimates.beside(tables, start).figure.axes[0]
    areas = [p for p in axes.patches if isinstance(p, StepPatch)]
    assert list(areas[0].get_data().values) == [40, 20]
    bars = [p.get_height() for p in axes.patches if isinstance(p, Rectangle)]
    assert (bars, axes.get_ylim()[1] > 120) == ([120], True)
    words = [text.get_text() for text in axes.texts]
    assert {"refused: 120", "estimate 60", "window 100", "alarm set to 80"} <= set(
        words
    )
    assert words.count("rings") == 1
