"""Lesson 04: its wrong answers, and its run with the published solutions."""

from functools import partial

import pytest

from agentlib.auto_compact import summary_message
from agentlib.manual_compact import requested_focus
from agentlib.messages import active_request, last_assistant, of_type
from course import check
from course.checks.manual_compact import keep_newest, report_written
from tests.builders import user
from tests.course.rooms.solved import REFUSED, Lesson


def newest_two(messages, summarize):
    summary = summary_message(summarize(messages), "saved", active_request(messages))
    return [summary, *messages[-2:]]


def nothing_summarised(messages, summarize):
    words = f"{summarize([])} {active_request(messages)}"
    return [user(words), *messages[last_assistant(messages) :]]


def ends_with_calls(messages, summarize):
    newest = last_assistant(messages)
    summary = summary_message(
        summarize(messages[: newest + 1]), "saved", active_request(messages)
    )
    return [summary, *messages[newest:]]


def asked_twice(messages, summarize):
    summarize(messages)
    newest = last_assistant(messages)
    summary = summary_message(summarize(messages), "saved", active_request(messages))
    return [summary, *messages[newest:]]


def any_write(messages):
    calls = [call for message in messages for call in of_type(message, "tool_use")]
    return "rules" if any(call["name"] == "write_file" for call in calls) else None


def newest_write(messages):
    newest = last_assistant(messages)
    return any_write(messages[newest:]) if newest >= 0 else None


def written(messages, good=None, focus="rules"):
    """Solve exercise 04.4, or look at all results of the turn, or give another
    focus."""
    if newest_write(messages) is None:
        return None
    blocks = of_type(messages[-1], "tool_result")
    fine = [not block.get("is_error") for block in blocks]
    return focus if (good(fine) if good else fine[0]) else None


def last_write(messages):
    newest = last_assistant(messages)
    calls = of_type(messages[newest], "tool_use") if newest >= 0 else []
    ids = [call["id"] for call in calls if call["name"] == "write_file"][-1:]
    answers = of_type(messages[-1], "tool_result")
    fine = [r for r in answers if r["tool_use_id"] in ids and not r.get("is_error")]
    return "rules" if fine else None


def first_write(messages):
    newest = last_assistant(messages)
    calls = of_type(messages[newest], "tool_use") if newest >= 0 else []
    ids = [call["id"] for call in calls if call["name"] == "write_file"][:1]
    answers = [
        r for r in of_type(messages[-1], "tool_result") if r["tool_use_id"] in ids
    ]
    return "rules" if answers and not answers[0].get("is_error") else None


def only(which):
    """Look at some of the newest turn's calls alone."""

    def rule(messages):
        newest = last_assistant(messages)
        calls = of_type(messages[newest], "tool_use") if newest >= 0 else []
        ids = {c["id"] for c in which(calls) if c["name"] == "write_file"}
        answers = of_type(messages[-1], "tool_result")
        fine = [r for r in answers if r["tool_use_id"] in ids and not r.get("is_error")]
        return "rules" if fine else None

    return rule


def edits_too(messages):
    newest = last_assistant(messages)
    calls = of_type(messages[newest], "tool_use") if newest >= 0 else []
    ids = [call["id"] for call in calls if call["name"] in ("write_file", "edit_file")]
    answers = [
        r for r in of_type(messages[-1], "tool_result") if r["tool_use_id"] in ids
    ]
    return "rules" if any(not r.get("is_error") for r in answers) else None


def as_a_loop(messages):
    replies = [message for message in messages if message["role"] == "assistant"]
    is_answered = len(messages) > 1
    words = []
    found = False
    content = replies[-1]["content"] if is_answered else []
    for block in content if isinstance(content, list) else []:
        if block["type"] == "tool_use" and block["name"] == "compact":
            found = True
            words += [block["input"]["focus"]] if block["input"].get("focus") else []
    return "; ".join(words) if found else None


def unread_texts(messages):
    at = last_assistant(messages)
    blocks = messages[at]["content"] if at >= 0 else []
    calls = [b for b in blocks if b["type"] == "tool_use" and b["name"] == "compact"]
    focuses = [call["input"].get("focus") for call in calls]
    return "; ".join(filter(None, focuses)) if calls else None


def focus_once(messages):
    focus = requested_focus(messages)
    return focus and "; ".join(dict.fromkeys(focus.split("; ")))


def all_texts(messages, summarize):
    words = "\n\n".join(text for m in messages for text in words_in(m))
    at = last_assistant(messages)
    return [summary_message(summarize(messages), "saved", words), *messages[at:]]


def without_a_name(messages, summarize):
    top = summary_message(summarize(messages), "", active_request(messages))
    return [top, *messages[last_assistant(messages) :]]


def words_in(message):
    if message["role"] != "user":
        return []
    content = message["content"]
    return (
        [content]
        if isinstance(content, str)
        else [block["text"] for block in of_type(message, "text")]
    )


def without_the_first(messages, summarize):
    return keep_newest(messages, lambda all_of_them: summarize(all_of_them[1:]))


def cut_short(messages, summarize):
    return keep_newest(messages, lambda all_of_them: summarize(all_of_them)[:100])


def before_any_result(messages):
    at = last_assistant(messages)
    calls = of_type(messages[at], "tool_use") if at >= 0 else []
    failed = {
        r["tool_use_id"]
        for r in of_type(messages[-1], "tool_result")
        if r.get("is_error")
    }
    ids = {call["id"] for call in calls if call["name"] == "write_file"}
    return "rules" if ids - failed else None


def by_the_text(messages):
    at = last_assistant(messages)
    calls = of_type(messages[at], "tool_use") if at >= 0 else []
    ids = {call["id"] for call in calls if call["name"] == "write_file"}
    for each in of_type(messages[-1], "tool_result"):
        if each["tool_use_id"] in ids and not each.get("is_error"):
            return None if "rror" in each["content"] else "rules"
    return None


def as_two_lists(messages, summarize):
    at = last_assistant(messages)
    old = messages[:at]
    new = messages[at:]
    return [summary_message(summarize(old), "saved", active_request(messages)), *new]


def by_pairs(messages):
    calls = of_type(messages[-2], "tool_use") if len(messages) > 1 else []
    for call, answer in zip(calls, of_type(messages[-1], "tool_result"), strict=True):
        if call["name"] == "write_file" and not answer.get("is_error", False):
            return "rules"
    return None


def by_key(messages):
    """Right, if each result had the key."""
    calls = of_type(messages[-2], "tool_use") if len(messages) > 1 else []
    for call, answer in zip(calls, of_type(messages[-1], "tool_result"), strict=True):
        if call["name"] == "write_file" and not answer["is_error"]:
            return "rules"
    return None


def by_presence(messages):
    calls = of_type(messages[-2], "tool_use") if len(messages) > 1 else []
    failed = [
        r["tool_use_id"]
        for r in of_type(messages[-1], "tool_result")
        if "is_error" in r
    ]
    good = [c for c in calls if c["name"] == "write_file" and c["id"] not in failed]
    return "rules" if good else None


def last_call_only(messages):
    calls = (
        of_type(messages[last_assistant(messages)], "tool_use")
        if len(messages) > 1
        else []
    )
    focus = [
        call["input"].get("focus", "")
        for call in calls[-1:]
        if call["name"] == "compact"
    ]
    if [call["name"] for call in calls].count("compact") > 1:
        return requested_focus(messages)
    return focus[0] if focus else None


def in_two_messages(messages, summarize):
    words = {"role": "user", "content": active_request(messages)}
    summary = summary_message(summarize(messages), "saved")
    return [summary, words, *messages[last_assistant(messages) :]]


def without_a_call(messages, summarize):
    return as_two_lists(messages, lambda old: "1.py and 2.py are read.")


def said_by_the_model(messages, summarize):
    [told, *newest] = as_two_lists(messages, summarize)
    return [{**told, "role": "assistant"}, *newest]


def named_otherwise(messages, summarise):
    return as_two_lists(messages, summarise)


def sorted_focus(messages):
    focus = requested_focus(messages)
    return focus and "; ".join(sorted(focus.split("; ")))


def calls_of_the_newest(messages):
    return (
        of_type(messages[last_assistant(messages)], "tool_use") if messages[1:] else []
    )


def of_any_tool(messages):
    calls = calls_of_the_newest(messages)
    focuses = [call["input"].get("focus") for call in calls]
    named = [call for call in calls if call["name"] == "compact"]
    return "; ".join(filter(None, focuses)) if named else None


def named_like_it(messages):
    calls = [c for c in calls_of_the_newest(messages) if "compact" in c["name"]]
    focuses = [call["input"].get("focus") for call in calls]
    return "; ".join(filter(None, focuses)) if calls else None


def last_but_one(messages):
    return requested_focus(messages[-2:]) if messages[1:] else None


def without_header(messages, summarize):
    text = f"{summarize(messages)} {active_request(messages)}"
    return [user(text), *messages[last_assistant(messages) :]]


def unguarded(messages):
    calls = of_type(messages[last_assistant(messages)], "tool_use")
    focuses = [c["input"].get("focus") for c in calls if c["name"] == "compact"]
    named = any(call["name"] == "compact" for call in calls)
    return "; ".join(filter(None, focuses)) if named else None


def unguarded_write(messages):
    at = last_assistant(messages)
    ids = {
        c["id"] for c in of_type(messages[at], "tool_use") if c["name"] == "write_file"
    }
    results = of_type(messages[at + 1], "tool_result")
    fine = [r for r in results if r["tool_use_id"] in ids and not r.get("is_error")]
    return "rules" if fine else None


WRONG = {
    "04.1": [
        (unguarded, "IndexError('list index out of range') with messages=[], in line"),
        (last_call_only, "the call stands before another"),
        (sorted_focus, "three calls"),
        (of_any_tool, "another tool has an input of that name"),
        (named_like_it, "a tool's name only has the word in it"),
        (last_but_one, "the person has spoken behind the results"),
        (unread_texts, "it raised TypeError"),
        (focus_once, "two calls with the same focus"),
    ],
    "04.2": [
        (nothing_summarised, "summarize got no messages"),
        (newest_two, REFUSED),
        (ends_with_calls, "messages that end with a call"),
        (asked_twice, "summarize was called 2 times"),
        (without_a_call, "summarize was called 0 times; call it once"),
        (in_two_messages, "should follow the one message"),
        (without_header, "make it with summary_message"),
        (said_by_the_model, "should be one of the user"),
        (all_texts, "a request that was answered"),
        (without_the_first, "from the first on"),
        (cut_short, "word for word"),
        (without_a_name, 'should name "saved"'),
    ],
    "04.3": [
        ("rules of the user", "2 of 4 facts and the rule"),
        ("FACT: the probe for musl may take 7 seconds. " * 2, "60 have to do"),
        (
            "rules of the user; facts and decisions found in files",
            "match the [file] lines",
        ),
        ("keep everything important", "2 of 4 facts and not the rule. Which kinds of"),
        (None, "give the words of the focus"),
        (["rules", "facts"], "give the words of the focus"),
    ],
    "04.4": [
        (unguarded_write, "with messages=[], in line"),
        (only(lambda calls: calls), "the person has spoken behind the results"),
        (newest_write, "if the newest write failed"),
        (partial(written, good=all), "if the read failed, and the write"),
        (partial(written, focus=""), "the answer should be a focus, not ''"),
        (written, "a read came first, and the write after it failed"),
        (first_write, "if the first of two writes failed"),
        (only(lambda calls: calls[:1]), "if a read came first, and the write after it"),
        (only(lambda calls: calls[:2]), "if the write came third"),
        (last_write, "if the second of two writes failed"),
        (edits_too, "if the newest turn has edited a file"),
        (by_key, "it raised KeyError('is_error')"),
        (by_presence, "if the result says that it is no error"),
        (by_pairs, "if the results come in another order"),
        (before_any_result, "if the write has no result yet"),
        (by_the_text, "errors.py"),
    ],
}
RIGHT = {
    "04.1": [as_a_loop],
    "04.2": [as_two_lists, named_otherwise],
    "04.3": ["DECISION FACT rule", "decisions"],
    "04.4": [report_written],
}


class TestManualCompact(Lesson):
    wrong = WRONG
    right = RIGHT


@pytest.mark.answers
def test_a_focus_that_names_no_rule_is_told_why_the_rule_came_in():
    assert "You didn't name the rule" in check("04.3", "decisions").says
    assert "You didn't name" not in check("04.3", "rules and facts").says
