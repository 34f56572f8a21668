"""The loop: what a turn holds, what each stop reason does, and how a run ends and goes on."""

import dataclasses
import json
from pathlib import Path
from typing import get_args

import pytest
from anthropic.types import StopReason
from fakes import Clock, asks_for_summary, bare, call, say, script, worker
from runs import READ, SMALL, TEXT, a_session, a_workspace, go

from agentlib import loop
from agentlib.messages import blocks, of_type
from agentlib.pipeline import compact
from agentlib.settings import MODEL
from agentlib.step import Step
from agentlib.tools import Workspace
from agentlib.transcripts import INTERRUPTED, Session, load


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return a_workspace(tmp_path)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return a_session(tmp_path)


def results(message) -> list[tuple]:
    return [(r["content"], r.get("is_error")) for r in of_type(message, "tool_result")]


def test_a_turn_holds_what_was_sent_and_what_came_of_it(workspace, session):
    seen = []
    first, last = go(worker(1), workspace, session, seen=seen)
    assert first.context == [{"role": "user", "content": "Read a.txt."}]
    assert [m["role"] for m in first.messages] == ["assistant", "user"]
    assert results(first.messages[1]) == [(READ, None)]
    assert last.context == [*first.context, *first.messages]
    assert [bare(turn.context) for turn in (first, last)] == [bare(b["messages"]) for b in seen]
    assert [m["content"][0]["text"] for m in last.messages] == ["Done."]
    assert (first.stop_reason, last.stop_reason) == ("tool_use", "end_turn")
    assert isinstance(first.step, Step)
    assert first.step.messages == first.context
    assert [len(turn.usages) for turn in (first, last)] == [1, 1]
    assert first.usages[0]["output_tokens"] > 0
    assert first.events == last.events == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.stop_reason = "end_turn"


def test_the_request_names_model_room_and_tools(workspace, session):
    seen = []
    go(worker(0), workspace, session, seen=seen)
    assert (seen[0]["model"], seen[0]["max_tokens"]) == (MODEL, 400)
    names = [tool["name"] for tool in seen[0]["tools"]]
    assert names == ["bash", "read_file", "write_file", "edit_file", "compact"]
    system = seen[0]["system"][0]["text"]
    assert "is 4,000 tokens; the conversation is compacted at 3,200 tokens." in system


def test_unknown_tools_and_bad_inputs_are_results(workspace, session):
    calls = (
        call("toolu_1", "fly", where="up"),
        call("toolu_2", "read_file"),
        call("toolu_3", "read_file", path=7),
        call("toolu_4", "read_file", path="../secret"),
        call("toolu_5", "read_file", path="a.txt", limit=1),
    )
    first, _ = go(script(say(*calls), say("Sorry.")), workspace, session)
    found = results(first.messages[1])
    assert [bad for _, bad in found] == [True, True, True, True, None]
    assert "fly" in found[0][0]
    assert "outside the workspace" in found[3][0]


def test_a_paused_turn_goes_on(workspace, session):
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": "x"}}
    seen = []
    paused, last = go(
        script(say("Searching.", search, stop="pause_turn"), say("Found.")),
        workspace,
        session,
        seen=seen,
    )
    assert (paused.stop_reason, last.stop_reason) == ("pause_turn", "end_turn")
    assert seen[1]["messages"][-1]["role"] == "assistant"
    assert [m["role"] for m in session.history] == ["user", "assistant", "assistant"]


@pytest.mark.parametrize("reason", sorted({*get_args(StopReason)} - {*loop.GOES_ON}))
def test_a_run_stops_and_says_why(workspace, session, reason):
    (turn,) = go(script(say("So far.", stop=reason)), workspace, session)
    said = [(e.kind, e.text) for e in turn.events]
    expected = [] if reason == "end_turn" else [("stopped", f"the answer stopped with {reason}")]
    assert said == expected
    assert go(script(), workspace, session, None) == []
    again = go(script(say("More.")), workspace, session, "Go on.")
    assert again[0].messages[0]["content"][0]["text"] == "More."


def test_a_refusal_without_words_can_be_followed_by_others(workspace, session):
    go(script(say(stop="refusal")), workspace, session)
    go(script(say("Yes.")), workspace, session, "And this?")
    assert session.history[1]["content"] == [{"type": "text", "text": "(empty reply)"}]


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_cut_off_is_not_run_but_answered_on_resume(workspace, session, reason):
    cut = call("toolu_1", "write_file", path="b.txt", content="half of")
    (turn,) = go(script(say("Writing.", cut, stop=reason)), workspace, session)
    assert turn.stop_reason == reason
    assert session.pending == ("toolu_1",)
    seen = []
    go(script(say("I see.")), workspace, load(session.path), None, seen=seen)
    assert results(seen[0]["messages"][-1]) == [(INTERRUPTED, True)]
    assert not (workspace.root / "b.txt").exists()


def test_cache_markers_stand_on_copies_and_are_at_most_three(workspace, session):
    seen = []
    turns = go(worker(8), workspace, session, seen=seen)
    edges = []
    for body in (b for b in seen if not asks_for_summary(b)):
        marked = [i for i, m in enumerate(body["messages"]) if "cache_control" in json.dumps(m)]
        assert body["cache_control"] == body["system"][0]["cache_control"]
        assert len(marked) <= 1
        assert all("cache_control" in blocks(body["messages"][i])[-1] for i in marked)
        edges.append(marked[0] + 1 if marked else 0)
    assert edges == [turn.step.settled for turn in turns]
    assert max(edges) > 1
    assert "cache_control" not in json.dumps([session.history, session.context, session.tools])
    assert b"cache_control" not in session.path.read_bytes()


def test_max_turns_stops_and_a_resume_goes_on(workspace, session):
    work = worker(3)
    turns = go(work, workspace, session, max_turns=2)
    (event,) = [e for t in turns for e in t.events if e.kind == "stopped"]
    assert event.text == "max_turns reached; resume to go on"
    more = go(work, workspace, session, None, max_turns=2)
    assert [t.stop_reason for t in more] == ["tool_use", "end_turn"]
    assert [e for t in more for e in t.events if e.kind == "stopped"] == []


def test_the_same_session_goes_on_with_the_next_prompt(workspace, session):
    go(worker(1), workspace, session)
    (turn,) = go(script(say("Welcome.")), workspace, session, "Thanks.")
    assert [m["role"] for m in turn.context] == ["user", "assistant", "user", "assistant", "user"]
    assert turn.context[-1] == {"role": "user", "content": "Thanks."}
    assert load(session.path).history == session.history


def test_an_empty_prompt_is_refused_and_nothing_is_noted(workspace, session):
    with pytest.raises(ValueError, match="the prompt is empty"):
        go(script(), workspace, session, "  \n")
    assert session.history == load(session.path).history == []


def test_a_request_too_large_names_both_numbers_and_is_not_noted(workspace, session):
    seen = []
    with pytest.raises(loop.RequestTooLarge, match=r"about 4,\d{3} tokens .* budget is 3,600"):
        go(script(), workspace, session, "x" * 12_000, seen=seen)
    assert seen == []
    assert session.history == load(session.path).history == []
    assert go(script(say("Hi.")), workspace, session, "x" * 7_000)


def test_the_meter_after_a_resume_is_that_of_the_uninterrupted_run(tmp_path, workspace):
    def sizes(folder: Path, parts: tuple[int, ...]) -> list[int]:
        session, work, found = (
            Session.create(folder, settings=SMALL, session_id="s"),
            worker(12),
            [],
        )
        for n, turns in enumerate(parts):
            session = load(session.path) if n else session
            words = None if n else "Go."
            found += [
                turn.step.tokens_before
                for turn in go(work, workspace, session, words, max_turns=turns)
            ]
        return found

    whole = sizes(tmp_path / "whole", (13,))
    assert len(set(whole)) > 8
    assert sizes(tmp_path / "parts", (3, 1, 4, 5)) == whole


def test_with_clock_and_id_fixed_two_runs_write_the_same_bytes(tmp_path):
    written = []
    for name in ("one", "another"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.txt").write_text(TEXT, newline="\n")
        session = Session.create(folder, settings=SMALL, session_id="s", clock=Clock())
        go(worker(10), Workspace(folder), session)
        go(worker(1, "b"), Workspace(folder), session, "More.")
        written.append(session.path.read_bytes())
    assert written[0] == written[1]
    assert written[0].count(b"compact_boundary") > 1


def test_the_engine_is_any_function_of_that_shape(workspace, session):
    asked = []

    def engine(messages, settings, **given):
        asked.append((len(messages), settings, *sorted(given)))
        return compact(messages, settings, **given)

    go(worker(1), workspace, session, engine=engine)
    given = ("archive", "focus", "idle", "meter", "reason", "settled", "summarize")
    assert asked == [(1, SMALL, *given), (3, SMALL, *given)]
