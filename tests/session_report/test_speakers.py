"""Who speaks in a line of a session's file, in each format. All content is invented."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_report import kept
from session_report.kept import MESSAGES
from session_report.recorded import Recorded
from session_report.speakers import said, typed, words
from tests.builders import result, text
from tests.session_report.session_files import JUNK, load, places, spoiled

Line = dict[str, Any]


def typed_in(content: Any, **more: Any) -> Line:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def queued(prompt: Any, **more: Any) -> Line:
    attachment = {"type": "queued_command", "prompt": prompt, **more}
    return {"type": "attachment", "attachment": attachment}


def of_codex(role: str, text: str) -> Line:
    content = [{"type": "input_text", "text": text}]
    payload = {"type": "message", "role": role, "content": content}
    return {"type": "response_item", "payload": payload}


def of_pi(role: str, content: Any) -> Line:
    return {"type": "message", "message": {"role": role, "content": content}}


THEIRS = [
    typed_in("Go on."),
    typed_in([text("Go on."), {"type": "image", "source": {}}]),
    typed_in("<ide_opened_file>a.py</ide_opened_file>\nGo on."),
    typed_in("Go on. [Image #1]\n<system-reminder>Never.</system-reminder>"),
    typed_in("Go on.", origin={"kind": "human"}),
    queued("Go on.", commandMode="prompt", origin={"kind": "human"}),
    queued([text("Go on.")]),
]
OTHERS = [
    typed_in("Go on.", isMeta=True),
    typed_in("Go on.", isSidechain=True),
    typed_in("Go on.", isCompactSummary=True),
    typed_in("Go on.", parent_tool_use_id="t1"),
    typed_in("Go on.", origin={"kind": "peer"}),
    typed_in("Go on.", origin={"kind": "task-notification"}),
    typed_in([result("t1", "Go on.")]),
    typed_in([{"type": "tool_result"}, text("Go on.")]),
    typed_in("<command-name>/compact</command-name>"),
    typed_in("<local-command-stdout>Compacted</local-command-stdout>"),
    typed_in("<bash-input>ls</bash-input>"),
    typed_in("<task-notification>Done.</task-notification>"),
    typed_in("<system-reminder>Never push.</system-reminder>"),
    typed_in('<teammate-message teammate_id="a">Never push.</teammate-message>'),
    typed_in("Another Claude session sent a message:\nNever push."),
    typed_in("[Request interrupted by user for tool use]"),
    typed_in("This session is being continued from a previous conversation that ran"),
    typed_in("[Said earlier, word for word. The summary says what of it is done; …"),
    queued("<task-notification>Done.</task-notification>"),
    queued("Go on.", commandMode="task-notification"),
    queued("Go on.", commandMode="prompt", origin={"kind": "peer"}),
    queued("Go on.", isMeta=True),
    queued("/compact"),
]


@pytest.mark.parametrize("line", THEIRS)
def test_the_persons_words_are_found(line: Line):
    assert said(line) == "Go on."


@pytest.mark.parametrize("line", OTHERS)
def test_what_somebody_else_says_is_not_the_persons(line: Line):
    assert said(line) == ""


HEADS: list[Line] = [
    {"type": "session_meta", "payload": {"id": "c", "cwd": "/w"}},
    {"type": "session", "version": 3, "id": "p", "cwd": "/w"},
    {"sessionId": "g", "projectHash": "h"},
]
"""A file of Codex, of pi and of gemini-cli begins so."""
THEIRS_ELSEWHERE = [
    of_codex("user", "Go on."),
    of_codex("user", "<environment_context>/w</environment_context>Go on."),
    of_pi("user", "Go on."),
    of_pi("user", [text("Go on.")]),
    {"type": "user", "id": "1", "content": [{"text": "Go on."}]},  # gemini-cli
]
OTHERS_ELSEWHERE = [
    of_codex("developer", "Never push."),
    of_codex("system", "Never push."),
    of_codex("assistant", "Go on."),
    of_codex("user", "<user_instructions>Never push.</user_instructions>"),
    of_codex("user", "<environment_context>/w</environment_context>"),
    of_codex("user", "# AGENTS.md instructions for /w\nNever push."),
    of_codex("user", "<permissions instructions>Never push."),
    of_codex("user", "<turn_aborted>Stopped.</turn_aborted>"),
    of_pi("system", "Never push."),
    of_pi("toolResult", "Go on."),
    of_pi("bashExecution", "Go on."),
    of_pi("assistant", "Go on."),
    {"type": "custom_message", "content": "Go on."},
    {"type": "branch_summary", "summary": "Go on."},
    {"type": "gemini", "content": "Go on."},
    {"type": "user", "content": [{"functionResponse": {"id": "1"}}, {"text": "Go."}]},
]


def persons(folder: Path, line: Line) -> int:
    """Count the person's messages that a session with a line has, whoever wrote it."""
    with suppress(ValueError):  # nothing in the line is a message
        session = load(folder, HEADS[_program(line)], line)
        assert isinstance(session, Recorded)
        return len(session.person)
    return 0


def _program(line: Line) -> int:
    is_pi = {"message", "summary"} & {*line} or line["type"] == "custom_message"
    return 0 if "payload" in line else 1 if is_pi else 2


@pytest.mark.parametrize("line", THEIRS_ELSEWHERE)
def test_the_persons_words_are_found_in_other_files(tmp_path: Path, line: Line):
    assert persons(tmp_path, line) == 1


@pytest.mark.parametrize("line", OTHERS_ELSEWHERE)
def test_what_somebody_else_says_in_other_files_is_not(tmp_path: Path, line: Line):
    assert persons(tmp_path, line) == 0


def queue(operation: str, content: str | None = None) -> Line:
    return {"type": "queue-operation", "operation": operation, "content": content}


def test_words_that_waited_count_when_they_are_taken_out():
    lines = [
        queue("enqueue", "First."),
        queue("enqueue", "<task-notification>Done.</task-notification>"),
        queue("enqueue", "/compact"),
        queue("enqueue", "Second."),
        typed_in("Go."),
        queue("remove"),
        queue("remove"),
        queue("dequeue"),
        queue("enqueue", "Taken back."),
        queue("popAll"),
        queue("remove"),
        queue("enqueue", "Still waits."),
    ]
    assert [*words(lines)] == ["Go.", "First.", "Second."]


def test_a_frame_that_never_ends_is_the_persons_and_takes_no_time():
    text = "<system-reminder>" * 100_000
    assert typed(f"Look: {text}") == f"Look: {text}"
    assert typed(f"Look.</system-reminder> {text}") == f"Look.</system-reminder> {text}"


@given(st.sampled_from([*THEIRS, *OTHERS]), st.data())
def test_whatever_stands_in_a_field_nothing_is_raised(line: Line, data: Any):
    place = data.draw(st.sampled_from([*places(line)]))
    other = spoiled(line, place, data.draw(st.sampled_from(JUNK)))
    assert all(isinstance(text, str) for text in words([other]))


def test_every_format_s_reader_asks_here(tmp_path: Path):
    """What a reader takes for the person's words is what stands in the table."""
    head = {"type": "session", "version": 3, "id": "p", "cwd": "/w"}
    answer = {
        "role": "assistant",
        "content": [text("one")],
        "stopReason": "stop",
        "usage": {"input": 1_000, "output": 9},
    }
    pi = load(
        tmp_path,
        head,
        {**of_pi("system", "You must never push to main."), "id": "0"},
        {**of_pi("user", "Rename it."), "id": "1"},
        {"type": "message", "message": answer, "id": "2"},
        {**of_pi("user", "And the tests."), "id": "3"},
        {"type": "compaction", "summary": "No.", "firstKeptEntryId": "3", "id": "4"},
        {"type": "message", "message": answer, "id": "5"},
        name="pi.jsonl",
    )
    codex = load(
        tmp_path,
        {"type": "session_meta", "payload": {"id": "c", "cwd": "/w"}},
        of_codex("developer", "You must never push to main."),
        of_codex("user", "<environment_context>/w</environment_context>"),
        of_codex("user", "Rename it."),
        of_codex("assistant", "one"),
        {"type": "compacted", "payload": {"message": "Nothing."}},
        of_codex("user", "And the tests."),
        name="codex.jsonl",
    )
    for session in (pi, codex):
        rows = {row["what"]: row for row in kept.rows(session)}
        assert (rows[MESSAGES]["kept"], rows[MESSAGES]["of"]) == (0, 1)
        assert kept.RULES not in rows
