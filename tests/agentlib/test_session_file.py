"""The session file: names, permissions, torn lines, Ctrl-C, and what other programs see
in it."""

import html
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib import loop
from agentlib.auto_compact import summary_text
from agentlib.messages import of_type, result_text
from agentlib.session.file import (
    append,
    defer_ctrl_c,
    numbered,
    seconds,
    timestamp,
)
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from tests.builders import call, say
from tests.fakes import Clock, asks_for_summary, client, lines_of, worker
from tests.runs import SMALL, a_session, ctrl_c

posix = pytest.mark.skipif(
    sys.platform == "win32", reason="permissions and limits of POSIX"
)


@posix
def test_only_its_owner_can_read_a_session(tmp_path):
    session = a_session(tmp_path)
    snapshot = Session(session_id="m", archives=tmp_path / "t").archive()
    assert session.path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "t" / snapshot).stat().st_mode & 0o777 == 0o600


@posix
def test_a_new_folder_of_sessions_is_private_and_no_part_of_a_repository(tmp_path):
    folder = a_session(tmp_path / "repository" / ".transcripts").path.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"
    a_session(tmp_path)
    assert not (tmp_path / ".gitignore").exists()


@posix
def test_a_folder_of_sessions_that_a_repository_brought_is_made_private(tmp_path):
    folder = tmp_path / ".transcripts"
    elsewhere = tmp_path / "elsewhere"
    folder.mkdir(mode=0o755)
    elsewhere.write_text("as it was")
    (folder / ".gitignore").symlink_to(elsewhere)
    a_session(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"
    assert elsewhere.read_text() == "as it was"


@posix
def test_a_folder_of_sessions_that_leads_elsewhere_is_refused_by_name(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".transcripts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"\.transcripts is a symlink; remove it"):
        a_session(tmp_path / ".transcripts")
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_sessions_begun_at_once_never_share_a_file(tmp_path):
    paths: list[Path] = []

    def begin() -> None:
        session = Session.create(
            tmp_path, settings=SMALL, clock=lambda: 1_760_000_000.9
        )
        paths.append(session.path)

    threads = [threading.Thread(target=begin) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.name for path in paths} == {
        f"20251009-085320-{n}.jsonl" for n in range(1, 17)
    }
    assert all(len(lines_of(path)) == 1 for path in paths)


def test_an_id_that_has_a_file_is_refused_and_the_file_stays(tmp_path):
    session = a_session(tmp_path)
    before = session.path.read_bytes()
    with pytest.raises(FileExistsError, match=r"s\.jsonl"):
        a_session(tmp_path)
    assert session.path.read_bytes() == before


@given(st.integers(0, 4_000_000_000_000))
def test_times_are_kept_to_the_millisecond(milliseconds):
    at = round(milliseconds / 1000, 3)
    assert seconds(timestamp(at)) == at


def test_ids_of_lines_are_the_same_everywhere_and_never_twice(tmp_path):
    one = a_session(tmp_path / "a")
    two = a_session(tmp_path / "b")
    for session in (one, two):
        for n in range(5):
            session.say(f"words {n}", at=n)
    ids = [line["uuid"] for line in lines_of(one.path)]
    assert ids == [line["uuid"] for line in lines_of(two.path)]
    texts = one.path.read_text(encoding="utf-8").splitlines(keepends=True)
    one.path.write_text("".join(texts[:2] + texts[3:]), encoding="utf-8", newline="\n")
    again = load(one.path)
    again.say("after a line was taken out by hand", at=9)
    assert lines_of(one.path)[-1]["uuid"] not in ids


@pytest.mark.parametrize(
    ("data", "lines", "skipped"),
    [
        (
            b'{"a": 1}{"b": 2} {"c": 3}\n\n{"d": 4}',
            [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}],
            [],
        ),
        (
            '\ufeff{"a": "é\u2028中"}\r\n\r\n{"b": 2}\r\n'.encode(),
            [{"a": "é\u2028中"}, {"b": 2}],
            [],
        ),
        (
            b'[1]\n"text"\nnot json\n\xff\n{"a": 1}',
            [{"a": 1}],
            ["[1]", '"text"', "not json", "�"],
        ),
    ],
    ids=["glued lines", "saved by an editor", "no objects"],
)
def test_every_object_is_read_and_other_text_reported(tmp_path, data, lines, skipped):
    path = tmp_path / "f"
    path.write_bytes(data)
    parts = [part for _, part in numbered(path)]
    assert [p for p in parts if isinstance(p, dict)] == lines
    assert [p for p in parts if isinstance(p, str)] == skipped


def test_a_torn_line_is_closed_before_the_next(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b'{"a": 1}\n{"b": ')
    append(path, [{"c": 3}])
    assert path.read_bytes() == b'{"a": 1}\n{"b": \n{"c": 3}\n'
    assert [part for _, part in numbered(path)] == [{"a": 1}, '{"b":', {"c": 3}]


def test_half_of_a_surrogate_pair_survives(tmp_path):
    session = a_session(tmp_path)
    session.say("cut \ud83d here, 中", at=0)
    assert load(session.path).history == session.history


@posix
def test_a_full_disk_writes_all_lines_or_none(tmp_path):
    import resource

    session = a_session(tmp_path)
    before = session.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 600, hard))
    try:
        with pytest.raises(OSError, match="large"):
            session.say("x" * 1_000, at=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert session.path.read_bytes() == before
    assert session.history == []
    session.say("room again", at=1)
    assert load(session.path).history == session.history
    assert (
        lines_of(session.path)[-1]["parentUuid"] == lines_of(session.path)[-2]["uuid"]
    )


@pytest.mark.parametrize(
    "handler", [signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler]
)
def test_afterwards_ctrl_c_does_what_it_did_before(handler):
    with ctrl_c(handler):
        with defer_ctrl_c():
            assert signal.getsignal(signal.SIGINT) is not handler
        assert signal.getsignal(signal.SIGINT) is handler


def test_ctrl_c_waits_until_the_block_is_done():
    steps = []

    def write() -> None:
        with defer_ctrl_c():
            signal.raise_signal(signal.SIGINT)
            steps.append("written")

    with ctrl_c(), pytest.raises(KeyboardInterrupt):
        write()
    assert steps == ["written"]


def test_a_thread_leaves_ctrl_c_alone():
    handlers = []

    def write() -> None:
        with defer_ctrl_c():
            handlers.append(signal.getsignal(signal.SIGINT))

    with ctrl_c():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert handlers == [signal.default_int_handler]


FIRST = "<{}> is the first line & more\n"


def a_run(folder: Path) -> Session:
    """Clearings, an automatic and a manual compaction, a failed one, two prompts, an
    error."""
    session = a_session(folder)
    clock = Clock()
    failing = iter([say("")])
    read_on = worker(14)

    def brain(body):
        reply = read_on(body)
        if asks_for_summary(body):
            return next(failing, reply)
        if name := reply["content"][-1].get("id"):
            (folder / f"{name}.txt").write_text(
                FIRST.format(name) + "text of the file\n" * 180
            )
            reply["content"][-1]["input"] = {"path": f"{name}.txt"}
        if name == "toolu_12":
            reply["content"] += [
                call("toolu_c", "compact", focus="a.txt"),
                call("toolu_x", "nope"),
            ]
        return reply

    calm = replace(SMALL, emergency_at=None)
    options = {"settings": calm, "session": session, "clock": clock}
    for prompt in ("Read a.txt <again> & again.", "And once more,\nplease."):
        for _ in loop.run(client(brain), prompt, Workspace(folder), **options):
            pass
    return session


def test_the_lines_have_the_fields_and_the_chain_that_readers_look_for(tmp_path):
    lines = lines_of(a_run(tmp_path).path)
    envelope = "parentUuid isSidechain userType cwd sessionId version gitBranch uuid timestamp type"
    assert all(set(envelope.split()) <= set(line) for line in lines)
    by_kind = {line.get("subtype") or line["type"]: line for line in lines}
    assert set(by_kind["agentlib_settings"]) >= {"settings", "system", "tools"}
    assert by_kind["assistant"]["message"]["usage"]["input_tokens"] >= 0
    assert by_kind["assistant"]["message"]["stop_reason"] == "end_turn"
    micro = by_kind["microcompact_boundary"]["microcompactMetadata"]
    assert list(micro["replacements"]) == micro["compactedToolIds"]
    assert {"trigger", "preTokens", "tokensSaved"} <= set(micro)
    assert by_kind["agentlib_compaction_failed"]["compactMetadata"]["failure"]
    compact = by_kind["compact_boundary"]["compactMetadata"]
    assert {"trigger", "preTokens", "postTokens", "focus", "usage", "archive"} <= set(
        compact
    )
    ids = {line["uuid"] for line in lines}
    assert len(ids) == len(lines)
    assert set(compact["preservedMessages"]["uuids"]) <= ids
    for before, line in zip([{"uuid": None}, *lines], lines, strict=False):
        if line.get("subtype") == "compact_boundary":
            assert (line["parentUuid"], line["logicalParentUuid"]) == (
                None,
                before["uuid"],
            )
        else:
            assert line["parentUuid"] == before["uuid"]
        assert ("isCompactSummary" in line) == (
            before.get("subtype") == "compact_boundary"
        )


def shown(session: Session, folder: Path) -> str:
    """The text of the page that claude-code-log makes of a session file."""
    page = folder / "page.html"
    home = {"HOME": str(folder), "USERPROFILE": str(folder), "PYTHONUTF8": "1"}
    command = [
        sys.executable,
        "-m",
        "claude_code_log.cli",
        str(session.path),
        "-o",
        str(page),
    ]
    ran = subprocess.run(
        command, env=os.environ | home, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    text = re.sub(
        r"(?s)<(script|style)\b.*?</\1>", "", page.read_text(encoding="utf-8")
    )
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def test_claude_code_log_shows_everything(tmp_path):
    session = a_run(tmp_path)
    page = shown(session, tmp_path)
    summaries = [summary_text(c.message) for c in session.compactions if c.message]
    results = [r for m in session.history for r in of_type(m, "tool_result")]
    firsts = {result_text(r).split("\n")[0] for r in results}
    assert len(summaries) >= 2
    assert len(firsts) == len(results) == 16
    for prompt in ("Read a.txt <again> & again.", "And once more,", "please."):
        assert prompt in page
    for summary in summaries:
        assert summary.split("\n")[0] in page
        assert summary.split("\n")[-1] in page
    assert [first for first in firsts if first not in page] == []


def test_only_a_durable_line_waits_for_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    path = tmp_path / "a.jsonl"
    path.touch()
    append(path, [{"a": 1}], durable=False)
    assert synced == []
    append(path, [{"b": 2}])
    assert len(synced) == 1
    assert len(path.read_text().splitlines()) == 2
    assert Session.durable
