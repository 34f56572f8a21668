"""Recovery in the loop: refused prompts, a breaker that is kept on disk, Ctrl-C, replay."""

import json
from dataclasses import replace
from itertools import count

import anthropic
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
    worker,
)
from runs import READ, a_session, a_workspace, ctrl_c, go, state

from agentlib import loop
from agentlib.auto_compact import summary_text
from agentlib.hooks import Hooks, notes_file
from agentlib.lab.replay import replay
from agentlib.messages import of_type
from agentlib.session_file import compaction, compaction_lines, timestamp
from agentlib.settings import Settings
from agentlib.step import Outcome, Step
from agentlib.transcripts import load

WHOLE = Settings(context_window=8_000, output_reserve=400, buffer=400, micro="off")
"""Compacts at 7,200 tokens, after six readings of a.txt or so; an emergency past 7,600."""
BLIND = replace(WHOLE, estimator="blocks", context_window=80_000)
"""Takes the window for ten times what it is: the estimate never says no."""
TOO_LONG = error(400, "prompt is too long: 8001 tokens > 8000 maximum")


@pytest.fixture
def workspace(tmp_path):
    return a_workspace(tmp_path)


@pytest.fixture
def session(tmp_path):
    return a_session(tmp_path, WHOLE)


def outcomes(turns):
    return [turn.step.compaction for turn in turns]


def narrow(brain, limit=8_000, struck=None):
    """The window on the wire; `struck`: what it answers to every request for a summary."""

    def answer(body):
        if len(json.dumps(body["messages"])) // 3 > limit:
            return TOO_LONG
        if struck and asks_for_summary(body):
            return struck
        return brain(body)

    return answer


def results_of(session):
    return [r["content"] for m in session.history for r in of_type(m, "tool_result")]


def replays_as_it_was(session, settings):
    loaded = load(session.path)
    assert state(loaded) | {"settings": settings} == state(session) | {"settings": settings}
    frames = replay(loaded, settings)
    assert [f.context for f in frames] == [r.context for r in loaded.requests]
    return frames


# -- the API says no though the estimate said yes -------------------------------------------------


def test_a_prompt_that_the_api_finds_too_long_is_compacted_and_sent_once_more(workspace, session):
    seen = []
    turns = go(narrow(worker(12)), workspace, session, seen=seen, settings=BLIND)
    assert turns[-1].stop_reason == "end_turn"
    assert outcomes(turns).count("reactive") == 1
    turn = next(t for t in turns if t.step.compaction)
    assert [e.kind for e in turn.events] == ["compaction_begun", "compaction_done"]
    assert turn.events[0].text.startswith("reactive at ")
    assert turn.context == list(turn.context)
    assert summary_text(turn.context[0]).startswith("Summary")
    assert results_of(session) == [READ] * 12
    assert {c.trigger for c in session.compactions} == {"reactive"}
    frames = replays_as_it_was(session, BLIND)
    assert [f.compaction for f in frames] == outcomes(turns)


def test_once_more_and_not_for_ever(workspace, session):
    requests = count(1)

    def brain(body):
        if asks_for_summary(body):
            return say("Short.")
        return work(body) if next(requests) <= 3 else TOO_LONG

    work, seen = worker(9), []
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        go(brain, workspace, session, seen=seen, settings=BLIND)
    assert [asks_for_summary(body) for body in seen] == [*[False] * 4, True, False]
    assert [c.trigger for c in session.compactions] == ["reactive"]
    assert load(session.path).context == session.context


def test_refused_and_no_model_to_be_had_it_is_cut_to_size_and_goes_on(workspace, session):
    turns = go(narrow(worker(12), struck=error(500)), workspace, session, settings=BLIND)
    assert turns[-1].stop_reason == "end_turn"
    assert outcomes(turns).count("reactive") == 1
    turn = next(t for t in turns if t.step.compaction)
    kinds = ["compaction_begun", "compaction_truncated", "compaction_done"]
    assert [e.kind for e in turn.events] == kinds
    assert summary_text(turn.context[0]).startswith("[No summary: the summary call failed")
    assert results_of(session) == [READ] * 12
    replays_as_it_was(session, BLIND)


# -- the breaker ----------------------------------------------------------------------------------


def test_after_three_failures_it_rests_and_an_emergency_does_without(workspace, session):
    asked = []

    def brain(body):
        if asks_for_summary(body):
            asked.append(len(session.requests))
            return say("")
        return work(body)

    work = worker(40)
    low = replace(WHOLE, threshold=2_000)
    turns = go(brain, workspace, session, settings=low)
    assert turns[-1].stop_reason == "end_turn"
    assert asked[:3] == [2, 3, 4]
    assert asked[3] - asked[2] == low.breaker_turns
    truncated = [turn for turn in turns if turn.step.compaction == "auto"]
    assert len(truncated) >= 4
    assert any("rests after 3 failures" in turn.step.failure for turn in truncated)
    assert results_of(session) == [READ] * 40
    frames = replays_as_it_was(session, low)
    assert [f.compaction for f in frames] == outcomes(turns)


def test_the_breaker_is_kept_in_the_session_file(workspace, session):
    low = replace(WHOLE, threshold=2_000)
    asked = []

    def brain(body):
        asked.extend([1] if asks_for_summary(body) else [])
        return work(body)

    work = worker(5, summary=say(""))
    go(brain, workspace, session, settings=low)
    assert len(asked) == 3
    loaded = load(session.path)
    work = worker(2, "again", summary=say(""))
    go(brain, workspace, loaded, "Go on.", settings=low)
    assert len(asked) == 3  # it rests on
    model = client(script(say("By hand.")))
    step = loop.Agent(model, workspace, loaded, low, clock=Clock()).compact_now()
    assert step.compaction == "manual"  # a person's wish passes the breaker, and closes it
    work = worker(3, "more", summary=say("Fine."))
    turns = go(brain, workspace, loaded, "Go on.", settings=low)
    assert "auto" in outcomes(turns)


def test_a_rest_is_noted_and_read_from_the_sentence_of_an_older_file():
    why = "compaction rests after 3 failures, 7 turns more"
    step = Step(messages=[], compaction=Outcome.FAILED, failure=why, rested=True)
    (line,) = compaction_lines(step, [], None)
    line["timestamp"] = timestamp(0)
    assert compaction(line, None, 0).rested
    del line["compactMetadata"]["rested"]
    assert compaction(line, None, 0).rested
    line["compactMetadata"]["failure"] = "the summary is empty"
    assert not compaction(line, None, 0).rested


def test_a_base_prompt_over_the_threshold_is_not_compacted_for_ever(workspace, session):
    low = replace(WHOLE, threshold=1_000)  # system, tools and one reading are more than that
    turns = go(worker(30), workspace, session, settings=low)
    compacted = [n for n, o in enumerate(outcomes(turns)) if o]
    assert all(turns[n].step.tokens_after > 1_000 for n in compacted)
    assert len(compacted) <= 3 + 30 // 6
    assert compacted[3] - compacted[2] > 3
    replays_as_it_was(session, low)


@pytest.mark.parametrize("fails", [False, True])
def test_tiers_past_the_compaction_point_speak_only_when_compaction_has_failed(
    workspace, session, fails
):
    at_65 = replace(WHOLE, threshold_pct=65)
    turns = go(worker(9, summary=say("") if fails else None), workspace, session, settings=at_65)
    told = [event.text for turn in turns for event in turn.events if event.kind == "tier"]
    assert len(told) == (2 if fails else 0)  # at 82 % and 93 %; past 95 % it is cut to size


# -- Ctrl-C ---------------------------------------------------------------------------------------


def stopping(brain, at, numbers):
    """Ctrl-C comes while request `at` is on its way."""

    def answer(body):
        if next(numbers) == at:
            raise KeyboardInterrupt
        return brain(body)

    return answer


@pytest.mark.parametrize("at", range(5, 11))
def test_ctrl_c_at_any_request_leaves_the_session_as_it_was(workspace, session, at):
    low = replace(WHOLE, threshold=3_500)
    work, seen = worker(8), []
    with ctrl_c(), pytest.raises(KeyboardInterrupt):
        go(stopping(work, at, count(1)), workspace, session, seen=seen, settings=low)
    before = state(load(session.path))
    assert {k: v for k, v in state(session).items() if k != "settings"} == {
        k: v for k, v in before.items() if k != "settings"
    }
    summaries = sum(map(asks_for_summary, seen[:-1]))
    assert len([c for c in session.compactions if not c.failure]) == summaries
    turns = go(work, workspace, session, None, settings=low)
    assert turns[-1].stop_reason == "end_turn"
    assert set(results_of(session)) == {READ}
    replays_as_it_was(session, low)


# -- hooks, files, memory -------------------------------------------------------------------------


def test_files_and_notes_are_put_back_and_stand_in_the_session_file(workspace, session):
    (workspace.root / "NOTES.md").write_text("Never push.\n", encoding="utf-8")
    keeps = replace(WHOLE, restore_files=5, restore_tokens=300)
    hooks = Hooks(restore=(notes_file(workspace.root / "NOTES.md"),))
    turns = go(worker(8), workspace, session, settings=keeps, hooks=hooks)
    turn = next(t for t in turns if t.step.compaction)
    summary, notes, file = summary_text(turn.context[0]).split("[Put back: ")
    assert summary.startswith("Summary 1 begins.")
    assert notes == "NOTES.md]\nNever push.\n\n"
    assert file.startswith("a.txt]\nline 0 of the text\nline 1 of the text\n")
    assert file.endswith("more lines)")
    assert len(file) * 0.285 < 320
    (workspace.root / "NOTES.md").unlink()  # reading the session back asks no file again
    replays_as_it_was(session, keeps)


def test_hooks_are_asked_before_and_told_after(workspace, session):
    seen, told = [], []
    hooks = Hooks(before=lambda messages, focus: f"{focus}the numbers", after=told.append)
    turns = go(worker(8), workspace, session, seen=seen, settings=WHOLE, hooks=hooks)
    (asked,) = [prompt(body) for body in seen if asks_for_summary(body)]
    assert "\nFocus: the numbers\n" in asked
    assert told == [turn.step for turn in turns if turn.step.compaction]
    assert session.compactions[0].focus == ""


def test_what_the_agent_noted_stands_in_for_a_summary_without_a_call(workspace, session):
    seen, remembers = [], replace(WHOLE, session_memory=True)
    turns = go(worker(8), workspace, session, seen=seen, settings=remembers)
    assert not any(map(asks_for_summary, seen))
    (turn,) = [t for t in turns if t.step.compaction]
    assert len(turn.usages) == 1
    lines = summary_text(turn.context[0]).splitlines()
    assert lines[:3] == ["- Earlier request: Read a.txt.", "step 1", "step 2"]
    replays_as_it_was(session, remembers)


def test_a_call_is_kept_with_its_result_when_the_middle_is_cut(workspace, session):
    batch = [call(f"toolu_{n}", "read_file", path="a.txt") for n in range(7)]
    replies = iter([say("All at once.", *batch), say("One more.", call("x", "bash", command="ls"))])

    def brain(body):
        return error(500) if asks_for_summary(body) else next(replies, say("Done."))

    turns = go(brain, workspace, session, settings=replace(WHOLE, context_window=8_600))
    assert turns[-1].stop_reason == "end_turn"  # the fake API has held every request to its rules
    assert len(turns) == 3
