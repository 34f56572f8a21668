"""What pi's and gemini-cli's files say beside the conversation. All content is
invented."""

import json
from pathlib import Path
from typing import Any

import pytest

import session_report as sessions
from offline_api.cache import LONG
from session_report.bills import lifetime
from session_report.overview import STATED, overview
from session_report.report import of_overview

Line = dict[str, Any]


def write(path: Path, *lines: Line) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return path


def report(path: Path) -> Line:
    return of_overview(overview([path], jobs=1))


def pi(number: int, role: str, text: str, **more: Any) -> Line:
    stamp = f"2026-03-02T10:{number:02d}:00.000Z"
    content = [{"type": "text", "text": text}]
    entry = {"type": "message", "id": f"e{number}", "timestamp": stamp}
    return {**entry, "message": {"role": role, "content": content, **more}}


def answer(
    number: int, stop: str, model: str = "claude-opus-5-5", **usage: Any
) -> Line:
    bill = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, **usage}
    return pi(number, "assistant", "Yes.", model=model, stopReason=stop, usage=bill)


HEAD = {"type": "session", "version": 3, "id": "p", "cwd": "/home/ada/shop"}


@pytest.mark.parametrize("stop", ["aborted", "error", "something new"])
def test_a_reply_of_pi_that_ended_early_is_paid_and_not_sent_again(
    tmp_path: Path, stop: str
) -> None:
    lines = [
        HEAD,
        pi(1, "user", "Go."),
        answer(2, stop, input=1_000, output=500, cacheWrite=9_000),
        pi(3, "user", "Again."),
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
    path = write(tmp_path / "p.jsonl", HEAD, pi(1, "user", "Go."), bill)
    (row,) = report(path)["kinds"]
    assert row["dollars"] == pytest.approx((2_000 * 5 + 8_000 * 8) / 1e6)
    assert lifetime(sessions.load(path)) == LONG


def test_pi_states_the_dollars_of_a_model_that_the_list_lacks(tmp_path: Path) -> None:
    bill = answer(2, "stop", "own", input=1_000, output=500, cost={"total": 0.014})
    path = write(tmp_path / "p.jsonl", HEAD, pi(1, "user", "Go."), bill)
    (row,) = report(path)["kinds"]
    assert row["dollars"] == pytest.approx(0.014)
    assert report(path)["not counted"] == [{"what": STATED, "number": 1}]


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
