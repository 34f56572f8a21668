"""The one runner: what a run comes to, and each part of the agent replaced by a
function."""

import json
import os
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from agentlib.auto_compact import SummaryFailed, auto_compact, summary_message
from agentlib.compaction.around import Hooks
from agentlib.estimation import estimate_tokens, prompt_tokens
from agentlib.manual_compact import requested_focus
from agentlib.messages import active_request, of_type
from agentlib.micro_compact import micro_compact
from agentlib.settings import MODEL, Settings
from agentlib.tools import result
from course.naive_loop import bare, needs
from offline_api.faults import Fault
from tests.builders import call, say
from tests.runs import ERRAND
from windtunnel.parts import PartFailed, layer_of
from windtunnel.runner import Run, asked_at, keep_runs, outcomes, play
from windtunnel.tasks.scenarios import RENAME, SURVEY, TRACE
from windtunnel.tasks.varied import rename

START = Settings(auto=False, manual=False).scaled(32_000)
OFF = Settings(enabled=False).scaled(32_000)
TIGHT = replace(Settings(micro="off", manual=False).scaled(32_000), threshold=1_200)
"""In TRACE it compacts twice."""


def fails(*given):
    return given[99]


def failure(task=TRACE, settings=TIGHT, **parts) -> PartFailed:
    with pytest.raises(PartFailed) as caught:
        play(task, settings, **parts)
    return caught.value


SMALLER = rename(Random(2), "rename")


def kept(keep_recent: int) -> Run:
    return play(SMALLER, replace(START, keep_recent=keep_recent))


def test_a_run_that_meets_the_wall_says_so_in_the_apis_words():
    run = play(RENAME, OFF)
    assert run.refused == "prompt is too long: 36535 tokens > 32000 maximum"
    assert run.ended == f"400 {run.refused}"
    assert not run.checks["done"]


def test_a_request_too_large_to_be_sent_ends_the_run():
    long = replace(TRACE, prompts=("word " * 40_000,))
    assert play(long, START).refused.startswith("the request alone is about ")


def test_the_same_arguments_give_the_run_that_was_made_before():
    down = Fault("529", only="summary")
    assert kept(5) is kept(5)
    assert play(TRACE, TIGHT, faults=[down]) is play(TRACE, TIGHT, faults=[down])
    assert play(TRACE, TIGHT, faults=[down]) is not play(TRACE, TIGHT)


def test_dollars_are_those_of_a_named_model():
    assert 0 < kept(5).dollars(MODEL) < kept(3).dollars(MODEL)
    with pytest.raises(ValueError, match="'a model without a price'"):
        kept(5).dollars("a model without a price")


def test_the_table_has_a_row_a_turn_and_bills_what_was_sent():
    table = kept(5).table()
    assert len(table) == kept(5).turns
    assert table["tokens"].sum() == kept(5).sent
    assert list(table["tokens"]) == kept(5).sizes


def test_a_part_that_there_is_not_is_named():
    with pytest.raises(TypeError, match="play takes no layerz; it takes loop, tools"):
        play(TRACE, START, layerz=list)
    with pytest.raises(TypeError, match="save and load go together"):
        play(TRACE, START, save=save)


def test_events_are_lines_with_their_turn():
    late = replace(START, auto=True, threshold=27_000)
    run = play(SMALLER, late, faults=[Fault("too_long", at=12, only="turn")])
    (done,) = run.events("compaction_done")
    assert done.startswith("turn 12: compaction_done: reactive: ")
    assert done in run.events()
    assert run.checks["done"]


def test_an_interrupt_of_the_model_ends_the_run_and_another_one_passes():
    def answer(body):
        raise KeyboardInterrupt

    assert play(TRACE, START, model=answer).ended == "KeyboardInterrupt"
    with pytest.raises(KeyboardInterrupt):
        play(replace(TRACE, make_workspace=lambda folder: answer({})), START)


def test_stop_ends_the_run_and_max_turns_is_for_each_prompt():
    run = play(
        TRACE,
        START,
        stop=lambda session: "enough" if len(session.requests) == 3 else "",
    )
    assert (run.ended, run.turns) == ("enough", 3)
    two = replace(TRACE, prompts=TRACE.prompts * 2)
    assert play(two, START, max_turns=(1, 2)).turns == 3


def test_compacting_by_hand_needs_a_turn_to_do_it_after():
    assert play(ERRAND, START, compact_after=8).step.compaction == "manual"
    with pytest.raises(ValueError, match="after turn 0: the task has turns 1 to"):
        play(TRACE, START, compact_after=0)


# -- a loop, a tool --------------------------------------------------------------------


def plain(messages, ask, workspace):
    while messages[-1]["role"] == "user":
        reply = ask(messages)
        messages.append({"role": "assistant", "content": reply["content"]})
        if calls := of_type(messages[-1], "tool_use"):
            results = [result(call, workspace) for call in calls]
            messages.append({"role": "user", "content": results})
            yield prompt_tokens(reply["usage"])


def test_a_loop_runs_the_agent():
    run = play(TRACE, OFF, loop=plain)
    assert run.checks["done"]
    assert run.ended == ""
    assert run.session.history == run.session.context
    assert run.turns == play(TRACE, OFF).turns
    assert run.sizes == sorted(run.sizes) == list(run.table()["tokens"])


def test_a_learners_loop_asks_for_no_cache_and_is_billed_without_it():
    plainly = play(TRACE, OFF, loop=plain)
    marked = play(TRACE, OFF)
    assert plainly.sizes == marked.sizes
    assert not any(usage["cache_read_input_tokens"] for usage in plainly.usages)
    assert plainly.dollars(MODEL) > marked.dollars(MODEL)


def test_a_loop_without_an_end_is_stopped():
    def on(messages, ask, workspace):
        while True:
            ask(messages[:1])

    run = play(TRACE, OFF, loop=on, max_turns=7)
    assert (run.turns, run.ended, run.repeated) == (7, "7 turns", 6)


def test_a_tool_gets_the_text_of_the_file_and_its_text_is_the_result():
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    }
    tool = {
        "name": "outline",
        "description": "Lists functions.",
        "input_schema": schema,
    }

    def answer(body):
        if len(body["messages"]) > 1:
            return say("Done.")
        return say(call("", "outline", path="fetcher/client.py"))

    def outline(source):
        return "\n".join(
            line for line in source.splitlines() if line.startswith("def ")
        )

    run = play(TRACE, START, tools=[(tool, outline)], model=answer)
    assert run.session.history[2]["content"][0]["content"] == "def fetch(url, get):"
    assert tool in run.session.tools
    assert "`fails`" in str(failure(tools=[(tool, fails)], model=answer))


# -- an estimate -----------------------------------------------------------------------


def test_an_estimate_decides_when_it_is_time():
    twice = play(TRACE, TIGHT, estimate=lambda messages: 2 * estimate_tokens(messages))
    half = play(TRACE, TIGHT, estimate=lambda messages: estimate_tokens(messages) / 2)
    assert len(twice.session.compactions) > len(half.session.compactions) == 0


def test_an_estimate_may_ask_for_the_last_bill():
    seen = []

    def next_prompt(billed, sent, messages):
        seen.append((billed, sent, len(messages)))
        return billed + estimate_tokens(messages[sent:])

    run = play(TRACE, START, estimate=next_prompt)
    assert {(0, 0, 1), (run.sizes[0], 1, 3)} <= set(seen)


# -- a layer that clears ---------------------------------------------------------------


def test_a_layer_clears_as_the_finished_one_does():
    layer = layer_of(partial(micro_compact, keep_recent=5))
    mine = play(SMALLER, START, layers=[layer])
    finished = kept(5)
    assert mine.sizes == finished.sizes
    assert mine.checks == finished.checks
    assert list(mine.table()["cleared"]) == list(finished.table()["cleared"])


def test_a_layer_may_edit_the_messages_and_then_the_history_has_lost_them():
    def in_place(messages):
        for message in messages:
            for block in of_type(message, "tool_result"):
                block["content"] = "gone"

    run = play(TRACE, START, layers=[layer_of(in_place)], max_turns=9)
    results = [r for m in run.session.history for r in of_type(m, "tool_result")]
    assert {r["content"] for r in results} == {"gone"}


# -- a layer that compacts -------------------------------------------------------------


def with_request(messages, summary):
    return [summary_message(summary, "t", active_request(messages))]


def test_a_summary_takes_the_place_of_the_messages():
    run = play(TRACE, TIGHT, layers=[layer_of(with_request, given="summary")])
    assert run.checks["done"]
    assert {made.trigger for made in run.session.compactions} == {"auto"}
    assert (
        run.table()["compaction"].eq("auto").sum() == len(run.session.compactions) > 0
    )
    assert [len(sent.context) for sent in run.session.requests].count(1) > 1


def test_a_compaction_may_ask_for_the_summary_itself_or_do_without():
    def asks(messages, summarize):
        return auto_compact(messages, lambda m, focus: summarize(m), lambda: "t")

    run = play(TRACE, TIGHT, layers=[layer_of(asks, given="summarize")])
    assert run.checks["done"]
    assert run.session.compactions
    every = play(TRACE, TIGHT, layers=[layer_of(lambda messages: messages)])
    assert not every.session.compactions


def test_what_breaks_a_rule_of_the_api_is_sent_as_it_is():
    def newest(messages, keep=9):
        return messages[-keep:]

    run = play(TRACE, TIGHT, layers=[layer_of(partial(newest, keep=1))])
    assert run.refused.startswith("messages")
    assert len(run.session.requests[-1].context) == 1


# -- the compact call ------------------------------------------------------------------


def test_the_compact_call_is_read_by_the_learners_function():
    settings = Settings(micro="off").scaled(32_000)
    mine = play(ERRAND, settings, on_compact_call=requested_focus)
    assert mine.session.context == play(ERRAND, settings).session.context
    never = play(ERRAND, settings, on_compact_call=lambda messages: None)
    assert not never.session.compactions
    assert never.sent > mine.sent
    assert "returned 3" in str(
        failure(ERRAND, settings, on_compact_call=lambda messages: 3)
    )


# -- what writes and reads a session ---------------------------------------------------


def save(messages, folder, now):
    path = folder / f"transcript_{int(now)}.jsonl"
    path.write_text(
        "".join(f"{json.dumps(message)}\n" for message in messages), "utf-8"
    )
    return path


def load(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_run_goes_on_from_what_was_saved_and_loaded():
    run = play(TRACE, START, save=save, load=load, resume_after=3)
    assert run.session.history == play(TRACE, START).session.history
    assert run.checks["done"]


# -- a summariser ----------------------------------------------------------------------


def test_a_summariser_asks_and_may_fail():
    calls = []

    def careful(messages, focus, ask):
        calls.append(len(messages))
        if len(calls) == 1:
            raise SummaryFailed("not today")
        return ask(messages, focus)

    run = play(TRACE, TIGHT, summarize=careful)
    assert [made.failure for made in run.session.compactions][:2] == ["not today", None]
    assert run.checks["done"]
    nothing = play(TRACE, TIGHT, summarize=lambda messages, focus, ask: "")
    failures = {made.failure for made in nothing.session.compactions}
    assert len(failures) == 1
    assert "empty" in failures.pop()


# -- a function that raises ------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    [
        "loop",
        "estimate",
        "layer_of",
        "layer_of that compacts",
        "on_compact_call",
        "save",
        "load",
        "summarize",
    ],
)
def test_a_part_that_raises_stops_the_run_and_is_named_with_its_line(part: str):
    pair = {"save": save, "load": load, "resume_after": 3}
    given = {
        "save": {**pair, "save": fails},
        "load": {**pair, "load": fails},
        "layer_of": {"layers": [layer_of(fails)]},
        "layer_of that compacts": {"layers": [layer_of(fails, given="summary")]},
    }
    failed = failure(**given.get(part, {part: fails}))
    line = fails.__code__.co_firstlineno + 1
    assert str(failed).startswith("`fails` raised IndexError")
    assert str(failed).endswith(f"in line {line}: return given[99]")
    assert isinstance(failed.__cause__, IndexError)


# -- parts that are wrong --------------------------------------------------------------


def forgets_the_reply(messages, ask, workspace):
    calls = of_type({"content": ask(messages)["content"]}, "tool_use")
    results = [result(call, workspace) for call in calls]
    messages.append({"role": "user", "content": results})
    ask(messages)


WRONG = {
    "loop": {"loop": forgets_the_reply},
    "a layer": {"layers": [layer_of(lambda messages: messages[-1:])]},
    "a layer that compacts": {
        "layers": [
            layer_of(
                lambda m, summary: [summary_message(summary, "t"), m[-1]],
                given="summary",
            )
        ]
    },
    "load": {"save": save, "load": lambda path: load(path)[2:], "resume_after": 3},
}


@pytest.mark.parametrize("part", WRONG)
def test_a_part_that_is_wrong_is_refused_by_the_api(part: str):
    assert "unexpected `tool_use_id`" in play(TRACE, TIGHT, **WRONG[part]).refused


def test_a_compaction_that_returns_nothing_is_named():
    layer = layer_of(lambda messages, summary: None, given="summary")
    assert str(failure(layers=[layer])).startswith("`<lambda>` returned")


# -- the bare loop ---------------------------------------------------------------------


def test_the_bare_loop_sends_what_its_layer_returns_and_the_history_stays_whole():
    run = bare(TRACE, lambda messages: messages[-3:], START)
    assert run.refused.startswith("messages.0.content.0: unexpected `tool_use_id`")
    assert len(run.session.context) == 3
    assert run.session.history[0] == {"role": "user", "content": TRACE.prompts[0]}


def test_the_bare_loop_ends_by_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("course.naive_loop.MAX_TURNS", 9)
    run = bare(TRACE, lambda messages: messages[:1], START)
    assert (run.turns, run.repeated) == (9, 8)
    with pytest.raises(
        PartFailed, match=r"`fails` raised IndexError.*: return given\[99\]"
    ):
        bare(TRACE, fails, START)


def test_a_layer_made_of_what_it_needs_gets_the_task_done():
    is_full, ask = needs(replace(START, threshold=1_200))
    asked = []

    def layer(messages):
        if not is_full(messages):
            return messages
        asked.append(len(messages))
        return [summary_message(ask(messages), "t", active_request(messages))]

    assert bare(TRACE, layer, START).checks["done"]
    assert asked


# -- faults ----------------------------------------------------------------------------

MOST = Settings(
    micro="off", manual=False, threshold_pct=65, summary_tokens=12_500
).scaled(32_000)


def test_outcomes_and_requests_are_counted_by_what_the_session_notes():
    down = Fault("529", only="summary")
    session = play(SURVEY, replace(MOST, threshold=10_000), faults=(down,)).session
    assert outcomes(session) == {"failed": 3, "cut to size": 1}
    assert asked_at(session) == [9, 10, 11]  # what was cut to size was not asked for


def test_notes_are_put_back_and_outlive_the_summaries():
    short, [rule, *_] = replace(MOST, summary_tokens=300), SURVEY.prompts
    assert not play(SURVEY, short).checks["rule kept"]
    hooks = Hooks(restore=(lambda messages: [("NOTES.md", f"- [rule] {rule}\n")],))
    run = play(SURVEY, short, hooks=hooks)
    assert run.checks["rule kept"]
    assert "[Put back: NOTES.md]" in str(run.session.compactions[0].message)


def test_a_keeper_is_asked_for_each_offline_run_that_can_be_kept(monkeypatch):
    kept = []
    monkeypatch.setattr("windtunnel.runner._keeper", [])

    def keep(arguments, make):
        kept.append(arguments)
        return make()

    keep_runs(keep)
    settings = Settings(context_window=31_000)
    assert play(TRACE, settings) is play(TRACE, settings)
    play(TRACE, settings, layers=[layer_of(list)])
    assert [arguments[:2] for arguments in kept] == [(TRACE, settings)]


def test_a_run_waits_for_no_disk(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("it waits for the disk"))
    run = play(TRACE, Settings(keep_recent=17).scaled(32_000))
    assert run.session.requests
