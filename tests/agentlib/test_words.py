"""What the person said stays: in one block beside each summary, from the session's record."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib import presets
from agentlib.auto_compact import (
    SummaryFailed,
    check_summary,
    summary_message,
    summary_text,
    with_words,
)
from agentlib.compaction.around import Hooks, preview
from agentlib.compaction.events import left_out
from agentlib.estimation import TokenMeter, estimate_text
from agentlib.loop import Agent, equipped, turns
from agentlib.messages import (
    PINNED,
    SAID,
    Message,
    blocks,
    is_summary,
    not_said,
    of_type,
    said,
    said_block,
    said_in,
    waiting,
    words,
)
from agentlib.pipeline import Now, compact
from agentlib.session.extras import Extra
from agentlib.session.undo import undo
from agentlib.settings import Settings
from agentlib.transcripts import Session, load
from session_report.kept import EARLIER, compacted
from session_report.playback import replay
from tests.builders import assistant, call, conversation, say, user
from tests.fakes import Clock, asks_for_summary, client, worker
from tests.runs import SMALL, go, state
from tests.strategies import histories, short

WORDS = replace(SMALL, words_tokens=400)
SUMMARY = summary_message("Read.", "t")
KEY = "ghp_" + "a1" * 18

texts = st.lists(
    st.one_of(
        st.text(st.characters(codec="utf-8"), max_size=40),
        st.text("word 字 \n", min_size=150, max_size=3_000),
        st.sampled_from(["Go on.", "[said] Go.", SAID, "[... 3 more don't fit ...]"]),
    ).filter(str.strip),
    max_size=12,
)


def block_of(message: Message) -> list[str]:
    """The texts that stand beside a summary, and the count of the others."""
    return [text for block in blocks(message) for text in said_in(block)]


def in_context(session: Session) -> list[str]:
    return [text for message in session.context for text in block_of(message)]


# -- one block ---------------------------------------------------------------------------


@given(texts.filter(bool))
def test_a_block_read_and_made_again_is_the_same(said_before):
    block = said_block(said_before)
    assert said_block(said_in(block)) == block


@given(texts, st.integers(0, 1_500))
def test_the_block_is_within_its_budget_whatever_was_said(given_texts, most):
    first, *new = blocks(with_words(SUMMARY, given_texts, most))
    assert first == blocks(SUMMARY)[0]
    assert len(new) <= 1
    assert sum(estimate_text(block["text"], "user") for block in new) <= most


@given(
    st.lists(st.integers(1, 90), min_size=1, max_size=12),
    st.integers(0, 1_500),
    st.sets(st.integers(0, 11)),
    st.lists(st.integers(0, 11), max_size=3),
)
def test_the_block_has_each_text_once_the_first_and_the_newest_in_order(
    sizes, most, elsewhere, again
):
    spoken = [f"Text {n}: " + "word " * size for n, size in enumerate(sizes)]
    stay = [text for n, text in enumerate(spoken) if n in elsewhere]
    repeated = [spoken[n] for n in again if n < len(spoken)]
    texts = [text for text in spoken if text not in stay]
    shown = block_of(with_words(SUMMARY, [*spoken, *repeated], most, stay))
    counts = [number for number in map(not_said, shown) if number]
    there = [text for text in shown if not not_said(text)]
    places = [next(n for n, t in enumerate(texts) if t[:9] == s[:9]) for s in there]
    newest = [place for place in places if place]
    assert places == sorted({*places})
    assert newest == [*range(len(texts) - len(newest), len(texts))]
    assert sum(counts) == (len(texts) - len(there) if shown else 0)
    assert all(
        s == texts[p] for s, p in zip(there, places, strict=True) if len(s) < 200
    )
    if len(texts[0:1]) and len(texts[0]) <= 200 and most >= 150:
        assert 0 in places


def test_the_first_words_have_their_room_before_the_newest():
    many = [f"Request {n}: " + "go on with it " * 8 for n in range(40)]
    shown = block_of(with_words(SUMMARY, many, 400))
    count = not_said(shown[1])
    assert shown[0] == many[0]
    assert shown[2:] == many[1 + count :]
    assert 1 + count + len(shown[2:]) == 40


def test_a_long_text_keeps_both_ends_with_a_mark_that_counts():
    long = "a" * 3_000 + "b" * 3_000
    first, *_ = block_of(with_words(SUMMARY, [long, "Go on."], 400))
    head, mark, tail = first.split("\n")
    assert {*head} == {"a"}
    assert {*tail} == {"b"}
    assert mark == f"[... {6_000 - len(head) - len(tail)} characters trimmed ...]"
    assert 100 < estimate_text(first, "user") <= 200  # half of the room


def test_a_text_that_fits_stays_whole_however_long_it_is():
    long = "word " * 240
    assert block_of(with_words(SUMMARY, [long], 420)) == [long]


def test_without_room_for_a_count_there_is_no_block():
    assert with_words(SUMMARY, ["word " * 200], 40) == SUMMARY


def test_what_had_no_room_before_is_counted_with_the_rest():
    many = ["First.", "[... 7 more don't fit ...]", *(f"{n} " * 60 for n in range(9))]
    shown = block_of(with_words(SUMMARY, many, 200))
    assert shown[0] == "First."
    assert not_said(shown[1]) == 7 + 9 - len(shown[2:])
    assert f" {not_said(shown[1])} " in left_out(with_words(SUMMARY, many, 200))


def test_keys_are_masked():
    assert block_of(with_words(SUMMARY, [f"Use {KEY}."], 200)) == [
        "Use [masked: GitHub token]."
    ]


def test_the_block_is_no_words_unless_the_person_pasted_it():
    block = said_block(["Go."])
    pasted = user(block["text"])
    assert words(pasted) == []
    assert words(pasted, [block["text"]]) == [block["text"]]
    assert waiting([user(SUMMARY["content"][0]["text"], block["text"], "Now?")]) == [
        (0, "Now?")
    ]


def test_a_summary_is_compared_without_the_block():
    replaced = conversation(3, 200)
    large = with_words(summary_message("x" * 400, "t"), ["word " * 300], 500)
    check_summary(large, replaced)
    with pytest.raises(SummaryFailed):
        check_summary(summary_message("x" * 4_000, "t"), [*replaced, large])


# -- in a step ---------------------------------------------------------------------------


def now_of(messages: list[Message], settings: Settings, **more: Any) -> Now:
    given_parts: dict[str, Any] = {"summarize": short, "archive": lambda: "t"}
    meter = TokenMeter()
    return Now(messages, settings, meter=meter, reason="manual", **given_parts, **more)


@given(histories(min_size=1), st.sampled_from(sorted(presets.ALL)), st.booleans())
def test_every_word_stands_in_the_view_once(history, name, is_recorded):
    settings = replace(presets.ALL[name].scaled(4_000), words_tokens=100_000)
    spoken = said(history)
    now = now_of(history, settings, said=spoken if is_recorded else None)
    view = compact(now).applied(history)
    shown = said(view)
    assert sorted({*shown}) == sorted({*spoken})
    in_blocks = [text for message in view for text in block_of(message)]
    beside = [text for message in view for text in words(message)]
    assert not {*in_blocks} & {*beside}
    assert in_blocks == [t for t in dict.fromkeys(spoken) if t in in_blocks]


@given(histories(min_size=1), st.sampled_from(sorted(presets.ALL)))
def test_without_the_setting_nothing_is_put_beside_a_summary(history, name):
    settings = replace(presets.ALL[name].scaled(4_000), words_tokens=0)
    view = compact(now_of(history, settings, said=["Before."])).applied(history)
    assert [text for message in view for text in block_of(message)] == []


def test_the_block_is_the_second_and_words_that_wait_are_the_last():
    messages = [
        user("First."),
        assistant("Done."),
        *conversation(3, 200),
        assistant("Yes."),
        user("Why?"),
        assistant("I see.", call("t")),
        user({"type": "tool_result", "tool_use_id": "t", "content": "ok"}),
    ]
    step = compact(now_of(messages, replace(WORDS, keep_exchanges=0)))
    assert step.summary
    summary, block, *rest = blocks(step.summary)
    assert is_summary(summary)
    assert said_in(block) == ["First.", "Read every file."]
    assert [each["text"] for each in rest] == ["Why?"]


def test_own_notes_and_messages_cut_to_size_leave_the_words_to_the_block():
    messages = [*conversation(2), assistant("Done."), user("Now b."), assistant("Yes.")]
    noted = "- [request] Read every file.\nFile 0.\n- [request] Now c."
    cut = f"[No summary: refused. What was said stands here.]\n{noted}"
    own = replace(WORDS, session_memory=True)
    for settings, summary, left in (
        (own, noted, "File 0.\n- [request] Now c."),
        (WORDS, cut, cut.replace("- [request] Read every file.\n", "")),
        (WORDS, noted, noted),
    ):
        now = now_of(messages, settings)
        step = compact(now.asking(lambda messages, focus, text=summary: text))
        assert step.summary
        assert block_of(step.summary) == ["Read every file.", "Now b."]
        assert summary_text(step.summary) == left


# -- in a session ------------------------------------------------------------------------

RULE = "Rule: never push.\nSay so if somebody asks for it."


def compacted_often(workspace: Any, session: Session, times: int, **more: Any) -> Agent:
    """A session in which the person speaks before each of so many compactions."""
    settings = more.get("settings", WORDS)
    for n in range(times):
        said_now = f"{RULE}" if n == 0 else f"Request {n}: read it once more."
        go(worker(2, f"t{n}"), workspace, session, said_now, settings=settings)
        agent = Agent(
            client(worker(0)), workspace, session, settings, clock=Clock(2e9 + n)
        )
        agent.compact_now()
    return agent


@pytest.mark.parametrize("times", [1, 3, 5])
def test_a_later_compaction_has_the_words_as_whole_as_the_first(
    workspace, session, times
):
    compacted_often(workspace, session, times)
    assert sum(c.message is not None for c in session.compactions) >= times
    spoken = [RULE, *(f"Request {n}: read it once more." for n in range(1, times))]
    assert session.said() == spoken
    assert in_context(session) == spoken
    loaded = load(session.path)
    assert state(loaded) == state(session)
    assert loaded.said() == spoken


def test_a_replay_has_the_same_blocks(workspace, session):
    compacted_often(workspace, session, 3)
    go(worker(2, "end"), workspace, session, "And now?", settings=WORDS)
    loaded = load(session.path)
    frames = replay(loaded, WORDS)
    assert [f.context for f in frames] == [r.context for r in loaded.requests]
    assert any(said_in(b) for f in frames for m in f.context for b in blocks(m))
    without = replay(loaded, SMALL)
    assert not any(said_in(b) for f in without for m in f.context for b in blocks(m))


def test_the_report_counts_words_in_the_block_as_kept(workspace, session):
    compacted_often(workspace, session, 3)
    *_, last = compacted(load(session.path))
    assert last.items[EARLIER] == [RULE, "Request 1: read it once more."]
    assert last.kept[EARLIER] == [True, True]


def test_an_older_session_gets_its_words_at_the_next_compaction(workspace, session):
    compacted_often(workspace, session, 2, settings=SMALL)
    assert in_context(session) == []
    agent = Agent(client(worker(0)), workspace, session, WORDS, clock=Clock(3e9))
    list(agent.run("And now?"))
    agent.compact_now()
    assert in_context(session) == [RULE, "Request 1: read it once more.", "And now?"]


def test_a_preview_shows_the_block_and_an_undo_takes_it_back(workspace, session):
    settings = replace(WORDS, context_window=16_000)
    go(worker(2), workspace, session, RULE, settings=settings)
    agent = Agent(client(worker(0)), workspace, session, settings, clock=Clock(2e9))
    step = preview(agent)
    assert step.summary
    assert block_of(step.summary) == [RULE]
    agent.compact_now()
    assert in_context(session) == [RULE]
    undo(agent)
    assert in_context(session) == []
    assert session.said() == [RULE]


def test_an_emptied_context_begins_again_without_the_words_before(workspace, session):
    compacted_often(workspace, session, 2)
    session.note(3e9, {"type": "system", "subtype": Extra.EMPTIED})
    go(worker(2, "new"), workspace, session, "Another task.", settings=WORDS)
    agent = Agent(client(worker(0)), workspace, session, WORDS, clock=Clock(4e9))
    agent.compact_now()
    assert in_context(session) == ["Another task."]


def test_the_programs_own_words_are_not_the_persons(workspace, session):
    session.say("Go on.", at=1.0, is_person=False)
    session.say("[Left out, to fit: why?]", at=2.0)
    assert session.said() == ["[Left out, to fit: why?]"]


def test_pinned_lines_stand_behind_the_block_and_are_not_in_it(workspace, session):
    first, second = RULE.splitlines()
    go(worker(2), workspace, session, RULE, settings=WORDS)
    go(worker(1, "b"), workspace, session, "Now b.", settings=WORDS)
    for lines, left in (([first], [RULE, "Now b."]), ([first, second], ["Now b."])):
        hooks = Hooks(pin=lambda messages, lines=lines: lines)
        agent = equipped(
            client(worker(0)),
            workspace,
            session,
            settings=WORDS,
            clock=Clock(2e9),
            hooks=hooks,
        )
        agent.compact_now()
        summary = session.compactions[-1].message
        assert summary
        assert block_of(summary) == left
        assert blocks(summary)[2]["text"] == "\n".join([PINNED, *lines])
        go(worker(1, "c"), workspace, session, "Now b.", settings=WORDS)


def test_the_person_is_told_what_had_no_room(workspace, session):
    tight = replace(SMALL, words_tokens=80)
    for n in range(3):
        go(
            worker(1, f"t{n}"),
            workspace,
            session,
            f"{n}: " + "word " * 30,
            settings=tight,
        )
    agent = equipped(
        client(worker(6, "end")), workspace, session, settings=tight, clock=Clock(2e9)
    )
    events = [event for turn in turns(agent, "And now?") for event in turn.events]
    done = [event.text for event in events if event.kind == "compaction_done"]
    assert done
    summaries = [c.message for c in session.compactions if c.message]
    left = [left_out(summary) for summary in summaries]
    assert all(left)
    assert all(text.endswith(end) for text, end in zip(done, left, strict=True))


# -- nothing is done twice because of it -------------------------------------------------


def eager(body: dict[str, Any]) -> Any:
    """A model that carries out every request that it sees as one, each once an exchange."""
    if asks_for_summary(body):
        return say("## Accomplished\nDeleted old.log.")
    messages = body["messages"]
    done = [b["input"]["command"] for m in messages for b in of_type(m, "tool_use")]
    seen = [
        text.removeprefix("Run ")
        for message in messages
        if message["role"] == "user"
        for text in words(message)
        if text.startswith("Run ")
    ]
    for command in seen:
        if command not in done:
            return say(call(f"t{len(messages)}{len(str(messages))}", command=command))
    return say("Done.")


@pytest.mark.parametrize("name", sorted(presets.ALL))
def test_a_finished_request_is_not_carried_out_again(workspace, session, name):
    settings = replace(presets.ALL[name].scaled(4_000), words_tokens=400)
    go(eager, workspace, session, "Run echo one", settings=settings)
    agent = Agent(client(eager), workspace, session, settings, clock=Clock(2e9))
    agent.compact_now()
    start = len(session.history)
    go(eager, workspace, session, "Run echo two", settings=settings)
    ran = [
        block["input"]["command"]
        for message in session.history[start:]
        for block in of_type(message, "tool_use")
    ]
    assert ran == ["echo two"]
