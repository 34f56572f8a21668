"""Lesson 05: the session as a table, the panel around it, the killed agent, notes in a file."""

from pathlib import Path

import pytest

from agentlib import transcripts
from agentlib.lab.crash import kill_while_it_waits
from agentlib.lab.lessons.exercises import paper_lines
from agentlib.lab.panels.lessons import SHOWN_ROWS, as_html, session_browser
from agentlib.lab.sessions.table import Row, matching, rows
from agentlib.lab.tasks.scenarios import FACTS, RENAME, RULE, taking_notes
from agentlib.messages import Block, Message, of_type
from agentlib.settings import Settings
from agentlib.transcripts import Session


def say(text: str, *calls: Block) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}, *calls]}


def small() -> Session:
    """The prompt, an exchange, a compaction that keeps the second, and the end."""
    session = Session(session_id="s", settings=Settings())
    session.say("Read both.", at=0)
    for number in (1, 2):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "bash", "input": {}}
        session.reply(say(f"Step {number}.", call), at=number)
        text = f"output {number} " * 50
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
        session.answer(result, at=number)
    return session


def cleared() -> Session:
    session = small()
    details = {"replacements": {"toolu_1": "[Previous: used bash]"}}
    session._write(
        3, {"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": details}
    )
    session.reply(say("Done."), at=4)
    return session


def compacted() -> Session:
    session = small()
    stays = {"trigger": "auto", "preservedMessages": {"uuids": session._ids[-2:]}}
    summary = "[Conversation compressed. Transcript: x]\n\nAll.\n[End of summary]"
    parts = [{"type": "text", "text": summary}, {"type": "text", "text": "Read both."}]
    session._write(
        3,
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": stays},
        {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": parts}},
    )
    session.reply(say("Done."), at=4)
    return session


def states(session: Session, turn: int) -> list[tuple[int, str, str]]:
    return [(row.turn, row.kind, row.state) for row in rows(session, turn)]


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
    first, second = (row for row in rows(cleared(), 3) if row.kind == "tool_result")
    assert (first.state, second.state) == ("cleared", "in view")
    assert first.text.startswith("output 1")
    assert first.tokens > 100
    assert (first.who, first.tool) == ("tool", "bash")


def test_ten_lines_on_paper_are_five_messages_said_and_three_sent():
    sizes = []
    session = Session(session_id="paper")
    for line in paper_lines():
        session.fold(line)
        sizes.append((len(session.history), len(session.context)))
    assert sizes[:7] == [(0, 0), (1, 1), (2, 2), (3, 3), (3, 3), (4, 4), (5, 5)]
    assert sizes[7:] == [(5, 5), (5, 5), (5, 3)]
    assert session.recall("toolu_1") == "import re"


def test_a_turn_that_is_not_there_is_refused():
    for turn in (0, 4):
        with pytest.raises(ValueError, match=f"no turn {turn}; the session has turns 1 to 3"):
            rows(cleared(), turn)


def test_rows_are_found_by_kind_and_by_text_tool_or_state():
    found = rows(cleared(), 3)
    assert [row.turn for row in matching(found, text="OUTPUT 2")] == [2]
    assert len(matching(found, kind="tool_use")) == 2
    assert len(matching(found, text="bash")) == 4
    assert len(matching(found, text="cleared", kind="tool_result")) == 1
    assert matching(found, text="nowhere") == []


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


def test_what_a_tool_returned_is_text_and_no_markup():
    known = {"turn": 1, "who": "tool", "kind": "tool_result", "tool": "bash", "tokens": 1}
    many = [Row(state="in view", text="<script>", **known)] * (SHOWN_ROWS + 1)
    shown = as_html(many)
    assert "<script>" not in shown
    assert shown.count("&lt;script&gt;") == SHOWN_ROWS
    assert "1 more" in shown


def test_a_long_text_is_shown_around_the_words_sought():
    known = {"turn": 1, "who": "tool", "kind": "tool_result", "tool": "bash", "tokens": 1}
    row = Row(state="in view", text="a\n" * 200 + "the Needle" + " b" * 200, **known)
    assert "the Needle b" in as_html([row], "needle")
    assert "Needle" not in as_html([row])
    assert ">a a a" in as_html([row])
    assert ">…a a" in as_html([row], "needle")


def test_a_session_without_requests_has_no_panel():
    with pytest.raises(ValueError, match="no request yet"):
        session_browser(Session(session_id="s"))


def test_an_agent_killed_while_it_waits_leaves_a_whole_file_and_a_call_in_flight(tmp_path: Path):
    assert kill_while_it_waits(tmp_path, 2) != 0
    session = transcripts.load(tmp_path / "killed.jsonl")
    assert (len(session.pending), session.skipped) == (1, [])
    assert [block["name"] for block in of_type(session.history[-1], "tool_use")] == ["bash"]
    assert RENAME.checks(tmp_path / "work", session.history)["renamed"] == 2


def test_notes_are_asked_for_with_the_first_work_or_with_the_second_or_never():
    asked = {
        when: ["NOTES.md" in prompt for prompt in taking_notes(when).prompts]
        for when in ("never", "in time", "too late")
    }
    assert asked["never"] == [False, False, False]
    assert asked["in time"] == [True, False, False]
    assert asked["too late"] == [False, True, False]


def test_notes_and_report_are_held_to_the_planted_facts(tmp_path: Path):
    (tmp_path / "NOTES.md").write_text(f"- {FACTS[0]}\n- {FACTS[2]}\n", encoding="utf-8")
    (tmp_path / "REPORT.md").write_text(f"{RULE}\n\n- {FACTS[0]}\n", encoding="utf-8")
    found = taking_notes("never").checks(tmp_path, [])
    assert found == {"done": True, "in the notes": 2, "in the report": 1, "rule kept": True}
