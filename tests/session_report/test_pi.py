"""pi's sessions: what a file says was sent, and what it says was paid.

The format is the one that pi's own source publishes.
"""

from pathlib import Path
from typing import Any

import pytest

import session_report as sessions
from agentlib.messages import of_type, result_text
from offline_api.cache import LONG
from session_report.bills import lifetime
from session_report.overview import STATED
from tests.builders import text
from tests.session_report.session_files import (
    Line,
    at,
    contexts,
    load,
    paid,
    report,
    write,
)


def pi(name: str, second: int, **entry: Any) -> Line:
    kind = {"type": "message"} if "message" in entry else {}
    return {**kind, "id": name, "parentId": None, "timestamp": at(second), **entry}


def pi_reply(name: str, second: int, *content: Line, stop: str = "toolUse") -> Line:
    usage = {
        "input": 3,
        "output": 5,
        "cacheRead": 90,
        "cacheWrite": 7,
        "totalTokens": 105,
    }
    message = {
        "role": "assistant",
        "content": list(content),
        "model": "m",
        "usage": usage,
    }
    return pi(name, second, message={**message, "stopReason": stop})


def pi_call(name: str) -> Line:
    return {
        "type": "toolCall",
        "id": name,
        "name": "read",
        "arguments": {"path": "a.py"},
    }


def pi_result(name: str, second: int, call: str) -> Line:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    message = {
        "role": "toolResult",
        "toolCallId": call,
        "content": [text("x = 1"), image],
    }
    return pi(name, second, message={**message, "isError": False})


HEADER = {
    "type": "session",
    "version": 3,
    "id": "s",
    "timestamp": at(0),
    "cwd": "/repo",
}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "abc"}
PI = [
    HEADER,
    pi("u1", 1, message={"role": "user", "content": "Fix it."}),
    pi_reply("a1", 3, THOUGHT, text("Look."), pi_call("t1")),
    pi_result("r1", 4, "t1"),
    pi("b1", 5, message={"role": "bashExecution", "command": "ls", "output": "a.py"}),
    pi("x1", 6, type="model_change", provider="p", modelId="n"),
    pi_reply("a2", 8, pi_call("t2"), stop="aborted"),
    pi_reply("a3", 9, pi_call("t3")),
    pi_result("r3", 10, "t3"),
    pi(
        "c1",
        11,
        type="compaction",
        summary="Short.",
        firstKeptEntryId="x1",
        tokensBefore=99,
    ),
    pi_reply("a4", 12, text("Done."), stop="stop"),
]


def test_pi_says_what_it_sent_and_paid(tmp_path: Path) -> None:
    session = load(tmp_path, *PI)
    assert contexts(session) == [
        [["Fix it."]],
        *[[["Fix it."], [None, "Look.", "t1"], ["t1"], ["Ran `ls`\na.py"]]] * 2,
        ["summary: Short.", ["t3"], ["t3"]],
    ]
    assert paid(session) == [(3, 7, 90, 5)] * 4
    assert [request.stop_reason for request in session.requests] == [
        "tool_use",
        "aborted",
        "tool_use",
        "end_turn",
    ]
    assert session.requests[0].usage["model"] == "m"
    thinking, *_ = session.history[1]["content"]
    assert thinking == {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
    (kept,) = of_type(session.history[2], "tool_result")
    assert result_text(kept) == "x = 1\n[image]"
    assert session.compactions[0].tokens_before == 99
    assert [request.at % 60 for request in session.requests] == [1, 5, 8, 11]


def test_pi_version_1_names_what_it_kept_by_a_number(tmp_path: Path) -> None:
    entries: list[Line] = [{k: v for k, v in line.items() if k != "id"} for line in PI]
    entries[9] = {**entries[9], "firstKeptEntryIndex": 7}
    del entries[9]["firstKeptEntryId"]
    assert contexts(load(tmp_path, *entries)) == contexts(load(tmp_path, *PI))


def test_pi_keeps_from_the_model_what_the_person_kept_from_it(tmp_path: Path) -> None:
    ran = {
        "role": "bashExecution",
        "command": "ls",
        "output": "a",
        "excludeFromContext": True,
    }
    custom = pi(
        "x",
        3,
        type="custom_message",
        content="A reminder.",
        customType="y",
        display=False,
    )
    branch = pi("y", 4, type="branch_summary", fromId="u1", summary="Tried it.")
    state = pi("z", 5, type="custom", customType="y", data={"content": "no"})
    first = pi("u1", 1, message={"role": "user", "content": [text("Go.")]})
    last = pi_reply("a1", 6, text("Done."), stop="stop")
    session = load(
        tmp_path, HEADER, first, pi("b", 2, message=ran), custom, branch, state, last
    )
    assert contexts(session) == [[["Go."], ["A reminder."], ["Tried it."]]]


# -- what was paid ---------------------------------------------------------------------


def said(number: int, role: str, words: str, **more: Any) -> Line:
    message = {"role": role, "content": [text(words)], **more}
    return pi(f"e{number}", number, message=message)


def answer(
    number: int, stop: str, model: str = "claude-opus-5-5", **usage: Any
) -> Line:
    bill = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, **usage}
    return said(number, "assistant", "Yes.", model=model, stopReason=stop, usage=bill)


def test_pi_may_state_its_dollars_in_parts(tmp_path: Path) -> None:
    cost = {"input": 0.1, "output": 0.2, "cacheRead": None, "cacheWrite": "x"}
    bill = answer(2, "stop", "own", input=1_000, output=500, cost=cost)
    path = write(tmp_path / "p.jsonl", HEADER, said(1, "user", "Go."), bill)
    (row,) = report(path)["kinds"]
    assert row["dollars"] == pytest.approx(0.3)


@pytest.mark.parametrize("stop", ["aborted", "error", "something new"])
def test_a_reply_of_pi_that_ended_early_is_paid_and_not_sent_again(
    tmp_path: Path, stop: str
) -> None:
    lines = [
        HEADER,
        said(1, "user", "Go."),
        answer(2, stop, input=1_000, output=500, cacheWrite=9_000),
        said(3, "user", "Again."),
        answer(4, stop),
        answer(5, "stop", input=10, output=20, cacheRead=10_000),
    ]
    path = write(tmp_path / "p.jsonl", *lines)
    first, last = sessions.load(path).requests
    assert first.stop_reason == stop
    assert [message["role"] for message in last.context] == ["user", "user"]
    (row,) = report(path)["kinds"]
    assert (row["responses"], row["tokens"]) == (2, 20_530)
    assert row["dollars"] == pytest.approx(
        (1_010 * 4 + 520 * 20 + 10_000 * 0.2 + 9_000 * 5) / 1e6
    )
    (note,) = report(path)["not counted"]
    assert note["number"] == 1


def test_pi_says_which_writes_live_an_hour(tmp_path: Path) -> None:
    bill = answer(2, "stop", cacheWrite=10_000, cacheWrite1h=8_000)
    path = write(tmp_path / "p.jsonl", HEADER, said(1, "user", "Go."), bill)
    (row,) = report(path)["kinds"]
    assert row["dollars"] == pytest.approx((2_000 * 5 + 8_000 * 8) / 1e6)
    assert lifetime(sessions.load(path)) == LONG


def test_pi_states_the_dollars_of_a_model_that_the_list_lacks(tmp_path: Path) -> None:
    bill = answer(2, "stop", "own", input=1_000, output=500, cost={"total": 0.014})
    path = write(tmp_path / "p.jsonl", HEADER, said(1, "user", "Go."), bill)
    (row,) = report(path)["kinds"]
    assert row["dollars"] == pytest.approx(0.014)
    assert report(path)["not counted"] == [{"what": STATED, "number": 1}]
