"""Lesson 06: what each compaction left, its bars and panel."""

from dataclasses import replace

import pytest
from strategies import conversation, reading

from agentlib.auto_compact import summary_message
from agentlib.estimation import message_tokens
from agentlib.lab.figures.bars import bars
from agentlib.lab.generations import Generation, generations, left
from agentlib.lab.play import play
from agentlib.lab.tasks.scenarios import REVIEW, last_words
from agentlib.messages import is_summary, of_type
from agentlib.presets import HERMES

SCALED = HERMES.scaled(32_000)
START = replace(SCALED, threshold=16_000, threshold_pct=None, summary_tokens=450)
OLD = replace(START, head_tokens=0, tail_tokens=None)


def weight(messages):
    return sum(round(message_tokens(m)) for m in messages)


def test_the_parts_of_a_context_are_before_at_and_after_its_summary():
    head, tail = conversation(1), reading(5)
    said = summary_message(f"{REVIEW.constraint}\n{REVIEW.facts[1]}", "t")
    found = left([*head, said, *tail], REVIEW)
    sizes = {"head": weight(head), "summary": weight([said]), "tail": weight(tail)}
    assert found == Generation(**sizes, facts=1, rule=True)
    assert left([*head, *tail]) is None


def test_what_stands_in_the_tail_alone_is_not_counted_as_kept():
    said = {"role": "user", "content": REVIEW.facts[0] + REVIEW.constraint}
    found = left([summary_message("Done.", "t"), *reading(1), said], REVIEW)
    assert (found.facts, found.rule) == (0, False)


def test_a_rule_is_lost_by_replacing_and_kept_by_head_and_update():
    old, new = (generations(play(REVIEW, each).session, REVIEW) for each in (OLD, START))
    assert [g.facts for g in old] == [4] + [2] * 7
    assert [g.rule for g in old] == [True] + [False] * 7
    assert [g.facts for g in new] == [3] + [4] * 7
    assert all(g.rule for g in new)
    assert {g.head for g in old} == {0}
    assert len({g.head for g in new}) == 1


def test_a_generation_is_what_the_next_request_was_sent_with():
    session = play(REVIEW, START).session
    done = session.compactions[-1]
    sent = next(r for r in session.requests if r.seen >= done.seen)
    last = generations(session)[-1]
    assert any(is_summary(b) for m in sent.context for b in of_type(m, "text"))
    assert last.head + last.summary + last.tail == weight(sent.context)


def test_bars_say_what_is_left_and_where_the_rule_is_gone():
    some = [Generation(head=10, summary=20, tail=30, facts=1, rule=False)]
    figure = bars({"one": some, "two": some * 3}, facts=4)
    said = [text.get_text() for axes in figure.figure.axes for text in axes.texts]
    assert said == ["1/4\n✗ rule"] * 4
    heights = [patch.get_height() for patch in figure.figure.axes[0].patches]
    assert heights == [10, 20, 30]
    assert figure.png() == bars({"one": some, "two": some * 3}, facts=4).png()


def test_no_compaction_draws_an_empty_picture():
    assert bars({"none": []}, top=100).png().startswith(b"\x89PNG")


@pytest.mark.parametrize("note", [True, False])
def test_a_question_broken_off_is_answered_only_where_no_note_says_not_to(note):
    stale = "Where is `EF_ARM_ABIMASK` set? Follow it through the files."
    task = replace(REVIEW, prompts=(stale, REVIEW.prompts[1]))
    run = play(task, replace(SCALED, reference_only=note), max_turns=(1, 60))
    assert (run.checks["named"] > 0) == note
    assert ("EF_ARM_ABIMASK" in last_words(run.session.history)) != note
