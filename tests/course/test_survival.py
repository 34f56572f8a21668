"""Where each compaction left what matters, and the picture of it."""

from dataclasses import replace

import pytest

from agentlib.messages import active_request, exchanges
from agentlib.settings import Settings
from course.figures.survival import fate, sentence, survival
from course.generations import places, planted
from windtunnel import layer_of, play
from windtunnel.tasks.scenarios import REVIEW

START = Settings(micro="off", manual=False, threshold=20_800, summary_tokens=1_000)
START = replace(START, context_window=32_000, output_reserve=2_560, buffer=2_080)
TEXTS = planted(REVIEW)


def test_the_rule_of_the_review_lives_in_three_summaries_and_no_longer():
    found = places(play(REVIEW, START).session, TEXTS)
    assert found["the rule"] == ["summary"] * 3 + ["lost"] * 2
    assert found["fact 4"] == ["tail"] + ["summary"] * 4


def test_a_head_holds_the_rule_and_nothing_is_lost_before_it_came_up():
    settings = replace(START, head_tokens=640, threshold=9_000)
    found = places(play(REVIEW, settings).session, TEXTS)
    assert set(found["the rule"]) == {"head"}
    assert found["fact 4"][0] == ""
    assert "lost" not in found["fact 4"][: found["fact 4"].index("tail")]


def test_the_last_words_beside_a_summary_of_the_learners_are_a_place():
    def without_header(messages, summary):
        words = ("Files.", active_request(messages))
        text = [{"type": "text", "text": each} for each in words]
        return [
            {"role": "user", "content": text},
            *messages[exchanges(messages)[-1][0] :],
        ]

    layers = [layer_of(without_header, given="summary")]
    run = play(REVIEW, START, layers=layers, max_turns=15)
    found = places(
        run.session, {"the words": "one by one and write", "none": "Zanzibar"}
    )
    assert found["the words"][0] == "request"
    assert set(found["none"]) == {""}


@pytest.mark.parametrize(
    ("row", "end"),
    [
        (["summary", "lost", "summary"], "kept"),
        (["", "lost"], "lost at 2"),
        (["lost", "summary", "lost"], "lost at 3"),
        (["", ""], "not found"),
        ([], "not found"),
    ],
)
def test_what_became_of_a_thing_is_said_by_its_last_place(row, end):
    assert fate(row) == end


def test_the_picture_says_what_was_lost_and_explains_only_what_it_shows():
    row = {"the rule": ["summary", "lost"], "fact 1": ["", "tail"]}
    chart = survival({"one": row}, title="Lost")
    texts = [text.get_text().strip() for text in chart.figure.axes[0].texts]
    assert texts == ["lost at 2", "kept"]
    [legend] = chart.figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["in the newest exchange", "only in the summary", "lost"]
    beside = survival(
        {"one": row, "two": row | {"the rule": ["head"] * 4}}, title="Kept"
    )
    assert [axes.get_title("left") for axes in beside.figure.axes] == ["one", "two"]
    assert beside.png().startswith(b"\x89PNG")


def test_the_lines_of_text_hold_every_place():
    lines = sentence(
        {"the rule": ["summary", "lost"], "fact 1": ["", "tail"]}
    ).splitlines()
    assert [line.split() for line in lines] == [
        ["the", "rule", "summary", "lost", "lost", "at", "2"],
        ["fact", "1", "newest", "kept"],
    ]


def test_without_a_compaction_the_picture_is_empty():
    assert (
        survival({"": {"the rule": []}}, title="Nothing").png().startswith(b"\x89PNG")
    )
