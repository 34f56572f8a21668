"""The loop: its turns and stop reasons, compaction in it, and runs that break off and
go on."""

import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import anthropic
import httpx2
import pytest
from anthropic.types import StopReason

from agentlib import loop
from agentlib.auto_compact import summary_text
from agentlib.messages import CUT_OFF, INTERRUPTED, active_request, blocks, of_type
from agentlib.settings import MODEL, Settings
from agentlib.step import Step
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import rules, violation
from tests.builders import call, result, say, text, thinking, without
from tests.fakes import (
    Clock,
    asks_for_summary,
    bare,
    client,
    error,
    lines_of,
    prompt,
    script,
    worker,
)
from tests.loopback import message
from tests.runs import READ, SMALL, TEXT, a_session, a_workspace, go


def results(message) -> list[tuple]:
    return [(r["content"], r.get("is_error")) for r in of_type(message, "tool_result")]


def contents(message) -> list[str]:
    return [r["content"] for r in of_type(message, "tool_result")]


def test_a_turn_holds_what_was_sent_and_what_came_of_it(workspace, session):
    seen = []
    first, last = go(worker(1), workspace, session, seen=seen)
    assert first.context == [{"role": "user", "content": "Read a.txt."}]
    assert [m["role"] for m in first.messages] == ["assistant", "user"]
    assert results(first.messages[1]) == [(READ, None)]
    assert last.context == [*first.context, *first.messages]
    assert [bare(turn.context) for turn in (first, last)] == [
        bare(b["messages"]) for b in seen
    ]
    assert [m["content"][0]["text"] for m in last.messages] == ["Done."]
    assert (first.stop_reason, last.stop_reason) == ("tool_use", "end_turn")
    assert isinstance(first.step, Step)
    assert first.step.applied(first.context) == first.context
    assert [len(turn.usages) for turn in (first, last)] == [1, 1]
    assert first.usages[0]["output_tokens"] == 53
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


def junk(content: object, **more: object) -> httpx2.Response:
    """A reply that no endpoint should send."""
    usage = {"input_tokens": 900, "output_tokens": 9}
    odd = {"stop_reason": "tool_use", "usage": usage, "content": content, **more}
    return httpx2.Response(200, content=json.dumps(message(**odd)))


READING = call("toolu_1", "read_file", path="a.txt")
# test_requests has any content at all.
JUNK = {
    "id twice": [READING, READING],
    "id with other characters": [{**READING, "id": "functions.read_file:0"}],
    "id of an earlier turn": [{**READING, "id": "toolu_0"}],
    "id missing": [without(READING, "id")],
    "input a string": [{**READING, "input": '{"path": "a.txt"}'}],
    "input with half a pair": [call("toolu_1", "read_file", path="a\ud83d.txt")],
    "name a number": [{**READING, "name": 7}],
    "thinking without a signature": [{"type": "thinking", "thinking": "Hm."}, READING],
    "content null": None,
}


@pytest.mark.parametrize("kind", JUNK)
def test_after_a_malformed_reply_the_session_goes_on(workspace, session, kind):
    seen = []
    first = call("toolu_0", "read_file", path="a.txt")
    brain = script(
        say(first), junk(JUNK[kind]), say("Well."), say("Yes."), say("Resumed.")
    )
    turns = go(brain, workspace, session, seen=seen)
    assert turns[1].stop_reason == "tool_use"
    go(brain, workspace, session, "And now?", seen=seen)
    go(brain, workspace, load(session.path), "And now?", seen=seen)
    for body in seen:
        rules.check(body)
    (line,) = [
        each
        for each in lines_of(session.path)
        if "rawContent" in each.get("message", {})
    ]
    kept, sent = (
        json.dumps(c, sort_keys=True)
        for c in (line["message"]["rawContent"], JUNK[kind])
    )
    assert kept == sent


def test_a_call_that_was_mended_is_answered(workspace, session):
    calls = [
        without(READING, "id"),
        {**READING, "input": "a.txt"},
        {**READING, "name": 7},
    ]
    _, last = go(script(junk(calls), say("Well.")), workspace, session)
    (first, _), (second, bad), (third, worse) = results(last.context[-1])
    assert first == READ
    assert bad
    assert "{'input': 'a.txt'}" in second
    assert worse
    assert "'7'" in third


@pytest.mark.parametrize(
    "usage", [None, {}, {"input_tokens": "9", "output_tokens": None}]
)
def test_a_reply_without_a_bill_teaches_nothing(workspace, session, usage):
    (turn,) = go(
        script(junk(["Hm."], usage=usage, stop_reason=None)), workspace, session
    )
    assert turn.stop_reason == "end_turn"
    assert load(session.path).requests[0].usage == turn.usages[0]
    assert go(script(say("Yes.")), workspace, load(session.path), "And?")


@pytest.mark.parametrize("reason", [None, "end_turn"])
def test_calls_are_run_whatever_the_reply_says(workspace, session, reason):
    first, _ = go(
        script(junk([READING], stop_reason=reason), say("Well.")), workspace, session
    )
    assert contents(first.messages[1]) == [READ]


def test_a_reply_as_it_should_be_is_not_noted_twice(workspace, session):
    extra = {**READING, "caller": {"type": "direct"}}
    go(script(say("Hm.", extra), say("Well.")), workspace, session)
    assert b"caller" not in session.path.read_bytes()
    assert b"rawContent" not in session.path.read_bytes()


@pytest.mark.parametrize(
    "reason", sorted({*get_args(StopReason)} - {"tool_use", "max_tokens"})
)
def test_a_run_stops_and_says_why(workspace, session, reason):
    (turn,) = go(script(say("So far.", stop=reason)), workspace, session)
    said = [(e.kind, e.text) for e in turn.events]
    expected = (
        []
        if reason == "end_turn"
        else [("stopped", f"the answer stopped with {reason}")]
    )
    assert said == expected
    assert go(script(), workspace, session, None) == []
    again = go(script(say("More.")), workspace, session, "Go on.")
    assert again[0].messages[0]["content"][0]["text"] == "More."


def test_a_refusal_without_words_can_be_followed_by_others(workspace, session):
    go(script(say(stop="refusal")), workspace, session)
    go(script(say("Yes.")), workspace, session, "And this?")
    assert session.history[1]["content"] == [text("(empty reply)")]


HALF = call("toolu_1", "write_file", path="b.txt", content="half of")


def test_a_call_that_the_window_cut_off_is_not_run_but_answered_on_resume(
    workspace, session
):
    said = say("Writing.", HALF, stop="model_context_window_exceeded")
    (turn,) = go(script(said), workspace, session)
    assert turn.stop_reason == "model_context_window_exceeded"
    assert session.pending == ("toolu_1",)
    seen = []
    go(script(say("I see.")), workspace, load(session.path), None, seen=seen)
    assert results(seen[0]["messages"][-1]) == [(INTERRUPTED, True)]
    assert not (workspace.root / "b.txt").exists()


@pytest.mark.parametrize(
    "cut", [say("Writing.", HALF, stop="max_tokens"), say("So f", stop="max_tokens")]
)
def test_the_model_goes_on_after_a_reply_that_was_cut_off(workspace, session, cut):
    seen = []
    turns = go(script(cut, say("Done.")), workspace, session, seen=seen)
    assert [turn.stop_reason for turn in turns] == ["max_tokens", "end_turn"]
    assert [event.kind for event in turns[0].events] == ["cut"]
    assert not (workspace.root / "b.txt").exists()
    answer = seen[1]["messages"][-1]
    if of_type(cut, "tool_use"):
        ((text, is_error),) = results(answer)
        assert "max_tokens=400" in text
        assert is_error
    else:
        assert blocks(answer)[0]["text"].startswith(CUT_OFF)
    assert active_request(seen[1]["messages"]) == "Read a.txt."
    assert load(session.path).persons == session.persons == {"Read a.txt."}
    assert load(session.path).context == session.context


@pytest.mark.parametrize("parts", [["So f"], ["So f", HALF], [HALF]])
def test_it_goes_on_three_times_in_a_row_and_no_more(workspace, session, parts):
    numbers = iter(range(1, 99))

    def cut(body):
        n = next(numbers)
        calls = [{**p, "id": f"toolu_{n}"} if isinstance(p, dict) else p for p in parts]
        return say(*calls, stop="max_tokens")

    turns = go(cut, workspace, session)
    assert [event.kind for turn in turns for event in turn.events] == [
        *["cut"] * 3,
        "stopped",
    ]
    # The person's next words begin the count again, and the first ones still wait.
    seen = []
    more = go(cut, workspace, load(session.path), "Go on.", seen=seen)
    assert len(more) == 4
    assert active_request(seen[0]["messages"]) == "Read a.txt.\n\nGo on."
    # Nobody says anything: calls are answered, and a text stays the end.
    left = 4 if HALF in parts else 0
    assert len(go(cut, workspace, load(session.path), None)) == left


def test_a_reply_that_is_complete_begins_the_count_again(workspace, session):
    cut = [say("So f", stop="max_tokens")] * 2
    read = say("", call("toolu_9", "read_file", path="a.txt"))
    turns = go(script(*cut, read, *cut, say("Done.")), workspace, session)
    told = [event.text[-6:] for turn in turns for event in turn.events]
    assert told == ["1 of 3", "2 of 3"] * 2


def test_cache_markers_stand_on_copies_and_are_at_most_three(workspace, session):
    seen = []
    turns = go(worker(8), workspace, session, seen=seen)
    edges = []
    for body in (b for b in seen if not asks_for_summary(b)):
        marked = [
            i
            for i, m in enumerate(body["messages"])
            if "cache_control" in json.dumps(m)
        ]
        assert body["cache_control"] == body["system"][0]["cache_control"]
        assert len(marked) <= 1
        assert all("cache_control" in blocks(body["messages"][i])[-1] for i in marked)
        edges.append(marked[0] + 1 if marked else 0)
    assert edges == [turn.step.settled for turn in turns]
    assert max(edges) > 1
    assert "cache_control" not in json.dumps(
        [session.history, session.context, session.tools]
    )
    assert b"cache_control" not in session.path.read_bytes()


def test_max_turns_stops_and_a_resume_goes_on(workspace, session):
    work = worker(3)
    turns = go(work, workspace, session, max_turns=2)
    (event,) = [e for t in turns for e in t.events if e.kind == "stopped"]
    assert event.text == "max_turns reached; resume to go on"
    more = go(work, workspace, session, None, max_turns=2)
    assert [t.stop_reason for t in more] == ["tool_use", "end_turn"]
    assert [e for t in more for e in t.events if e.kind == "stopped"] == []


def test_an_empty_prompt_is_refused_and_nothing_is_noted(workspace, session):
    with pytest.raises(ValueError, match="the prompt is empty"):
        go(script(), workspace, session, "  \n")
    assert session.history == load(session.path).history == []


def test_a_request_too_large_names_both_numbers_and_is_not_noted(workspace, session):
    seen = []
    with pytest.raises(
        loop.RequestTooLarge, match=r"about 4,\d{3} tokens .* budget is 3,600"
    ):
        go(script(), workspace, session, "x" * 12_000, seen=seen)
    assert seen == []
    assert session.history == load(session.path).history == []
    assert go(script(say("Hi.")), workspace, session, "x" * 7_000)


def test_the_meter_after_a_resume_is_that_of_the_uninterrupted_run(tmp_path, workspace):
    def sizes(folder: Path, parts: tuple[int, ...]) -> list[int]:
        session = Session.create(folder, settings=SMALL, session_id="s")
        work = worker(12)
        found = []
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


# -- compaction in the loop ------------------------------------------------------------


def test_a_compaction_is_told_billed_and_noted(workspace, session):
    turns = go(worker(8), workspace, session)
    (turn,) = [t for t in turns if t.step.compaction]
    assert turn.step.compaction == "auto"
    assert len(turn.usages) == 2
    (done,) = [e for e in turn.events if e.kind.startswith("compaction")]
    sizes = f"{turn.step.tokens_before:,} -> {turn.step.tokens_after:,} tokens"
    assert (done.kind, done.text.partition(";")[0]) == (
        "compaction_done",
        f"auto: {sizes}",
    )
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


def test_the_compact_call_is_carried_out_at_the_top_of_the_next_turn(
    workspace, session
):
    asks = [
        call("toolu_2", "compact", focus="auth.py"),
        call("toolu_3", "read_file", path="a.txt"),
    ]
    replies = (
        say(call("toolu_1", "read_file", path="a.txt")),
        say(*asks),
        say("The work on auth.py."),
        say("Done."),
    )
    seen = []
    turns = go(script(*replies), workspace, session, seen=seen)
    assert turns[1].step.compaction is None
    assert contents(turns[1].messages[1]) == ["Compacted.", READ]
    assert asks_for_summary(seen[2])
    assert "\nFocus: auth.py\n" in prompt(seen[2])
    assert contents(seen[2]["messages"][-2]) == ["Compacted.", READ]
    assert (turns[2].step.compaction, turns[2].step.focus) == ("manual", "auth.py")
    assert summary_text(turns[2].context[0]) == "The work on auth.py."
    assert contents(turns[2].context[-1]) == ["Compacted.", READ]
    assert [(c.trigger, c.focus) for c in load(session.path).compactions] == [
        ("manual", "auth.py")
    ]


def test_by_hand_between_two_runs(workspace, session):
    go(worker(2), workspace, session)
    seen = []
    options = {"settings": SMALL, "clock": Clock()}
    model = client(script(say("By hand.")), seen)
    agent = loop.equipped(model, workspace, session, **options)
    step = agent.compact_now("the rules")
    assert (step.compaction, step.focus, len(step.usage)) == ("manual", "the rules", 1)
    assert "Focus: the rules" in prompt(seen[0])
    assert [summary_text(m) for m in session.context] == ["By hand."]
    assert len(blocks(session.context[0])) == 1  # the request was answered
    loaded = load(session.path)
    assert (loaded.context, loaded.compactions) == (
        session.context,
        session.compactions,
    )
    (turn,) = go(script(say("Yes.")), workspace, loaded, "Go on?")
    assert turn.context == [*session.context, {"role": "user", "content": "Go on?"}]


def test_by_hand_a_failure_is_noted_and_nothing_to_do_is_not(workspace, session):
    options = {"settings": SMALL, "clock": Clock()}
    agent = loop.Agent(client(script()), workspace, session, **options)
    assert agent.compact_now().compaction is None
    go(worker(1), workspace, session)
    agent = loop.Agent(
        client(script(error(500), say("Fine."))), workspace, session, **options
    )
    assert agent.compact_now().compaction == "failed"
    assert session.context == session.history
    assert agent.compact_now().compaction == "manual"


def test_by_hand_with_a_call_in_flight(workspace, session):
    session.say("Go.", at=0)
    session.reply(say("words " * 300, call("toolu_1")), at=1)
    session.answer(result("toolu_1", READ), at=1)
    session.reply(say(call("toolu_2")), at=2)
    model = client(script(say("A summary.")))
    loop.Agent(model, workspace, session, SMALL, clock=Clock()).compact_now()
    assert session.pending == ()
    assert len(session.context) == 3
    assert contents(session.context[-1]) == [INTERRUPTED]


def test_each_tier_is_told_once(workspace, session):
    settings = Settings(
        context_window=12_000, output_reserve=400, buffer=400, auto=False, micro="off"
    )
    turns = go(worker(16), workspace, session, settings=settings)
    told = [
        (n, e.text)
        for n, turn in enumerate(turns)
        for e in turn.events
        if e.kind == "tier"
    ]
    shares = [turn.step.tokens_after / 12_000 for turn in turns]
    logged = [e.text for turn in turns for e in turn.events if e.kind == "logged"]
    expected = []
    reached = 0.0
    for n, share in enumerate(shares):
        tier = max((t for t in settings.warn_at if share >= t), default=0.0)
        if tier > reached:
            expected.append((n, f"the context is at {share:.0%} of 12,000 tokens"))
        reached = tier
    assert told == expected[1:]
    assert logged == [expected[0][1]]  # 65 %: for the record
    assert len(told) == 3


def test_a_conversation_larger_than_the_window_is_summarised_without_its_oldest(
    tmp_path,
):
    """A session that goes on in a fifth of its window, where one fifth less is far from
    enough."""
    workspace = a_workspace(tmp_path)
    session = a_session(tmp_path)
    whole = replace(SMALL, summary_tokens=2_000, micro="off", emergency_at=None)
    go(worker(30), workspace, session, settings=replace(whole, context_window=40_000))
    accepted = []

    def brain(body):
        size = len(json.dumps(body["messages"])) // 4
        if size > 8_000:
            return error(400, f"prompt is too long: {size} tokens > 8000 maximum")
        if asks_for_summary(body):
            accepted.append(body)
        return say("Did it.")

    small = replace(whole, context_window=8_000, summary_tokens=200)
    turns = go(brain, workspace, session, words="Go on.", settings=small)
    assert turns[0].step.compaction == "auto"
    assert turns[-1].stop_reason == "end_turn"
    assert len(accepted) == 1
    assert prompt(accepted[0]).startswith("Summarize")


# -- a run that breaks off -------------------------------------------------------------


def interrupt(_: object) -> bool:
    raise KeyboardInterrupt


def broken_off(
    exception, brain, workspace, session, words="Read a.txt.", retries=0, **options
):
    """Run into the exception; what memory and file then hold is one, and is
    returned."""
    with pytest.raises(exception) as caught:
        go(brain, workspace, session, words, retries=retries, **options)
    loaded = load(session.path)
    assert (loaded.history, loaded.context) == (session.history, session.context)
    assert (loaded.settled, loaded.pending) == (session.settled, session.pending)
    return caught.value


def test_ctrl_c_in_a_tool_keeps_the_results_there_are(workspace, session):
    calls = [
        call("toolu_1", "read_file", path="a.txt", limit=1),
        call("toolu_2", command="ls"),
    ]
    asking = Workspace(workspace.root, confirm=interrupt)
    broken_off(KeyboardInterrupt, script(say(*calls)), asking, session)
    assert session.pending == ("toolu_2",)
    seen = []
    go(script(say("Ah.")), workspace, session, "Go on.", seen=seen)
    first, second = of_type(seen[0]["messages"][-2], "tool_result")
    assert first["content"].startswith("line 0 of the text")
    assert (second["content"], second["is_error"]) == (INTERRUPTED, True)
    assert prompt(seen[0]) == "Go on."


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (529, 3)])
def test_an_api_error_passes_through_and_the_run_can_go_on(
    workspace, session, status, tries
):
    failures = [error(status, "Nothing can be done")] * tries
    brain = script(
        say(thinking("hm"), call("toolu_1", "read_file", path="a.txt")), *failures
    )
    caught = broken_off(anthropic.APIStatusError, brain, workspace, session, retries=2)
    assert caught.status_code == status
    assert "Nothing can be done" in str(caught)
    assert violation(session.context) is None
    (turn,) = go(script(say("Done.")), workspace, load(session.path), None)
    assert turn.context == session.history


HALVES = ["smile \ud83d", "\ude00 smile", "\ud83d", "a\ud83d\nb\udfff"]


@pytest.mark.parametrize("words", HALVES)
def test_half_a_surrogate_pair_in_a_prompt_costs_no_session(workspace, session, words):
    seen = []
    go(script(say("One.")), workspace, session, words, seen=seen)
    assert prompt(seen[0]).isprintable() or "\n" in words
    assert "\ufffd" in prompt(seen[0])
    again = load(session.path)
    assert again.context == session.context
    go(script(say("Two.")), workspace, again, f"{words} and now?")
    assert [m["role"] for m in load(session.path).history] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("words", HALVES)
def test_a_half_in_a_system_prompt_a_focus_or_an_old_line_is_mended(
    workspace, session, words
):
    go(worker(2), workspace, session, system=words)
    session.note(
        1_700_000_000.0,
        {"type": "user", "message": {"role": "user", "content": words}},
    )
    loaded = load(session.path)
    assert loaded.damage == []
    agent = loop.Agent(
        client(script(say("A summary."), say("Done."))),
        workspace,
        loaded,
        SMALL,
        system=words,
        clock=Clock(),
    )
    agent.compact_now(words)
    assert [turn.stop_reason for turn in agent.run(words)] == ["end_turn"]


@pytest.mark.parametrize("count", [10**13, 10**400])
def test_a_count_of_tokens_that_cannot_be_one_costs_no_session(
    workspace, session, count
):
    def reply(words):
        usage = {"input_tokens": count, "output_tokens": count}
        return say(words) | {"usage": usage}

    go(script(reply("One.")), workspace, session)
    go(script(reply("Two.")), workspace, load(session.path), "And now?")
    loaded = load(session.path)
    assert loaded.damage == []
    assert [dict(request.usage) for request in loaded.requests] == [{}, {}]


def test_a_line_with_such_a_count_keeps_its_reply(workspace, session):
    go(script(say("One.")), workspace, session)
    text = session.path.read_text()
    usage = session.requests[0].usage["output_tokens"]
    huge = text.replace(f'"output_tokens": {usage}', f'"output_tokens": 1{"0" * 400}')
    session.path.write_text(huge)
    assert huge != text
    loaded = load(session.path)
    assert [m["role"] for m in loaded.history] == ["user", "assistant"]
    go(script(say("Two.")), workspace, loaded, "And now?")


@pytest.mark.parametrize("field", ["api_key", "auth_token"])
def test_no_result_shows_the_key_or_the_token_in_use(workspace, session, field):
    secret = "oat-secret-token-1234567890"
    (workspace.root / "a.txt").write_text(f"token {secret}")
    api = client(worker(1))
    api.api_key = api.auth_token = None
    setattr(api, field, secret)
    list(loop.Agent(api, workspace, session, SMALL).run("Read a.txt."))
    assert secret not in session.path.read_text()
    assert "[masked: a key]" in session.path.read_text()
