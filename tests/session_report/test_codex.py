"""Codex's rollouts: what a file says was sent and paid, bills in records and sums,
forks, sub-agents, compressed files.

The format is the one that Codex's own source publishes. All content is invented.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

import session_report as sessions
from session_report.objects import TORN
from session_report.one import responses
from tests.session_report.session_files import (
    Line,
    at,
    contexts,
    load,
    paid,
    report,
    write,
)


def codex(second: float, kind: str, **payload: Any) -> Line:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def item(second: float, kind: str, **payload: Any) -> Line:
    return codex(second, "response_item", **{"type": kind, **payload})


def said(second: float, role: str, words: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(second, "message", role=role, content=[{"type": kind, "text": words}])


def called(second: int, name: str) -> Line:
    given = json.dumps({"cmd": "cat a.py"})
    return item(
        second, "function_call", name="exec_command", arguments=given, call_id=name
    )


def output(second: int, name: str, kind: str = "function_call_output") -> Line:
    return item(second, kind, call_id=name, output="x = 1")


def count(second: int, total: int, prompt: int, cached: int = 0, read: int = 0) -> Line:
    """A count of tokens. `total`, `read`: the sums of all prompts so far."""
    last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": 5}
    sums = {"input_tokens": total, "cached_input_tokens": read}
    info = {"total_token_usage": sums, "last_token_usage": last}
    return codex(second, "event_msg", type="token_count", info=info, rate_limits={})


META = codex(0, "session_meta", id="s", cwd="/repo", cli_version="0.104.0")
TURN = codex(1, "turn_context", model="gpt-x", cwd="/repo")
REASONING = item(3, "reasoning", summary=[{"text": "Hm."}], encrypted_content="gAAA")
CODEX = [
    META,
    said(1, "developer", "Be brief."),
    TURN,
    said(1, "user", "Fix it."),
    codex(1, "event_msg", type="user_message", message="Fix it."),
    codex(2, "event_msg", type="token_count", info=None, rate_limits={}),
    REASONING,
    said(4, "assistant", "Look."),
    codex(4, "event_msg", type="agent_message", message="Look."),
    called(4, "t1"),
    called(4, "t2"),
    count(5, 100, 100, 60, 60),
    output(6, "t2"),
    output(7, "t1"),
    count(8, 100, 100, 60, 60),
    item(
        9, "custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="t3"
    ),
    count(10, 210, 110, 100, 160),
    output(11, "t3", "custom_tool_call_output"),
    said(12, "assistant", "Done."),
    count(13, 325, 115, 110, 270),
]


def test_codex_says_what_it_sent_and_paid(tmp_path: Path) -> None:
    session = load(tmp_path, *CODEX)
    first = [["Be brief."], ["Fix it."]]
    second = [*first, [None, "Look.", "t1", "t2"], ["t2", "t1"]]
    assert contexts(session) == [first, second, [*second, ["t3"], ["t3"]]]
    assert paid(session) == [(40, 0, 60, 5), (10, 0, 100, 5), (5, 0, 110, 5)]
    assert session.requests[0].usage["model"] == "gpt-x"
    thinking, _, call, _ = session.requests[0].reply["content"]
    assert thinking == {"type": "thinking", "thinking": "Hm."}
    assert call["input"] == {"cmd": "cat a.py"}
    (patch,) = session.requests[1].reply["content"]
    assert (patch["name"], patch["input"]) == (
        "apply_patch",
        {"input": "*** Begin Patch"},
    )
    assert [request.at % 60 for request in session.requests] == [1, 7, 11]


def test_codex_of_2025_wrote_the_bill_before_the_reply(tmp_path: Path) -> None:
    lines = [META, TURN, said(1, "user", "Fix it."), count(2, 105, 100), REASONING]
    lines += [called(3, "t1"), output(3, "t1"), called(3, "t2"), output(3, "t2")]
    lines += [
        count(4, 215, 110),
        said(5, "assistant", "Done."),
        said(6, "user", "More."),
    ]
    session = load(tmp_path, *lines, count(7, 335, 120), said(8, "assistant", "No."))
    assert [len(request.context) for request in session.requests] == [1, 3, 5]
    assert [prompt for prompt, *_ in paid(session)] == [100, 110, 120]


def test_a_reply_of_codex_that_was_cut_short_has_no_bill(tmp_path: Path) -> None:
    lines = [
        META,
        said(1, "user", "One."),
        said(2, "assistant", "So"),
        said(3, "user", "Two."),
    ]
    session = load(tmp_path, *lines, said(4, "assistant", "Yes."), count(5, 105, 100))
    assert [request.usage.get("input_tokens") for request in session.requests] == [
        None,
        100,
    ]


def test_codex_keeps_what_its_replacement_repeats(tmp_path: Path) -> None:
    kept = [
        said(0, "user", "Fix it.")["payload"],
        said(0, "developer", "Be brief.")["payload"],
    ]
    summary = said(0, "user", "A summary.")["payload"]
    opaque = {"type": "compaction", "encrypted_content": "gAAA"}
    lines = [*CODEX, count(14, 500, 170)]
    compacted = codex(
        15, "compacted", message="", replacement_history=[*kept, summary, opaque]
    )
    last = [
        said(16, "user", "More."),
        said(17, "assistant", "No."),
        count(18, 620, 120),
    ]
    session = load(tmp_path, *lines, compacted, *last)
    assert contexts(session)[-1] == [
        ["Be brief."],
        ["Fix it."],
        "summary: A summary.",
        ["More."],
    ]
    assert [prompt for prompt, *_ in paid(session)] == [40, 10, 5, 120]
    (compaction,) = session.compactions
    assert [usage["input_tokens"] for usage in compaction.usage] == [170]


@pytest.mark.parametrize(
    ("message", "summary"), [("Short.", "Short."), ("", "not in the file")]
)
def test_older_codex_has_only_the_message_and_remote_ones_have_none(
    tmp_path: Path, message: str, summary: str
) -> None:
    lines = [*CODEX, codex(15, "compacted", message=message), said(16, "user", "More.")]
    session = load(tmp_path, *lines, said(17, "assistant", "No."))
    head, _ = contexts(session)[-1]
    assert summary in head


# -- bills, forks and compressed files -------------------------------------------------


def line(minute: float, kind: str, **payload: Any) -> Line:
    return codex(60 * minute, kind, **payload)


def head(name: str, cwd: str = "/home/ada/shop", **more: Any) -> list[Line]:
    return [
        line(0, "session_meta", id=name, cwd=cwd, **more),
        line(0, "turn_context", cwd=cwd, model="gpt-x"),
    ]


def usage(prompt: int, out: int, read: int = 0) -> Line:
    counts = {"input_tokens": prompt, "cached_input_tokens": read}
    return {**counts, "output_tokens": out, "total_tokens": prompt + out}


def bill(minute: float, last: Line | None, total: Line | None) -> Line:
    given = {"last_token_usage": last, "total_token_usage": total}
    info = {name: value for name, value in given.items() if value}
    return line(minute, "event_msg", type="token_count", info=info)


def record(minute: float, name: str, used: Line) -> Line:
    return line(minute, "token_usage_record", response_id=name, usage=used)


def turn(minute: float, text: str, prompt: int, total: int) -> list[Line]:
    return [
        said(60 * minute, "user", f"Ask for {text}."),
        said(60 * (minute + 0.1), "assistant", text),
        bill(minute + 0.2, usage(prompt, 50), usage(total, 50)),
    ]


def sums(*paths: Path) -> tuple[int, int]:
    """Responses and tokens."""
    rows = report(*paths)["kinds"]
    return (
        sum(row["responses"] for row in rows),
        int(sum(row["tokens"] for row in rows)),
    )


PARENT = [*turn(1, "one", 1_000, 1_000), *turn(2, "two", 1_200, 2_200)]


def stamped(minute: float, lines: list[Line]) -> list[Line]:
    """The lines with the time of the fork, as Codex writes them."""
    return [{**each, "timestamp": line(minute, "")["timestamp"]} for each in lines]


@pytest.mark.parametrize(
    "mark",
    [
        {"forked_from_id": "p"},
        {"parent_thread_id": "p", "thread_source": "subagent"},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}},
    ],
)
def test_a_fork_that_is_stamped_anew_counts_its_parent_once(
    tmp_path: Path, mark: Line
) -> None:
    write(tmp_path / "rollout-p.jsonl", *head("p"), *PARENT)
    own = turn(21, "three", 1_500, 3_700)
    for name in ("c", "d"):
        fork = [*head(name, **mark), *stamped(20, PARENT), *own]
        path = write(tmp_path / f"rollout-{name}.jsonl", *fork)
        own = turn(22, "four", 1_500, 3_700)
    assert sums(tmp_path) == (4, 1_050 + 1_250 + 2 * 1_550)
    assert sums(path) == (3, 1_050 + 1_250 + 1_550)  # the parent is not there
    kinds = {row["kind"] for row in report(tmp_path)["kinds"]}
    assert kinds == (
        {"session"} if "forked_from_id" in mark else {"session", "subagent"}
    )


def test_a_fork_of_a_fork_counts_its_ancestors_once(tmp_path: Path) -> None:
    lines = PARENT
    for number, (name, parent) in enumerate((("b", "a"), ("c", "b"))):
        write(tmp_path / f"{parent}.jsonl", *head(parent), *lines) if number == 0 else 0
        more = turn(21 + 10 * number, f"own {name}", 1_500, 3_000 + number)
        lines = [*stamped(20 + 10 * number, lines), *more]
        write(tmp_path / f"{name}.jsonl", *head(name, forked_from_id=parent), *lines)
    assert sums(tmp_path)[0] == 4


def test_equal_sessions_that_are_no_forks_both_count(tmp_path: Path) -> None:
    write(tmp_path / "p.jsonl", *head("p"), *PARENT)
    write(tmp_path / "q.jsonl", *head("q"), *stamped(30, PARENT))
    assert sums(tmp_path)[0] == 4


def test_a_bill_may_be_the_difference_of_two_sums(tmp_path: Path) -> None:
    lines = [
        *turn(1, "one", 0, 0)[:2],
        bill(2, None, usage(1_000, 100)),
        bill(2.1, None, usage(1_000, 100)),  # a copy
        *turn(3, "two", 0, 0)[:2],
        bill(4, None, usage(2_200, 150, 1_000)),
        *turn(5, "three", 0, 0)[:2],
        bill(6, None, usage(500, 10)),  # counted from 0 again
    ]
    path = write(tmp_path / "r.jsonl", *head("p"), *lines)
    bills = [request.usage for request in sessions.load(path).requests]
    assert [bill["input_tokens"] for bill in bills] == [1_000, 200, 500]
    assert [bill["cache_read_input_tokens"] for bill in bills] == [0, 1_000, 0]
    assert [bill["output_tokens"] for bill in bills] == [100, 50, 10]


def test_a_bill_with_nothing_but_a_sum_counts_as_a_prompt(tmp_path: Path) -> None:
    bare = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 51_293}
    lines = [*turn(1, "one", 0, 0)[:2], bill(2, bare, None)]
    assert sums(write(tmp_path / "r.jsonl", *head("p"), *lines)) == (1, 51_293)


@pytest.mark.parametrize("more", [{}, {"reasoning_output_tokens": 20}])
@pytest.mark.parametrize("order", ["record first", "count first", "record alone"])
def test_a_record_and_its_count_are_one_bill(
    tmp_path: Path, order: str, more: Line
) -> None:
    lines = list[Line]()
    for number, minute in enumerate((1, 3)):
        used = usage(1_000, 50)
        total = usage(1_000 * (number + 1), 50 * (number + 1))
        both = [
            record(minute + 0.3, f"r{number}", used),
            bill(minute + 0.3, {**used, **more}, total),
        ]
        both = {"record first": both, "count first": both[::-1]}.get(order, both[:1])
        lines += [*turn(minute, f"{minute}", 0, 0)[:2], *both]
    assert sums(write(tmp_path / "r.jsonl", *head("p"), *lines)) == (2, 2_100)


def test_a_record_that_is_written_twice_was_paid_once(tmp_path: Path) -> None:
    lines = [*turn(1, "one", 0, 0)[:2], *[record(1.3, "r1", usage(1_000, 50))] * 2]
    lines += [*turn(2, "two", 0, 0)[:2], record(2.3, "r2", usage(1_000, 50))]
    assert sums(write(tmp_path / "r.jsonl", *head("p"), *lines)) == (2, 2_100)


def test_a_compaction_is_paid_by_its_record_and_so_is_what_nobody_shows(
    tmp_path: Path,
) -> None:
    used = usage(200_000, 3_000, 199_000)
    said_first = [{"type": "input_text", "text": "Ask for one."}]
    kept = [
        {"type": "message", "role": "user", "content": said_first},
        {"type": "compaction", "encrypted_content": "AAAA"},
    ]
    compacted = line(3, "compacted", message="", replacement_history=kept)
    title = record(5, "rt", usage(70, 7))
    lines = [*turn(1, "one", 200_000, 200_000), record(2.9, "rc", used), compacted]
    lines += [*turn(4, "two", 9_000, 209_000), title]
    path = write(tmp_path / "r.jsonl", *head("p"), *lines)
    assert sums(path) == (2, 200_050 + 203_000 + 9_050 + 77)
    (compaction,) = sessions.load(path).compactions
    assert compaction.usage[0]["cache_read_input_tokens"] == 199_000
    # The compaction explains the fall, so it is no silent one.
    assert [row["gone"] for row in responses(sessions.load(path))] == [0, 0]


def test_the_model_changes_with_the_settings_of_the_thread(tmp_path: Path) -> None:
    change = {"type": "thread_settings_applied", "thread_settings": {"model": "gpt-y"}}
    lines = [*PARENT[:3], line(1.5, "event_msg", **change), *PARENT[3:]]
    path = write(tmp_path / "r.jsonl", *head("p"), *lines)
    assert [request.usage["model"] for request in sessions.load(path).requests] == [
        "gpt-x",
        "gpt-y",
    ]


def test_a_project_is_the_folder_that_codex_worked_in(tmp_path: Path) -> None:
    for month, name in ((2, "shop"), (3, "bank")):
        folder = tmp_path / f"2026/{month:02d}/02"
        lines = [*head(name, f"/home/ada/{name}"), *stamped(month, PARENT)]
        write(folder / f"rollout-{name}.jsonl", *lines)
    assert {row["project"] for row in report(tmp_path)["projects"]} == {"shop", "bank"}


def test_projects_of_one_name_are_told_apart(tmp_path: Path) -> None:
    places = ("/home/ada/shop", "/home/bob/shop", "C:\\Users\\ada\\bank\\", "")
    for number, place in enumerate(places):
        lines = [*head(f"{number}", place), *stamped(number, PARENT)]
        write(tmp_path / f"here/rollout-{number}.jsonl", *lines)
    names = {row["project"] for row in report(tmp_path)["projects"]}
    assert names == {"ada/shop", "bob/shop", "bank", "here"}


def test_a_compressed_rollout_is_listed_and_read(tmp_path: Path) -> None:
    path = write(tmp_path / "old/rollout-a.jsonl.zst", *head("a"), *PARENT)
    write(tmp_path / "rollout-b.jsonl", *head("b"), *stamped(30, PARENT))
    assert sums(tmp_path) == (4, 2 * (1_050 + 1_250))
    told = list[int]()
    sessions.load(path, told.append)
    assert sum(told) == path.stat().st_size


def test_a_torn_compressed_rollout_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    lines = [*head("a"), *PARENT, *turn(5, "long " * 9_000, 1_000, 9_000)]
    path = write(tmp_path / "rollout-a.jsonl.zst", *lines)
    packed = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    first = "".join(f"{json.dumps(each)}\n" for each in [*head("a"), *PARENT])
    begun = packed.compress(first.encode()) + packed.flush(
        zstandard.COMPRESSOBJ_FLUSH_BLOCK
    )
    path.write_bytes(begun)
    session = sessions.load(path)
    assert len(session.requests) == 2
    assert session.skipped
    path.write_bytes(begun[:8])
    write(tmp_path / "rollout-b.jsonl", *head("b"), *PARENT)
    unread = report(tmp_path)["unread"]
    assert [row["file"] for row in unread] == [str(path)]
    assert unread[0]["reason"].endswith(f"can't be read: {TORN}")
