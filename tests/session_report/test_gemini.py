"""gemini-cli's sessions: what a file says was sent and paid, and where it stands.

The format is the one that gemini-cli's own source publishes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import session_report as sessions
from agentlib.messages import of_type, result_text
from tests.session_report.session_files import (
    Line,
    at,
    contexts,
    load,
    paid,
    report,
    write,
)


def gemini(name: str, second: int, kind: str, content: Any, **more: Any) -> Line:
    return {
        "id": name,
        "timestamp": at(second),
        "type": kind,
        "content": content,
        **more,
    }


def tokens(prompt: int, cached: int) -> Line:
    return {
        "input": prompt,
        "cached": cached,
        "output": 5,
        "thoughts": 2,
        "tool": 1,
        "total": 0,
    }


def gemini_call(name: str, *more: Line) -> Line:
    answered = {"id": name, "name": "read_file", "response": {"output": "x = 1"}}
    done = {"result": [{"functionResponse": answered}, *more], "status": "success"}
    return {"id": name, "name": "read_file", "args": {"absolute_path": "a.py"}, **done}


HEAD = {"sessionId": "s", "projectHash": "h", "startTime": at(0), "lastUpdated": at(0)}
MODEL = {"model": "gemini-x"}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
IDEA = {"subject": "Plan", "description": "Read it.", "timestamp": at(2)}
GEMINI = [
    gemini("u1", 1, "user", [{"text": "Fix it."}]),
    gemini("g1", 3, "gemini", "", thoughts=[IDEA], tokens=tokens(100, 60), **MODEL),
    gemini("i1", 4, "info", "Request cancelled."),
    gemini("g2", 6, "gemini", "Done.", tokens=tokens(110, 100), **MODEL),
]
GEMINI[1]["toolCalls"] = [gemini_call("t1", IMAGE), gemini_call("t2")]
WHOLE = {**HEAD, "messages": GEMINI}


def in_lines() -> Iterator[Line]:
    """The same in the newer form, where a message is written again when it has
    changed."""
    yield {**HEAD, "kind": "main"}
    yield {"$set": {"messages": GEMINI[:1]}}
    draft: Line = {**GEMINI[1], "tokens": None, "toolCalls": []}
    yield from (
        draft,
        {"$set": {"lastUpdated": at(3)}},
        {**draft, "tokens": tokens(100, 60)},
    )
    yield from (GEMINI[1], GEMINI[1], *GEMINI[2:], {"$set": {"messages": GEMINI}})


@pytest.mark.parametrize("form", ["indented", "in a line", "in lines"])
def test_gemini_says_what_it_sent_and_paid(tmp_path: Path, form: str) -> None:
    if form == "indented":
        (tmp_path / "session-1.json").write_text(json.dumps(WHOLE, indent=2))
        session = sessions.load(tmp_path / "session-1.json")
    else:
        session = load(tmp_path, *([WHOLE] if form == "in a line" else in_lines()))
    first = [["Fix it."]]
    assert contexts(session) == [first, [*first, [None, "t1", "t2"], ["t1", "t2"]]]
    assert paid(session) == [(41, 0, 60, 7), (11, 0, 100, 7)]
    assert [request.stop_reason for request in session.requests] == [
        "tool_use",
        "end_turn",
    ]
    assert session.requests[0].usage["model"] == "gemini-x"
    assert session.history[1]["content"][0]["thinking"] == "Plan: Read it."
    results = of_type(session.history[2], "tool_result")
    assert list(map(result_text, results)) == ["x = 1\n[image]", "x = 1"]
    assert session.requests[0].at % 60 == 1
    assert session.damage == []


def test_a_history_of_gemini_that_lacks_messages_was_compacted(tmp_path: Path) -> None:
    summary = gemini("n1", 7, "user", [{"text": "Short."}])
    synthetic = gemini("n2", 7, "gemini", "Got it.")
    changed = {
        "$set": {"messages": [summary, synthetic, GEMINI[3]], "lastUpdated": at(7)}
    }
    last = gemini("g3", 9, "gemini", "Bye.", tokens=tokens(50, 0), **MODEL)
    session = load(
        tmp_path, HEAD, *GEMINI, changed, gemini("u2", 8, "user", "And?"), last
    )
    assert contexts(session)[-1] == ["summary: Short.", ["Done."], ["And?"]]
    assert len(session.requests) == 3


def test_gemini_names_project_and_subagent(tmp_path: Path) -> None:
    chats = tmp_path / "tmp/shop/chats"
    for name, kind in (("session-1", "main"), ("g/sub", "subagent")):
        bill = {"input": 1_000, "output": 50, "cached": 0, "thoughts": 0, "tool": 0}
        stamp = f"2026-03-02T10:00:0{len(name) % 9}.000Z"
        head = {"sessionId": name, "projectHash": "h", "kind": kind}
        asked = {"id": "u", "timestamp": stamp, "type": "user", "content": "Go."}
        told = {"id": "m", "timestamp": stamp, "type": "gemini", "content": "Yes."}
        told |= {"tokens": bill, "model": "gemini-x"}
        write(chats / f"{name}.jsonl", head, asked, told)
    tables = report(tmp_path)
    assert [row["project"] for row in tables["projects"]] == ["shop"]
    assert {row["kind"] for row in tables["kinds"]} == {"session", "subagent"}
