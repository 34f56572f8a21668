"""Lesson 05: the session as a table, its panel, its picture, the killed agent."""

from dataclasses import replace
from html import unescape

import pytest
from pandas import DataFrame

from agentlib.messages import Block, Message
from agentlib.settings import Settings
from agentlib.transcripts import Session
from course.figures import history
from course.rooms.transcripts import (
    ANSWER,
    COLUMNS,
    EXCERPT,
    SHOWN_ROWS,
    as_html,
    matching,
    rows,
    session_browser,
)
from windtunnel.runner import play
from windtunnel.tasks.generated import generated


def say(text: str, *calls: Block) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}, *calls]}


def small() -> Session:
    """The prompt, an exchange, a compaction that keeps the second, and the end."""
    session = Session(session_id="s", settings=Settings())
    session.say("Read both.", at=0)
    for number in (1, 2):
        call = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "bash",
            "input": {},
        }
        session.reply(say(f"Step {number}.", call), at=number)
        text = f"output {number} " * 50
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        session.answer(result, at=number)
    return session


def cleared() -> Session:
    session = small()
    details = {"replacements": {"toolu_1": "[Previous: used bash]"}}
    session.note(
        3,
        {
            "type": "system",
            "subtype": "microcompact_boundary",
            "microcompactMetadata": details,
        },
    )
    session.reply(say("Done."), at=4)
    return session


def compacted() -> Session:
    session = small()
    stays = {"trigger": "auto", "preservedMessages": {"uuids": session.ids[-2:]}}
    summary = "[Conversation compressed. Transcript: x]\n\nAll.\n[End of summary]"
    parts = [{"type": "text", "text": summary}, {"type": "text", "text": "Read both."}]
    session.note(
        3,
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": stays},
        {
            "type": "user",
            "isCompactSummary": True,
            "message": {"role": "user", "content": parts},
        },
    )
    session.reply(say("Done."), at=4)
    return session


def states(session: Session, turn: int) -> list[tuple[int, str, str]]:
    return [
        *rows(session, turn)[["turn", "kind", "state"]].itertuples(
            index=False, name=None
        )
    ]


def test_a_turn_sees_what_was_said_before_it_and_gives_an_answer():
    assert states(compacted(), 2) == [
        (1, "user", "in view"),
        (1, "assistant", "in view"),
        (1, "tool_use", "in view"),
        (1, "tool_result", "in view"),
        (2, "assistant", "the answer"),
        (2, "tool_use", "the answer"),
    ]


def test_what_a_compaction_replaced_says_so_and_the_request_stays():
    assert states(compacted(), 3) == [
        (1, "user", "in view"),  # word for word, beside the summary
        (1, "assistant", "summarised"),
        (1, "tool_use", "summarised"),
        (1, "tool_result", "summarised"),
        (2, "assistant", "in view"),
        (2, "tool_use", "in view"),
        (2, "tool_result", "in view"),
        (3, "summary", "in view"),
        (3, "assistant", "the answer"),
    ]


def test_a_cleared_result_keeps_its_text_and_its_size():
    first, second = matching(rows(cleared(), 3), kind="tool_result").itertuples()
    assert (first.state, second.state) == ("cleared", "in view")
    assert first.text.startswith("output 1")
    assert first.tokens > 100
    assert first.tool == "bash"


def test_a_turn_that_is_not_there_is_refused():
    for turn in (0, 4):
        with pytest.raises(
            ValueError, match=f"no turn {turn}; the session has turns 1 to 3"
        ):
            rows(cleared(), turn)


def test_rows_are_found_by_kind_and_by_text_tool_or_state():
    found = rows(cleared(), 3)
    assert matching(found, text="OUTPUT 2")["turn"].tolist() == [2]
    assert len(matching(found, kind="tool_use")) == 2
    assert len(matching(found, text="bash")) == 4
    assert len(matching(found, text="cleared", kind="tool_result")) == 1
    assert matching(found, text="nowhere").empty


def test_the_panel_does_what_its_controls_say():
    panel = session_browser(cleared())
    assert panel.turn.value == 3
    assert repr(panel).startswith("turn 3, kind all:\n8 of 8 blocks, ")
    panel.kind.value = "tool_result"
    panel.search.value = "output 1"
    assert "turn 3, kind tool_result, search output 1:\n1 of 8 blocks" in repr(panel)
    assert "output 1" in panel.table.value
    assert "Done." not in panel.table.value
    panel.turn.value = 2
    assert "1 of " in panel.text
    assert "1 in view" in panel.text


def test_the_tokens_of_a_turn_add_up_to_what_was_billed_for_its_messages():
    session = cleared()
    session.requests[1] = replace(session.requests[1], usage={"input_tokens": 1_000})
    table = rows(session, 2)
    held = table[table["state"] != ANSWER]["tokens"]
    assert held.sum() == pytest.approx(1_000, abs=len(held))


def row_of(text: str) -> tuple[object, ...]:
    return (1, "tool_result", "bash", 1, "in view", text)


def test_what_a_tool_returned_is_text_and_no_markup():
    many = [row_of("<script>")] * (SHOWN_ROWS + 1)
    shown = as_html(DataFrame(many, columns=COLUMNS))
    assert "<script>" not in shown
    assert shown.count("&lt;script&gt;") == SHOWN_ROWS
    assert "1 more" in shown


def test_a_long_text_is_shown_around_the_words_sought_and_whole_after_a_click():
    whole = "a\n" * 200 + "the Needle" + " b" * 200
    table = DataFrame([row_of(whole)], columns=COLUMNS)
    heads = {}
    for words in ("", "needle"):
        head, fold = as_html(table, words).split("<summary>")[1].split("</summary>")
        heads[words] = head
        assert unescape(fold.split("<pre")[1].partition(">")[2]).startswith(whole)
    assert heads[""] == f"{' '.join(whole.split())[:EXCERPT]}…"
    assert heads["needle"].startswith("…a a")
    assert "the Needle b" in heads["needle"]


def test_a_summary_is_shown_without_its_marks():
    assert matching(rows(compacted(), 3), kind="summary")["text"].item() == "All."


def test_a_session_without_requests_has_no_panel():
    with pytest.raises(ValueError, match="no request yet"):
        session_browser(Session(session_id="s"))


def test_the_history_grows_past_the_view_when_something_is_forgotten():
    session = play(
        generated(0), Settings(manual=False, threshold=50_000).scaled(32_000)
    ).session
    pairs = history.sizes(session)
    assert pairs == sorted(pairs, key=lambda pair: pair[0])
    assert pairs[0][0] == pairs[0][1]
    assert pairs[-1][0] > 2 * pairs[-1][1]
    chart = history.history(session, 9, title="")
    labels = [text.get_text() for text in chart.figure.axes[0].texts]
    assert labels.count("compacted") == len(session.compactions)
