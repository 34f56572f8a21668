"""Compaction in the loop: asked for on the live prefix, noted, failed, by tool and by hand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import (
    Clock,
    asks_for_summary,
    call,
    client,
    error,
    prompt,
    say,
    script,
    think,
    worker,
)
from runs import READ, SMALL, a_session, a_workspace, go

from agentlib import loop
from agentlib.auto_compact import summary_text
from agentlib.messages import blocks, of_type
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load

WHOLE = Settings(
    context_window=4_000, output_reserve=400, buffer=400, micro="off", emergency_at=None
)
"""Nothing is cleared, and where the summary fails nothing is cut."""
FULL = replace(WHOLE, threshold=3_700)
"""When it is compacted, context and summary do not fit the window any more."""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return a_workspace(tmp_path)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return a_session(tmp_path)


def kinds(turns) -> list[str]:
    return [event.kind for turn in turns for event in turn.events]


def results(message) -> list[str]:
    return [r["content"] for r in of_type(message, "tool_result")]


def test_a_compaction_is_told_billed_and_noted(workspace, session):
    turns = go(worker(8), workspace, session)
    (turn,) = [t for t in turns if t.step.compaction]
    assert turn.step.compaction == "auto"
    assert len(turn.usages) == 2
    begun, done = [e for e in turn.events if e.kind.startswith("compaction")]
    assert (begun.kind, done.kind) == ("compaction_begun", "compaction_done")
    assert f"{turn.step.tokens_before:,} -> {turn.step.tokens_after:,} tokens" in done.text
    assert begun.text == f"auto at {turn.step.tokens_before:,} tokens"
    (noted,) = session.compactions
    assert (noted.trigger, noted.failure, noted.focus) == ("auto", None, "")
    assert noted.usage == [turn.usages[0]]
    assert noted.message == turn.context[0]
    assert summary_text(noted.message).startswith("Summary 1 begins.")
    assert (noted.tokens_before, noted.tokens_after) == (
        turn.step.tokens_before,
        turn.step.tokens_after,
    )
    assert noted.tokens_before > SMALL.threshold_tokens > noted.tokens_after
    assert noted.archive == turn.step.archive


FAILURES = {
    "500": (error(500), "the summary call failed"),
    "400": (error(400, "No."), "the summary call failed"),
    "empty": (say(""), "the summary is empty"),
    "thinking only": (say(think("hm")), "the summary is empty"),
    "cut off": (say("So far", stop="max_tokens"), "stopped with max_tokens"),
    "refused": (say("No.", stop="refusal"), "stopped with refusal"),
    "a call instead": (say("Hm.", call("toolu_s", "read_file")), "stopped with tool_use"),
    "larger": (say("many words " * 2_000), "the summary has "),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_summary_loses_nothing_and_the_run_goes_on(workspace, session, failure):
    answer, reason = FAILURES[failure]
    turns = go(worker(6, summary=answer), workspace, session, settings=WHOLE)
    assert turns[-1].stop_reason == "end_turn"
    failed = [turn for turn in turns if turn.step.compaction]
    assert failed
    assert {turn.step.compaction for turn in failed} == {"failed"}
    assert all(reason in turn.step.failure for turn in failed)
    assert kinds(failed[:1])[-2:] == ["compaction_begun", "compaction_failed"]
    assert len(failed[0].usages) == (1 if failure in ("500", "400") else 2)
    assert session.context == session.history
    assert [text for m in session.history for text in results(m)] == [READ] * 6
    noted = load(session.path).compactions
    assert [(c.message, c.trigger) for c in noted] == [(None, "auto")] * len(failed)
    assert all(reason in c.failure for c in noted)


def test_the_compact_call_is_carried_out_at_the_top_of_the_next_turn(workspace, session):
    asks = [call("toolu_2", "compact", focus="auth.py"), call("toolu_3", "read_file", path="a.txt")]
    replies = (
        say(call("toolu_1", "read_file", path="a.txt")),
        say(*asks),
        say("The work on auth.py."),
        say("Done."),
    )
    seen = []
    turns = go(script(*replies), workspace, session, seen=seen)
    assert turns[1].step.compaction is None
    assert results(turns[1].messages[1]) == ["Compacted.", READ]
    assert asks_for_summary(seen[2])
    assert "\nFocus: auth.py\n" in prompt(seen[2])
    assert results(seen[2]["messages"][-2]) == ["Compacted.", READ]
    assert (turns[2].step.compaction, turns[2].step.focus) == ("manual", "auth.py")
    assert summary_text(turns[2].context[0]) == "The work on auth.py."
    assert results(turns[2].context[-1]) == ["Compacted.", READ]
    assert [(c.trigger, c.focus) for c in load(session.path).compactions] == [("manual", "auth.py")]


def test_by_hand_between_two_runs(workspace, session):
    go(worker(2), workspace, session)
    seen, options = [], {"settings": SMALL, "clock": Clock()}
    model = client(script(say("By hand.")), seen)
    step = loop.Agent(model, workspace, session, **options).compact_now("the rules")
    assert (step.compaction, step.focus, len(step.usage)) == ("manual", "the rules", 1)
    assert "Focus: the rules" in prompt(seen[0])
    assert [summary_text(m) for m in session.context] == ["By hand."]
    assert blocks(session.context[0])[1]["text"] == "Read a.txt."
    loaded = load(session.path)
    assert (loaded.context, loaded.compactions) == (session.context, session.compactions)
    (turn,) = go(script(say("Yes.")), workspace, loaded, "Go on?")
    assert turn.context == [*session.context, {"role": "user", "content": "Go on?"}]


def test_by_hand_a_failure_is_noted_and_nothing_to_do_is_not(workspace, session):
    options = {"settings": SMALL, "clock": Clock()}
    agent = loop.Agent(client(script()), workspace, session, **options)
    assert agent.compact_now().compaction is None
    go(worker(1), workspace, session)
    agent = loop.Agent(client(script(error(500), say("Fine."))), workspace, session, **options)
    assert agent.compact_now().compaction == "failed"
    assert session.context == session.history
    assert agent.compact_now().compaction == "manual"


def test_by_hand_with_a_call_in_flight(workspace, session):
    session.say("Go.", at=0)
    session.reply(say("words " * 300, call("toolu_1")), at=1)
    session.answer({"type": "tool_result", "tool_use_id": "toolu_1", "content": READ}, at=1)
    session.reply(say(call("toolu_2")), at=2)
    model = client(script(say("A summary.")))
    loop.Agent(model, workspace, session, SMALL, clock=Clock()).compact_now()
    assert session.pending == ()
    assert len(session.context) == 3
    assert results(session.context[-1]) == ["interrupted; check before repeating"]


def test_each_tier_is_told_once(workspace, session):
    settings = Settings(
        context_window=12_000, output_reserve=400, buffer=400, auto=False, micro="off"
    )
    turns = go(worker(16), workspace, session, settings=settings)
    told = [(n, e.text) for n, turn in enumerate(turns) for e in turn.events if e.kind == "tier"]
    shares = [turn.step.tokens_after / 12_000 for turn in turns]
    logged = [e.text for turn in turns for e in turn.events if e.kind == "logged"]
    expected, reached = [], 0.0
    for n, share in enumerate(shares):
        tier = max((t for t in settings.warn_at if share >= t), default=0.0)
        if tier > reached:
            expected.append((n, f"the context is at {share:.0%} of 12,000 tokens"))
        reached = tier
    assert told == expected[1:]
    assert logged == [expected[0][1]]  # 65 %: for the record
    assert len(told) == 3


def test_a_conversation_larger_than_the_window_is_summarised_without_its_oldest(tmp_path):
    """A session that goes on in a fifth of its window, where one fifth less is far from enough."""
    workspace, session = a_workspace(tmp_path), a_session(tmp_path)
    go(worker(30), workspace, session, settings=replace(WHOLE, context_window=40_000))
    accepted = []

    def brain(body):
        size = len(json.dumps(body["messages"])) // 4
        if size > 8_000:
            return error(400, f"prompt is too long: {size} tokens > 8000 maximum")
        if asks_for_summary(body):
            accepted.append(body)
        return say("Did it.")

    small = replace(WHOLE, context_window=8_000, summary_tokens=200)
    turns = go(brain, workspace, session, words="Go on.", settings=small)
    assert turns[0].step.compaction == "auto"
    assert turns[-1].stop_reason == "end_turn"
    assert len(accepted) == 1
    assert prompt(accepted[0]).startswith("Summarize")


def test_a_summary_refused_for_its_size_again_and_again_is_a_failure(workspace, session):
    def brain(body):
        if asks_for_summary(body):
            return error(400, "prompt is too long: 9 tokens > 1 maximum")
        return work(body)

    work = worker(6)
    turns = go(brain, workspace, session, settings=FULL)
    assert "prompt is too long: 9" in next(t.step.failure for t in turns if t.step.failure)
    assert session.context == session.history
