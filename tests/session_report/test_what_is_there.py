"""What is found, whatever its place and its encoding, and what is said of the rest."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import zstandard

import session_report as sessions
from session_report.__main__ import main
from session_report.formats import claude_code
from session_report.overview import FALLS, GONE, overview, what_is_there
from session_report.report import of_overview
from tests.builders import text
from tests.session_report import session_files
from tests.session_report.session_files import Line, at, report, write
from tests.session_report.test_pi import HEADER, pi, pi_reply

USAGE = {"input_tokens": 1_000, "output_tokens": 100}


def said(name: str, second: float, **more: Any) -> Line:
    return session_files.said(second, **{"uuid": f"u{name}", **more})


def reply(name: str, second: float, usage: Line = USAGE, **more: Any) -> Line:
    message = {"id": name, "role": "assistant", "model": "claude-opus-5-5", **more}
    message |= {"content": [text("Yes.")], "usage": usage, "stop_reason": "end_turn"}
    line = {"type": "assistant", "uuid": f"a{name}", "timestamp": at(second)}
    return {**line, "requestId": f"r{name}", "message": message}


def counted(folder: Path) -> Line:
    (row,) = report(folder)["kinds"]
    return row


def run(*arguments: object) -> str:
    """Run the command, and return all that it says, on one line."""
    with (
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(out),
        pytest.raises(SystemExit),
    ):
        main([*map(str, arguments), "--jobs", "1"])
    return " ".join(out.getvalue().split())


# -- where files are -------------------------------------------------------------------


def test_folders_behind_links_are_read_and_no_folder_twice(tmp_path: Path) -> None:
    write(tmp_path / "away" / "s.jsonl", said("1", 0), reply("1", 1))
    home = tmp_path / "home"
    write(home / "p" / "t.jsonl", said("2", 0), reply("2", 1))
    (home / "linked").symlink_to(tmp_path / "away")
    (home / "p" / "round").symlink_to(home)
    found = [path.relative_to(home).as_posix() for path in sessions.files([home])]
    assert found == ["linked/s.jsonl", "p/t.jsonl"]


def test_claude_codes_folder_is_where_its_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "one" / "projects" / "s.jsonl", said("1", 0), reply("1", 1))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path / 'one'},{tmp_path / 'two'}")
    places = claude_code.places()
    assert places == [tmp_path / name / "projects" for name in ("one", "two")]
    (tmp_path / "two" / "projects").mkdir(parents=True)
    assert "for 1 response, 1 session." in run()


def test_a_session_is_found_by_an_id_in_its_file(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", said("1", 0, sessionId="5f1c"), reply("1", 1))
    write(tmp_path / "b.jsonl", said("2", 0, sessionId="77aa"), reply("2", 1))
    assert "1 response, 1 session" in run(tmp_path, "--session", "77")
    assert "0 sessions have an id" in run(tmp_path, "--session", "99")


# -- what is no session ----------------------------------------------------------------


def test_a_folder_without_sessions_says_what_it_has(tmp_path: Path) -> None:
    for name in ("ui_messages.json", "history.json", "x.db"):
        (tmp_path / name).write_text("{}")
    assert "3 files (2 .json, 1 .db)" in what_is_there(tmp_path)
    assert "3 files (2 .json, 1 .db)" in run(tmp_path)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            {"type": "user", "message": {"role": "user", "parts": [{"text": "a"}]}},
            "'type', 'message'",
        ),
        (
            {"type": "message", "id": "1", "message": {"role": "user", "content": "a"}},
            "'type', 'id', 'message'",
        ),
    ],
)
def test_another_programs_file_is_taken_for_nobodys(
    line: Line, fields: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=fields):
        sessions.load(write(tmp_path / "s.jsonl", line))


def test_a_database_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(ValueError, match="SQLite database"):
        sessions.load(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_file_that_powershell_wrote_is_read(encoding: str, tmp_path: Path) -> None:
    lines = [said("1", 0), reply("1", 1)]
    content = "\r\n".join(map(json.dumps, lines))
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "s.jsonl").write_bytes(f"{mark}{content}".encode(encoding))
    assert counted(tmp_path)["tokens"] == 1_100


@pytest.mark.parametrize("content", [b"a", b'{"type": "x"}\n'])
def test_a_small_file_of_gigabytes_is_refused_and_named(
    content: bytes, tmp_path: Path
) -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    part = content * (2**24 // len(content))
    packed = b"".join(packer.compress(part) for _ in range(64)) + packer.flush()
    (tmp_path / "huge.jsonl.zst").write_bytes(packed)
    assert len(packed) < 2**20
    write(tmp_path / "good.jsonl", said("1", 0), reply("1", 1))
    shown = run(tmp_path)
    assert "1 response, 1 session" in shown
    assert "huge.jsonl.zst first: it unpacks to more than 200 times its size" in shown


# -- what the file says and the sums don't ---------------------------------------------


def test_one_late_clock_moves_no_other_response(tmp_path: Path) -> None:
    late = {**said("2", 10), "timestamp": "2027-08-01T10:00:00Z"}
    lines = [said("1", 0), reply("1", 1), late, reply("2", 12), reply("3", 20)]
    days = report(write(tmp_path / "s.jsonl", *lines))["days"]
    assert [(row["day"], row["responses"]) for row in days] == [("2026-01-01", 3)]


def test_a_programs_own_total_is_compared(tmp_path: Path) -> None:
    total = {"type": "cost-state", "totalCostUSD": 0.009}
    path = write(tmp_path / "s.jsonl", said("1", 0), reply("1", 1), total)
    (row,) = report(path)["stated"]
    assert (row["stated"], row["dollars"]) == (0.009, pytest.approx(0.006))
    assert "Claude Code itself counted $0.0090 in the 1 session" in run(path)
    equal = {**total, "totalCostUSD": 0.006}
    path = write(tmp_path / "t.jsonl", said("1", 0), reply("1", 1), equal)
    assert "itself counted" not in run(path)


def test_subagents_whose_files_are_gone_are_counted(tmp_path: Path) -> None:
    result = {"toolUseResult": {"agentId": "g1", "totalTokens": 58_300}}
    write(tmp_path / "s.jsonl", said("1", 0), reply("1", 1), said("2", 2, **result))
    assert {"what": GONE, "number": 58_300} in report(tmp_path)["not counted"]
    write(tmp_path / "s/subagents/agent-g1.jsonl", said("3", 0), reply("3", 1))
    notes = [row["what"] for row in report(tmp_path).get("not counted", [])]
    assert GONE not in notes


def test_a_prompt_that_the_api_has_cut_is_no_silent_fall(tmp_path: Path) -> None:
    cut = {"applied_edits": [{"type": "clear_tool_uses_20250919"}]}
    before = {"input_tokens": 50_000, "output_tokens": 5}
    for name, more in (("cut", {"context_management": cut}), ("silent", {})):
        lines = [said("1", 0), reply("1", 1, before), said("2", 2)]
        path = write(tmp_path / f"{name}.jsonl", *lines, reply("2", 3, **more))
        events = [row["what"] for row in report(path).get("events", [])]
        assert (FALLS in events) == (name == "silent")


def test_what_was_written_counts_without_its_sum(tmp_path: Path) -> None:
    split = {"ephemeral_5m_input_tokens": 2_000, "ephemeral_1h_input_tokens": 500}
    line = reply("1", 1, {**USAGE, "cache_creation": split})
    row = counted(write(tmp_path / "s.jsonl", said("1", 0), line))
    paid = 1_000 * 4 + 100 * 20 + 2_000 * 5 + 500 * 8
    assert (row["tokens"], row["dollars"]) == (3_600, pytest.approx(paid / 1e6))


# -- pi --------------------------------------------------------------------------------


def beside(counts: int, **entry: Any) -> Line:
    return pi("b", 3, usage={"input": counts, "output": 5}, **entry)


@pytest.mark.parametrize(
    "entry",
    [
        beside(2_000, type="usage", kind="cache_warm", model="claude-opus-5-5"),
        beside(2_000, type="branch_summary", summary="Tried."),
        pi(
            "b",
            3,
            message={
                "role": "toolResult",
                "toolCallId": "c",
                "content": [text("x")],
                "usage": {"input": 2_000, "output": 5},
            },
        ),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_pis_requests_beside_replies_are_paid(
    entry: Line, is_last: bool, tmp_path: Path
) -> None:
    lines = [
        HEADER,
        pi("1", 1, message={"role": "user", "content": "Go."}),
        pi_reply("2", 2, text("Yes."), stop="stop"),
        pi("3", 4, message={"role": "user", "content": "On."}),
        pi_reply("4", 5, text("Done."), stop="stop"),
    ]
    lines.insert(5 if is_last else 3, entry)
    row = counted(write(tmp_path / "s.jsonl", *lines))
    assert (row["responses"], row["tokens"]) == (2, 2 * 105 + 2_005)


def test_a_context_that_pi_edited_is_no_silent_fall(tmp_path: Path) -> None:
    first = pi_reply("2", 2, text("Yes."), stop="stop")
    first["message"]["usage"] = {"input": 9_000, "output": 5}
    lines = [
        HEADER,
        pi("1", 1, message={"role": "user", "content": "Go."}),
        first,
        pi("e", 3, type="context_edit", targetId="1", replacement="cut"),
        pi("3", 4, message={"role": "user", "content": "On."}),
        pi_reply("4", 5, text("Done."), stop="stop"),
    ]
    tables = of_overview(overview([write(tmp_path / "s.jsonl", *lines)], jobs=1))
    assert not tables.get("events")
