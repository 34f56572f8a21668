"""The checkers of lesson 02 tell a right answer from each of the usual wrong ones, and say why."""

import copy

import pytest

from agentlib.lab.lessons import check
from agentlib.lab.lessons.micro_compact import PAPER
from agentlib.messages import of_type
from agentlib.micro_compact import micro_compact, replacements

TEXT = "[Previous: used read_file]"


def in_place(messages, keep_recent=3, min_chars=100):
    results = [b for m in messages for b in of_type(m, "tool_result")]
    for result in results[:-keep_recent]:
        if len(result["content"]) > min_chars:
            result["content"] = TEXT


def too_much(messages):
    in_place(messages, keep_recent=1)


def short_ones_too(messages):
    in_place(messages, min_chars=0)


def results_taken_out(messages):
    messages[2]["content"] = [{"type": "text", "text": "gone"}]


def unseen_on_top(messages, keep_recent):
    unseen = len(of_type(messages[-1], "tool_result"))
    return micro_compact(messages, keep_recent=keep_recent + unseen)


def emptied(messages):
    messages[2]["content"][0]["content"] = ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda messages: None, "toolu_1 was not cleared"),
        (too_much, "toolu_4 was cleared"),
        (short_ones_too, "80 characters"),
        (results_taken_out, "API refuses"),
        (emptied, "tool's name"),
        (lambda messages: micro_compact(messages), "edits those"),
    ],
)
def test_eight_lines_that_are_wrong_are_told_why(answer, why):
    verdict = check("02.1", answer)
    assert not verdict
    assert why in verdict.says


def test_the_slice_of_the_seeds_fails_at_zero():
    verdict = check("02.2", lambda results, keep_recent: results[:-keep_recent])
    assert not verdict
    assert "keep_recent=0 of 5 results, 5 are old; it gave 0" in verdict.says


def test_paper_agrees_with_the_layer():
    view = micro_compact(PAPER, keep_recent=4, min_chars=100)
    assert check("02.3", replacements(PAPER, view))
    assert "not seen" in check("02.3", ["toolu_1", "toolu_3", "toolu_5"]).says
    assert "no result 'toolu_9'" in check("02.3", ["toolu_9"]).says


@pytest.mark.parametrize("answer", [None, 7, "toolu_1, toolu_3"])
def test_what_is_no_list_is_told_so(answer):
    assert "no list" in check("02.3", answer).says


def test_ids_may_stand_in_any_kind_of_list_but_not_in_one_another():
    assert check("02.3", ("toolu_3", "toolu_1"))
    assert "no result \"['toolu_1']\"" in check("02.3", [["toolu_1"], "toolu_3"]).says


@pytest.mark.parametrize("exercise", ["02.1", "02.2", "02.4"])
def test_the_value_of_a_call_is_no_function(exercise):
    assert "the function itself" in check(exercise, None).says


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda messages, keep_recent: messages, "has seen it"),
        (lambda messages, keep_recent: None, "returned None"),
        (lambda messages, keep_recent: "abc", "returned 'abc'"),
        (lambda messages, keep_recent: in_place(messages, keep_recent) or messages, "edited"),
        (
            lambda messages, keep_recent: micro_compact(
                messages, keep_recent=keep_recent, keep_unseen=False
            ),
            "it is unseen",
        ),
        (lambda messages, keep_recent: unseen_on_top(messages, keep_recent), "unseen ones count"),
        (
            lambda messages, keep_recent: copy.deepcopy(
                micro_compact(messages, keep_recent=keep_recent)
            ),
            "copied",
        ),
    ],
)
def test_a_view_that_is_wrong_is_told_why(answer, why):
    verdict = check("02.4", answer)
    assert not verdict
    assert why in verdict.says


def test_the_finished_layer_passes_as_a_view():
    assert check("02.4", micro_compact)


def test_settings_are_tried_on_the_task():
    assert "fewer than 400,000" in check("02.5", {"keep_recent": 3}).says
    assert "too long: 36562" in (says := check("02.5", {"min_chars": 13_000}).says)
    assert "a smaller number" in says
    assert check("02.5", {"keep_recent": 3, "min_chars": 3_000})


@pytest.mark.parametrize(
    ("numbers", "direction"),
    [
        ((3, 100), "17 of the calls made again brought fewer than 2,000 characters: a larger min_"),
        ((1, 3_000), "17 of the calls made again brought whole files: a larger keep_recent"),
        ((8, 3_000), "results stay longer than they must: try a smaller number"),
        ((2, 12_700), "places left: 1; the tests have not passed. Little is fetched again"),
    ],
)
def test_settings_that_fail_are_told_which_number_to_move(numbers, direction):
    answer = dict(zip(("keep_recent", "min_chars"), numbers, strict=True))
    assert direction in check("02.5", answer).says


def oldest_kept(messages):
    results = [b for m in messages for b in of_type(m, "tool_result")]
    for result in results[3:]:
        result["content"] = TEXT


@pytest.mark.parametrize("answer", [oldest_kept, lambda messages: None, 7])
def test_what_a_fresh_reader_tried_in_02_1_is_not_yet_right(answer):
    verdict = check("02.1", answer)
    assert not verdict
    assert verdict.says


def read_file_every_time(messages, keep_recent=3, min_chars=100):
    view = micro_compact(messages, keep_recent=keep_recent, min_chars=min_chars)
    for result in (b for m in view for b in of_type(m, "tool_result")):
        result["content"] = result["content"].replace("used bash", "used read_file")
    return view


def test_the_placeholder_has_the_name_of_the_tool_that_was_used():
    assert "'[Previous: used bash]'" in check("02.4", read_file_every_time).says


def test_a_view_without_the_persons_words_is_told_so():
    def headless(messages, keep_recent=3, min_chars=100):
        return micro_compact(messages, keep_recent=keep_recent, min_chars=min_chars)[1:]

    assert "something else has changed" in check("02.4", headless).says


def test_eight_lines_that_edit_a_call_are_told_so():
    def calls_too(messages, keep_recent=3, min_chars=100):
        in_place(messages, keep_recent, min_chars)
        messages[1]["content"][0]["name"] = "bash"

    assert "something else has changed" in check("02.1", calls_too).says


def test_old_results_come_in_a_list():
    assert "return a list" in check("02.2", lambda results, keep_recent: 2).says


@pytest.mark.parametrize("answer", [(3, 3_000), {"keep": 3}, None])
def test_settings_that_are_no_two_numbers_are_told_so(answer):
    assert "dict with two numbers" in check("02.5", answer).says


@pytest.mark.parametrize("value", [True, "3", 3.0])
def test_a_setting_that_is_no_whole_number_is_told_so(value):
    assert f"{value!r} is no whole number" in check("02.5", {"keep_recent": value}).says
