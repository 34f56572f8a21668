"""Codex's rollouts: bills in records and sums, forks, sub-agents, compressed files. All
content is invented."""

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

import session_report as sessions
from session_report.overview import overview
from session_report.report import of_overview

Line = dict[str, Any]


def line(minute: float, kind: str, **payload: Any) -> Line:
    stamp = f"2026-03-02T10:{int(minute):02d}:{60 * (minute % 1):06.3f}Z"
    return {"timestamp": stamp, "type": kind, "payload": payload}


def head(name: str, cwd: str = "/home/ada/shop", **more: Any) -> list[Line]:
    return [
        line(0, "session_meta", id=name, cwd=cwd, **more),
        line(0, "turn_context", cwd=cwd, model="gpt-x"),
    ]


def item(minute: float, role: str, text: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return line(minute, "response_item", type="message", role=role, content=content)


def usage(prompt: int, out: int, read: int = 0) -> Line:
    counts = {"input_tokens": prompt, "cached_input_tokens": read}
    return {**counts, "output_tokens": out, "total_tokens": prompt + out}


def count(minute: float, last: Line | None, total: Line | None) -> Line:
    given = {"last_token_usage": last, "total_token_usage": total}
    info = {name: value for name, value in given.items() if value}
    return line(minute, "event_msg", type="token_count", info=info)


def record(minute: float, name: str, used: Line) -> Line:
    return line(minute, "token_usage_record", response_id=name, usage=used)


def turn(minute: float, text: str, prompt: int, total: int) -> list[Line]:
    return [
        item(minute, "user", f"Ask for {text}."),
        item(minute + 0.1, "assistant", text),
        count(minute + 0.2, usage(prompt, 50), usage(total, 50)),
    ]


def write(path: Path, *lines: Line) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(each)}\n" for each in lines)
    if path.suffix == ".zst":
        path.write_bytes(zstandard.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def report(*paths: Path) -> Line:
    return of_overview(overview(paths, jobs=1))


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
        count(2, None, usage(1_000, 100)),
        count(2.1, None, usage(1_000, 100)),  # a copy
        *turn(3, "two", 0, 0)[:2],
        count(4, None, usage(2_200, 150, 1_000)),
        *turn(5, "three", 0, 0)[:2],
        count(6, None, usage(500, 10)),  # counted from 0 again
    ]
    path = write(tmp_path / "r.jsonl", *head("p"), *lines)
    bills = [request.usage for request in sessions.load(path).requests]
    assert [bill["input_tokens"] for bill in bills] == [1_000, 200, 500]
    assert [bill["cache_read_input_tokens"] for bill in bills] == [0, 1_000, 0]
    assert [bill["output_tokens"] for bill in bills] == [100, 50, 10]


def test_a_bill_with_nothing_but_a_sum_counts_as_a_prompt(tmp_path: Path) -> None:
    bare = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 51_293}
    lines = [*turn(1, "one", 0, 0)[:2], count(2, bare, None)]
    assert sums(write(tmp_path / "r.jsonl", *head("p"), *lines)) == (1, 51_293)


@pytest.mark.parametrize("order", ["record first", "count first", "record alone"])
def test_a_record_and_its_count_are_one_bill(tmp_path: Path, order: str) -> None:
    lines = list[Line]()
    for number, minute in enumerate((1, 3)):
        used, total = usage(1_000, 50), usage(1_000 * (number + 1), 50 * (number + 1))
        both = [
            record(minute + 0.3, f"r{number}", used),
            count(minute + 0.3, used, total),
        ]
        both = {"record first": both, "count first": both[::-1]}.get(order, both[:1])
        lines += [*turn(minute, f"{minute}", 0, 0)[:2], *both]
    assert sums(write(tmp_path / "r.jsonl", *head("p"), *lines)) == (2, 2_100)


def test_a_compaction_is_paid_by_its_record_and_so_is_what_nobody_shows(
    tmp_path: Path,
) -> None:
    used = usage(200_000, 3_000, 199_000)
    kept = [{"type": "compaction", "encrypted_content": "AAAA"}]
    compacted = line(3, "compacted", message="Short.", replacement_history=kept)
    title = record(5, "rt", usage(70, 7))
    lines = [*turn(1, "one", 200_000, 200_000), record(2.9, "rc", used), compacted]
    lines += [*turn(4, "two", 9_000, 209_000), title]
    path = write(tmp_path / "r.jsonl", *head("p"), *lines)
    assert sums(path) == (2, 200_050 + 203_000 + 9_050 + 77)
    (compaction,) = sessions.load(path).compactions
    assert compaction.usage[0]["cache_read_input_tokens"] == 199_000


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
    assert "compressed" in unread[0]["reason"]
