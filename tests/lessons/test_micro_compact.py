"""Lesson 02: its wrong answers, and its run with the published solutions."""

import json
from dataclasses import replace

from agentlib.lab.lessons.micro_compact import clearing_panel
from agentlib.lab.lessons.page import run_sentence
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import RENAME, REVIEW
from agentlib.messages import of_type, with_results
from agentlib.micro_compact import micro_compact as clear
from agentlib.micro_compact import replacements
from agentlib.settings import Settings
from lessons.solved import Lesson


def in_place(messages, keep_recent=3, min_chars=100):
    blocks = [block for message in messages for block in of_type(message, "tool_result")]
    for block in blocks[:-keep_recent]:
        if len(block["content"]) > min_chars:
            block["content"] = "[Previous: used read_file]"


def longest_first(messages, keep_recent=3, min_chars=100):
    """Pick the long results first, so that short ones don't count among the newest."""
    blocks = [block for message in messages for block in of_type(message, "tool_result")]
    long = [block for block in blocks if len(block["content"]) > min_chars]
    for block in long[:-keep_recent]:
        block["content"] = "[Previous: used read_file]"


def longest(messages, keep_recent):
    """The same mistake in a view that is right in every other way."""
    ids = list(replacements(messages, clear(messages, keep_recent=0)))
    blocks = [b for m in messages for b in of_type(m, "tool_result") if len(b["content"]) > 100]
    new = [b["tool_use_id"] for b in blocks[max(0, len(blocks) - keep_recent) :]]
    view = clear(messages, keep_recent=0)
    texts = {b["tool_use_id"]: b["content"] for m in view for b in of_type(m, "tool_result")}
    return with_results(messages, {name: texts[name] for name in ids if name not in new})


def edited(messages, keep_recent):
    in_place(messages, keep_recent)
    return messages


def every_tool_read_file(messages, keep_recent):
    view = clear(messages, keep_recent=keep_recent)
    for block in (block for message in view for block in of_type(message, "tool_result")):
        block["content"] = block["content"].replace("used bash", "used read_file")
    return view


def as_strings(message):
    return json.loads(json.dumps(message, default=str))


WRONG = {
    "02.1": [
        (lambda messages: None, "toolu_1 should read"),
        (lambda messages: in_place(messages, keep_recent=1), "toolu_4 should be left whole"),
        (lambda messages: in_place(messages, min_chars=0), "toolu_2 should be left whole"),
        (longest_first, "two short results among the newest three"),
    ],
    "02.2": [
        (edited, "it edited what it was given"),
        (lambda messages, keep_recent: messages, "(toolu_3 to toolu_7), result toolu_1 should"),
        (lambda m, keep_recent: clear(m, keep_recent=keep_recent + 5), "toolu_1 should read"),
        (
            lambda m, keep_recent: clear(m, keep_recent=keep_recent, keep_unseen=False),
            "toolu_3 should be left whole",
        ),
        (every_tool_read_file, "used bash"),
        (lambda m, keep_recent, min_chars=0: clear(m, keep_recent=keep_recent), "min_chars=200"),
        (lambda m, keep_recent, min_chars=100: longest(m, keep_recent), "short results among"),
        (
            lambda m, keep_recent, min_chars=100: as_strings(
                clear(m, keep_recent=keep_recent, min_chars=min_chars)
            ),
            "it copies",
        ),
    ],
    "02.3": [
        ({"keep_recent": 3}, "should be under 400,000"),
        ({"min_chars": 13_000}, "too long: 36535"),
        ((3, 3_000), "give {"),
        ({"keep_recent": 40, "context_window": 10**6}, "and no other number"),
    ],
    "02.4": [
        (lambda behind, cleared, read, write: write * behind / (read * cleared), "not 12.5"),
        (
            lambda behind, cleared, read, write: (write - read) / read,
            "at the prices of Opus 5.5",
        ),
        (lambda behind, cleared, read, write: 24 * behind / cleared, "Haiku 4.5"),
        (
            lambda behind, cleared, read, write: (
                (write - read) * (behind + cleared) / (read * cleared)
            ),
            "the answer is 12.0, not 36",
        ),
    ],
}


class TestMicroCompact(Lesson):
    wrong = WRONG


def test_clearing_runs_the_task_again_when_a_slider_is_let_go():
    start = Settings(auto=False, manual=False, keep_recent=5).scaled(32_000)
    panel = clearing_panel(RENAME, start)
    assert panel.text == run_sentence(play(RENAME, start))
    before = panel.png
    panel.keep_recent.value = 20
    assert panel.text == run_sentence(play(RENAME, replace(start, keep_recent=20)))
    assert panel.png != before
    assert not any(control.continuous_update for control in panel.controls.values())


def test_the_numbers_in_the_folds_of_lesson_02_hold():
    roomy, model = Settings(auto=False, manual=False), "claude-opus-5-5"
    whole = play(REVIEW, replace(roomy, micro="off")).dollars(model)
    for more, times in (({}, 2.1), ({"clear_at_least": 20_000}, 1.1)):
        assert round(play(REVIEW, replace(roomy, **more)).dollars(model) / whole, 1) == times
