"""The checkers of lesson 03 tell a right answer from each of the usual wrong ones, and say why."""

from dataclasses import replace

import pytest

from agentlib.auto_compact import summary_message, summary_prompt
from agentlib.lab.lessons import check
from agentlib.lab.lessons.auto_compact import compactions
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import active_request, exchanges
from agentlib.settings import Settings


def user(text):
    return {"role": "user", "content": text}


ACK = {"role": "assistant", "content": "Understood."}


def head(messages, summary):
    return summary_message(summary, "t", active_request(messages))


def told(name, answer, why):
    verdict = check(name, answer)
    assert not verdict
    assert why in " ".join(repr(verdict).split())


def emptied(messages, summary):
    messages.clear()
    return [user(summary)]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda messages, summary: messages, "7 of the 7 old messages"),
        (lambda messages, summary: [*messages[:1], user(summary)], "1 of the 7"),
        (lambda messages, summary: [user("Compressed.")], "summary does not stand"),
        (lambda messages, summary: None, "a list of messages"),
        (lambda messages, summary: [user(summary), ACK, user("a")], "3 messages"),
        (emptied, "edited the messages"),
    ],
)
def test_what_replaces_all_holds_the_summary_and_nothing_old(answer, why):
    told("03.1", answer, why)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda messages, summary: [user(summary), ACK], "prefill"),
        (lambda messages, summary: [user(summary)], "last words"),
        (lambda messages, summary: [user(f"{summary} {messages[0]['content']}")], "'And d.py.'"),
        (lambda m, s: [user(s), user("x" * 999), user(active_request(m))], "keeps more"),
    ],
)
def test_the_cure_ends_with_the_user_and_has_the_last_words(answer, why):
    told("03.2", answer, why)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda m, s, keep: [head(m, s)], "the last 2 messages stay"),
        (lambda m, s, keep: [head(m, s), *m[-keep:]], "API would refuse"),
        (lambda m, s, keep: [head(m, s), *m[-2:]], "with keep=3 of 5 exchanges"),
        (lambda m, s, keep: [user(s), *m[exchanges(m)[-keep][0] :]], "the request is gone"),
    ],
)
def test_the_newest_exchanges_stay_whole_and_the_request_with_them(answer, why):
    told("03.3", answer, why)


def one_too_early(base, growth, threshold, after, turns):
    return compactions(base, growth, threshold - 1, after, turns)


def test_teeth_are_counted_where_the_next_prompt_is_over_the_point():
    assert compactions(1_000, 500, 3_000, 1_900, 5) == 0
    assert check("03.4", compactions)
    told("03.4", lambda *numbers: 0, "20 turns make 5, not 0")
    told("03.4", one_too_early, "a point of 3,000")


def test_a_small_point_is_watched_in_the_run_that_was_made():
    start = Settings(micro="off", manual=False, summary_tokens=6_250).scaled(32_000)
    small = play(REVIEW, replace(start, threshold=5_000))
    sizes = [(c.tokens_before, c.tokens_after) for c in small.session.compactions]
    assert check("03.5", (small, sizes))
    told("03.5", (small, sizes[1:]), f"compacted {len(sizes)} times")
    told("03.5", (play(REVIEW, replace(start, threshold=20_800)), []), "no small point")
    told("03.5", sizes, "two things")


BEGIN = "Summarize this conversation for continuity.\n"
FIT = BEGIN + "## Files\n## To do\n## Decisions\nAt most {} tokens."


def test_a_prompt_by_categories_is_answered_by_categories():
    assert check("03.6", FIT.format)
    told("03.6", summary_prompt, "Files, To do, Decisions")
    told("03.6", FIT.replace("{} ", "").format, "how long")
    told("03.6", FIT.replace("## To do\n", "").format, "Files, To do, Decisions")
    told("03.6", "Please sum up in {} tokens.".format, "has to begin")
