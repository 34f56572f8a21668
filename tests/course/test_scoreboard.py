"""The scorecard of the lessons."""

import itertools
import re
from dataclasses import replace
from typing import Any

import pytest

from agentlib.messages import of_type
from agentlib.settings import MODEL
from course import scoreboard
from course.figures.climb import climb
from course.scoreboard import (
    DOLLARS,
    FOCUS,
    STAGES,
    WINDOW,
    measures,
    picture,
    played,
    scorecard,
)
from tests.builders import call
from windtunnel.runner import repeated
from windtunnel.tasks.scenarios import REVIEW


def test_the_bare_loop_is_refused_and_the_meter_stops_it_before_that():
    bare, metered = (played(lesson, REVIEW) for lesson in ("00", "01"))
    assert re.fullmatch(
        r"400 prompt is too long: \d+ tokens > 32000 maximum", bare.ended
    )
    assert max(metered.sizes) <= metered.settings.threshold_tokens
    assert metered.turns < bare.turns
    assert [measures(run)["done"] for run in (bare, metered)] == [
        "refused",
        "stopped itself",
    ]


def test_a_focus_goes_through_the_same_compaction_as_the_automatic_one():
    (auto,), (manual,) = (
        played(lesson, REVIEW).session.compactions for lesson in ("03", "04")
    )
    assert (auto.trigger, auto.focus, auto.failure) == ("auto", "", None)
    assert (manual.trigger, manual.focus, manual.seen) == ("manual", FOCUS, auto.seen)


def test_the_stages_03_to_05_differ_in_one_thing_each():
    auto, manual, recall = (STAGES[n].settings for n in ("03", "04", "05"))
    assert replace(auto, manual=True) == manual
    assert replace(manual, recall=True) == recall


def test_every_row_is_the_same_session_within_the_window():
    for lesson in STAGES:
        run = played(lesson, REVIEW)
        said = [m for m in run.session.history if m["role"] == "user"]
        texts = [block["text"] for m in said for block in of_type(m, "text")]
        assert texts == list(REVIEW.prompts)[: len(texts)]
        assert max(run.sizes) <= WINDOW


def test_dollars_are_those_of_every_bill_the_summarys_too():
    run = played("03", REVIEW)
    assert len(run.usages) > run.turns
    assert measures(run)[DOLLARS] == pytest.approx(run.dollars(MODEL), abs=1e-4)
    assert MODEL.endswith(DOLLARS.removeprefix("$ "))


def test_a_row_a_lesson_up_to_the_one_asked_for_and_what_is_better_is_marked():
    card = scorecard("07")
    assert list(card.index) == list(STAGES)
    assert max(map(len, card.to_string().splitlines())) <= 72
    assert not [cell for cell in card.loc["00"] if "▲" in str(cell)]
    assert (card.loc["03", "done"], card.loc["04", "rule kept"]) == ("▲ yes", "▲ yes")
    assert (card.loc["06", "facts"], card.loc["05", "facts"]) == ("▲ 4", 1)
    assert card.loc["04", "described"] == 15  # fewer than before
    with pytest.raises(
        ValueError, match=r"no row for lesson '99'; there are 00, 01, 02"
    ):
        scorecard("99")


def test_a_run_of_ones_own_is_a_row_under_the_lessons():
    card = scorecard("00", {"mine": played("02", REVIEW)})
    assert list(card.index) == ["00", "mine"]
    assert (card.loc["mine", "described"], card.loc["mine", "done"]) == (
        "▲ 19",
        "▲ yes",
    )


def test_the_picture_grows_by_a_dot_a_lesson_and_neighbours_share_a_name():
    words = [text.get_text() for text in picture("07").figure.axes[0].texts]
    assert words[:-1] == [
        "00, 01",
        "02",
        "03: 2 facts",
        "04, 05: 1 fact",
        "06: 4 facts",
        "07: 4 facts",
    ]
    row = {"$": 0.1, "rule kept": "no", "described": 3, "facts": 1, "done": "no"}
    said = {
        each: climb({"00": {**row, "done": each}}, "$").figure.texts
        for each in ("no", "yes")
    }
    assert "not finished" in str(said["no"])
    assert "3 of 24 files, 1 of 4 facts, rule lost" in str(said["yes"])


def test_a_report_that_leaves_out_a_name_says_so_in_the_table_and_the_title():
    run = played("02", REVIEW)
    files = run.checks["files"]
    part = replace(run, checks={**run.checks, "done": False, "named": files - 1})
    none = replace(run, checks={**run.checks, "done": False, "named": 0})
    assert measures(part)["done"] == f"{files - 1} of {files} named"
    assert measures(none)["done"] == "no"
    chart = scoreboard.picture("00", {"mine": part})
    assert f"{files - 1} of {files} named" in chart.headline.get_text()


def test_the_learners_own_run_has_a_frame_and_no_label_at_its_dot():
    row = {"$": 0.1, "rule kept": "no", "described": 3, "facts": 1, "done": "yes"}
    [axes] = climb({"00": row, "yours, 1 of 10 parts": row}, "$").figure.axes
    assert [line.get_marker() for line in axes.lines].count("s") == 1
    assert [text.get_text() for text in axes.texts if "yours" in text.get_text()] == [
        "□ yours: 1 fact"
    ]


def test_no_words_of_the_scorecard_lie_on_one_another_or_under_its_line():
    def row(dollars: float, files: int) -> dict[str, Any]:
        done = {"done": "yes", "rule kept": "yes", "facts": 2}
        return {**done, "$": dollars, "described": files}

    rows = {"03": row(0.197, 16), "05": row(0.194, 15), "yours": row(0.14, 14)}
    chart = climb({**rows, "searches": row(0.196, 24)}, "$")
    chart.png()
    [axes] = chart.figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    without = climb(
        {"03": row(0.197, 16), "05": row(0.194, 15), "x": row(0.196, 24)}, "$"
    )
    without.png()
    [axes] = without.figure.axes
    line = axes.lines[0].get_path().transformed(axes.transData)
    [name] = [text for text in axes.texts if text.get_text().startswith("03")]
    assert not line.intersects_bbox(name.get_window_extent(), filled=False)


def test_a_second_read_of_the_same_lines_counts_and_one_of_others_does_not():
    def read(path: str, **more: int) -> dict:
        return call("", "read_file", path=path, **more)

    calls = [read("a"), read("b"), read("a", offset=9), read("a"), read("a")]
    assert repeated([{"role": "assistant", "content": calls}], "read_file") == 2


def test_the_table_marks_the_last_row_and_has_units_and_one_price_list():
    table = repr(scoreboard.table("03"))
    assert table.splitlines()[-1].startswith("▶ 03")
    assert "of 24 files" in table
    assert max(map(len, table.splitlines())) <= 72
    other = scorecard("00", model="claude-opus-5-5")
    [prices] = [name for name in other.columns if name.startswith("$ ")]
    assert prices == "$ opus-5-5"
    assert other.loc["00", prices] > 10 * scorecard("00").loc["00", DOLLARS]


def test_a_run_of_ones_own_is_in_the_picture_and_its_title():
    chart = scoreboard.picture("00", {"mine": played("02", REVIEW)})
    assert "mine" in chart.headline.get_text()
