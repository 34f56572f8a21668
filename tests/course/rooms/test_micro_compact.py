"""Lesson 02: its wrong answers, and its run with the published solutions."""

import json
import math
from dataclasses import replace
from decimal import Decimal
from random import Random

from agentlib.messages import last_assistant, of_type, tool_names, with_results
from agentlib.micro_compact import micro_compact as clear
from agentlib.micro_compact import replacements
from agentlib.settings import Settings
from course.page import run_sentence
from course.rooms.micro_compact import clearing_panel
from tests.course.rooms.solved import EDITED, Lesson
from windtunnel.runner import play
from windtunnel.tasks.scenarios import RENAME, REVIEW, SURVEY
from windtunnel.tasks.varied import rename


def in_place(messages, keep_recent=3, min_chars=100):
    blocks = [
        block for message in messages for block in of_type(message, "tool_result")
    ]
    for block in blocks[:-keep_recent]:
        if len(block["content"]) > min_chars:
            block["content"] = "[Previous: used read_file]"


def longest_first(messages, keep_recent=3, min_chars=100):
    """Pick the long results first, so that short ones don't count among the newest."""
    blocks = [
        block for message in messages for block in of_type(message, "tool_result")
    ]
    long = [block for block in blocks if len(block["content"]) > min_chars]
    for block in long[:-keep_recent]:
        block["content"] = "[Previous: used read_file]"


def longest(messages, keep_recent):
    """The same mistake in a view that is right in every other way."""
    ids = list(replacements(messages, clear(messages, keep_recent=0)))
    blocks = [
        b
        for m in messages
        for b in of_type(m, "tool_result")
        if len(b["content"]) > 100
    ]
    new = [b["tool_use_id"] for b in blocks[max(0, len(blocks) - keep_recent) :]]
    view = clear(messages, keep_recent=0)
    texts = {
        b["tool_use_id"]: b["content"] for m in view for b in of_type(m, "tool_result")
    }
    return with_results(
        messages, {name: texts[name] for name in ids if name not in new}
    )


def edited(messages, keep_recent):
    in_place(messages, keep_recent)
    return messages


def every_tool_read_file(messages, keep_recent):
    view = clear(messages, keep_recent=keep_recent)
    for block in (
        block for message in view for block in of_type(message, "tool_result")
    ):
        block["content"] = block["content"].replace("used bash", "used read_file")
    return view


def as_strings(message):
    return json.loads(json.dumps(message, default=str))


def by_messages(messages, keep_recent=3, min_chars=100):
    """Keep so many messages with results, instead of so many results."""
    groups = [blocks for m in messages if (blocks := of_type(m, "tool_result"))]
    for block in [block for blocks in groups[:-keep_recent] for block in blocks]:
        if len(block["content"]) > min_chars:
            block["content"] = "[Previous: used read_file]"


def all_but(messages, keep_recent=3, min_chars=100):
    """Count from the front, which goes wrong below zero."""
    blocks = [
        block for message in messages for block in of_type(message, "tool_result")
    ]
    for block in blocks[: len(blocks) - keep_recent]:
        if len(block["content"]) > min_chars:
            block["content"] = "[Previous: used read_file]"


def by_quarters(messages, keep_recent=3, min_chars=100):
    in_place(messages, keep_recent, 4 * min_chars)


def measured(size):
    """Measure the results in another way."""

    def clear(messages, keep_recent=3, min_chars=100):
        results = [r for m in messages for r in of_type(m, "tool_result")]
        for result in results[:-keep_recent]:
            if size(result["content"]) > min_chars:
                result["content"] = "[Previous: used read_file]"

    return clear


by_bytes = measured(lambda text: len(text.encode()))
without_blanks = measured(lambda text: len(text.strip()))


def every_text(messages, keep_recent=3, min_chars=100):
    in_place(messages, keep_recent, min_chars)
    for block in [b for message in messages for b in of_type(message, "text")]:
        block["text"] = block["text"][:min_chars]


def whole_message(messages, keep_recent=3, min_chars=100):
    for message in [m for m in messages if of_type(m, "tool_result")][:-keep_recent]:
        message["content"] = "[Previous: used read_file]"


def same_list(messages, keep_recent, min_chars=100):
    view = clear(messages, keep_recent=keep_recent, min_chars=min_chars)
    return messages if view == messages else view


def the_very_mistake(messages, keep_recent):
    """Slice by a number that may be 0."""
    unseen = messages[last_assistant(messages) + 1 :]
    count = len([b for message in unseen for b in of_type(message, "tool_result")])
    blocks = [b for message in messages for b in of_type(message, "tool_result")]
    old = [b["tool_use_id"] for b in blocks[: -max(keep_recent, count)]]
    everything = clear(messages, keep_recent=0, keep_unseen=False)
    blocks = [b for message in everything for b in of_type(message, "tool_result")]
    texts = {b["tool_use_id"]: b["content"] for b in blocks if b["tool_use_id"] in old}
    return with_results(messages, texts)


def last_message_only(messages, keep_recent):
    """Take only the last message for unseen."""
    count = len(of_type(messages[-1], "tool_result"))
    return clear(messages, keep_recent=max(keep_recent, count), keep_unseen=False)


def with_a_loop(messages, keep_recent=3, min_chars=100):
    found = []
    for message in messages:
        for block in of_type(message, "tool_result"):
            found.append(block)
    for place, block in enumerate(found):
        if place < len(found) - keep_recent and not len(block["content"]) <= min_chars:
            block.update(content="[Previous: used read_file]")


def rebuilt(messages, keep_recent=3, min_chars=100):
    """The same view, put together from the oldest results one after the other."""
    names = tool_names(messages)
    unseen = messages[last_assistant(messages) + 1 :]
    ids = [b["tool_use_id"] for m in messages for b in of_type(m, "tool_result")]
    new = sum(len(of_type(m, "tool_result")) for m in unseen)
    old = set(ids[: max(0, len(ids) - max(keep_recent, new))])
    texts = {
        b["tool_use_id"]: f"[Previous: used {names[b['tool_use_id']]}]"
        for m in messages
        for b in of_type(m, "tool_result")
        if b["tool_use_id"] in old and len(b["content"]) > min_chars
    }
    return with_results(messages, texts)


def rebuilt_results(messages, keep_recent, min_chars=100):
    view = clear(messages, keep_recent=keep_recent, min_chars=min_chars)
    return [{**m} if of_type(m, "tool_result") else m for m in view]


def three_keys(messages, keep_recent, min_chars=100):
    view = clear(messages, keep_recent=keep_recent, min_chars=min_chars)
    names = ("type", "content")
    for old, new in zip(messages, view, strict=True):
        if new is not old:
            new["content"] = [
                {key: block[key] for key in (*names, "tool_use_id")}
                for block in new["content"]
            ]
    return view


def with_decimals(behind, cleared, read, write):
    read, write = Decimal(str(read)), Decimal(str(write))
    return (write - read) * behind / (read * cleared)


WRONG = {
    "02.1": [
        (lambda messages: None, "toolu_1 should read"),
        (
            lambda messages: in_place(messages, keep_recent=1),
            "toolu_4 should be left whole",
        ),
        (
            lambda messages: in_place(messages, min_chars=0),
            "toolu_2 should be left whole",
        ),
        (longest_first, "two short results among the newest three"),
        (by_messages, "with two results in one message"),
        (all_but, "with keep_recent=3 and only two results"),
        (by_quarters, "result toolu_1 should read"),
        (whole_message, "result toolu_1 is lost"),
        (by_bytes, "80 letters of two bytes"),
        (without_blanks, "a letter before 200 blanks"),
        (every_text, "something besides the text of results has changed"),
    ],
    "02.2": [
        (edited, EDITED),
        (
            lambda m, keep_recent=0, min_chars=100: clear(m, keep_recent, min_chars),
            "takes 1 positional argument",
        ),
        (
            lambda messages, keep_recent: messages,
            "six results, result toolu_1 should read",
        ),
        (
            lambda messages, keep_recent: messages,
            "It clears 0 of 6, not 3.",
        ),
        (same_list, "it returns the list that it got"),
        (
            lambda m, keep_recent: clear(m, keep_recent=keep_recent + 5),
            "toolu_1 should read",
        ),
        (
            lambda m, keep_recent: clear(m, keep_recent=keep_recent, keep_unseen=False),
            "toolu_3 should be left whole",
        ),
        (every_tool_read_file, "used bash"),
        (
            lambda m, keep_recent, min_chars=0: clear(m, keep_recent=keep_recent),
            "min_chars=200",
        ),
        (
            lambda m, keep_recent, min_chars=100: longest(m, keep_recent),
            "short results among",
        ),
        (
            lambda m, keep_recent, min_chars=100: as_strings(
                clear(m, keep_recent=keep_recent, min_chars=min_chars)
            ),
            "it copies",
        ),
        (the_very_mistake, "two results that the model has answered"),
        (
            lambda m, keep_recent: clear(m, keep_recent=max(1, keep_recent)),
            "has answered",
        ),
        (last_message_only, "words behind it"),
        (rebuilt_results, "it copies messages that do not change"),
        (three_keys, "something besides the text of results"),
    ],
    "02.3": [
        ({"keep_recent": 3, "min_chars": 100}, "should be under 400,000"),
        ({"min_chars": 3_000}, "yours has no keep_recent"),
        ((3, 3_000), "give {"),
        ({"keep_recent": 40, "context_window": 10**6}, "and no other number"),
        ({"keep_recent": "3", "min_chars": 100}, "keep_recent"),
        ({"keep_recent": 3, "min_chars": -1}, "min_chars"),
    ],
    "02.4": [
        (
            lambda behind, cleared, read, write: write * behind / (read * cleared),
            "not 12.5",
        ),
        (
            lambda behind, cleared, read, write: (write - read) / read,
            "at the prices of Opus 5.5",
        ),
        (
            lambda behind, cleared, read, write: 24 * behind / cleared,
            "12.5 times as much as reading",
        ),
        (
            lambda behind, cleared, read, write: (
                (write - read) * (behind + cleared) / (read * cleared)
            ),
            "the answer is 12.0, not 36",
        ),
        (
            lambda behind, cleared, read, write: (
                (write - read) * cleared / (read * behind)
            ),
            "Opus 5.5",
        ),
        (
            lambda behind, cleared, read, write: (
                (write - read) * behind / (write * cleared)
            ),
            "Opus 5.5",
        ),
        *[
            (
                lambda behind, cleared, read, write, whole=whole: whole(
                    (write - read) * behind / (read * cleared)
                ),
                "the answer is 11.5",
            )
            for whole in (math.ceil, round)
        ],
    ],
}
RIGHT = {
    "02.1": [with_a_loop],
    "02.2": [rebuilt],
    "02.3": [{"keep_recent": 3, "min_chars": 3_000}],
    "02.4": [
        lambda behind, cleared, read, write: (write / read - 1) * behind / cleared,
        lambda behind, cleared, read, write: behind * (write - read) / cleared / read,
        with_decimals,
    ],
}


class TestMicroCompact(Lesson):
    wrong = WRONG
    right = RIGHT


def test_clearing_runs_the_task_again_when_a_slider_is_let_go():
    start = Settings(auto=False, manual=False, keep_recent=5)
    task = rename(Random(2), "rename")
    panel = clearing_panel(task, start)
    assert panel.text == run_sentence(play(task, start))
    before = panel.png
    panel.keep_recent.value = 20
    assert panel.text == run_sentence(play(task, replace(start, keep_recent=20)))
    assert panel.png != before
    assert not any(control.continuous_update for control in panel.controls.values())


def test_a_refused_run_is_drawn_with_the_words_of_the_api():
    panel = clearing_panel(SURVEY, Settings(auto=False, manual=False).scaled(16_000))
    panel.move(keep_recent=40, min_chars=14_000)
    assert "The API ended it: prompt is too long" in panel.text.replace("\n", " ")
    assert panel.png


def test_what_the_fold_says_of_other_ways_to_clear_holds():
    start = Settings(auto=False, manual=False).scaled(32_000)
    ways = ("clear", "trim", "truncate")
    report, rename = (
        {way: play(task, replace(start, micro=way)) for way in ways}
        for task in (REVIEW, RENAME)
    )
    assert [report[way].turns for way in ways] == [38, 30, 38]
    assert [rename[way].repeated for way in ways] == [24, 18, 24]
    assert 1.6 < rename["trim"].sent / rename["clear"].sent < 1.7
    assert rename["truncate"].turns == rename["clear"].turns
    for runs in (report, rename):
        assert runs["truncate"].sent > runs["clear"].sent


def test_the_numbers_in_the_folds_of_lesson_02_hold():
    roomy = Settings(auto=False, manual=False)
    model = "claude-opus-5-5"
    whole = play(REVIEW, replace(roomy, micro="off")).dollars(model)
    for more, times in (({}, 2.1), ({"clear_at_least": 20_000}, 1.1)):
        assert (
            round(play(REVIEW, replace(roomy, **more)).dollars(model) / whole, 1)
            == times
        )
