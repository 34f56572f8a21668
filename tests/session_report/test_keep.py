"""The hook that puts words back, in whatever it is thrown. All content is invented."""

import json
import os
import re
import statistics
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib import messages
from agentlib.messages import SAID
from session_report import keep, load
from session_report.keep import LIMIT, block, lines_of, read
from session_report.kept import EARLIER, MESSAGES, sums
from tests.builders import text
from tests.key_shapes import shapes
from tests.packages import PYTHONPATH
from tests.session_report.session_files import JUNK, Line, places, said, spoiled, write
from tests.session_report.test_session_report import boundary, reply, run

PROGRAM = [sys.executable, "-m", "session_report.keep"]
GOOD = [
    said(0, "Mend the shop."),
    reply(1, text("On it.")),
    said(2, "Never touch main.py!"),
]
END = "\n[End of what was said earlier]"
PUT_BACK = f"{SAID}\n[said] Mend the shop.\n[said] Never touch main.py!{END}"


def units(shown: str) -> int:
    return len(shown.encode("utf-16-le")) // 2


def start(given: bytes, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    return subprocess.run(
        [*PROGRAM, "hook"], input=given, env=environment, timeout=60, **more
    )


def event(path: object, **more: Any) -> bytes:
    about = {"hook_event_name": "SessionStart", "source": "compact"}
    return json.dumps({**about, "transcript_path": str(path), **more}).encode()


def put_back(path: Path) -> str:
    """Return what the hook puts back, through the whole program."""
    done = start(event(path), capture_output=True, check=True)
    assert done.stderr == b""
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    return output["additionalContext"]


def context(*texts: str, event: str = "SessionStart") -> Line:
    """Return the line by which Claude Code notes what hooks put into the context."""
    kind = {"type": "hook_additional_context", "hookEvent": event}
    return {"type": "attachment", "attachment": {**kind, "content": [*texts]}}


def has_run(stdout: str) -> Line:
    kind = {"type": "hook_success", "hookEvent": "SessionStart", "stdout": stdout}
    return {"type": "attachment", "attachment": kind}


# -- the text --------------------------------------------------------------------------


def test_the_hook_puts_the_persons_words_back_in_the_order_said(tmp_path: Path):
    reminder = "<system-reminder>Mind.</system-reminder>"
    others = [said(3, reminder), said(4, "A skill.", isMeta=True)]
    path = write(tmp_path / "s.jsonl", *GOOD, *others, context(f"{SAID}\n[said] No."))
    assert put_back(path) == PUT_BACK


def test_it_has_the_form_of_the_words_that_our_own_summaries_keep():
    shown = messages.said_block(["Mend the shop.", "Never touch main.py!"])
    assert shown["text"] == PUT_BACK


def test_the_first_words_have_their_room_then_come_the_newest():
    said = [f"{number}. {'word ' * 30}".strip() for number in range(100)]
    lines = block(said).removesuffix(END).split("\n")
    newest = len(lines) - 3
    assert lines[:3] == [
        SAID,
        f"[said] {said[0]}",
        f"[... {99 - newest} more don't fit ...]",
    ]
    assert lines[3:] == [f"[said] {each}" for each in said[-newest:]]
    assert LIMIT - 200 < units(block(said)) < LIMIT


def test_a_long_text_keeps_both_ends_and_the_mark_counts():
    paste = "".join(f"{number:06d}" for number in range(20_000))
    shown = block(["Mend it.", paste, "Go on."])
    assert "[said] Mend it.\n[said] 000000000001" in shown
    assert shown.endswith(f"019999\n[said] Go on.{END}")
    [count] = re.findall(r"\[\.\.\. (\d+) characters trimmed \.\.\.\]", shown)
    assert len(shown) < LIMIT
    head, _, tail = shown.partition("Mend it.\n[said] ")[2].partition(f"\n[... {count}")
    tail = tail.partition("\n")[2].removesuffix(f"\n[said] Go on.{END}")
    assert len(head) + int(count) + len(tail) == len(paste)


def test_a_text_that_fits_is_never_cut():
    said = ["a" * 4_000, "b" * 4_000]
    assert block(said) == f"{SAID}\n[said] {said[0]}\n[said] {said[1]}{END}"


@pytest.mark.parametrize("secret", [key for _, key in [*shapes()][:8]])
def test_keys_are_masked(secret: str):
    assert secret not in block([f"Use {secret}."])
    assert "[masked: " in block([f"Use {secret}."])


@given(st.lists(st.text() | st.text().map(lambda part: part * 400), max_size=60))
def test_it_always_has_fewer_than_9_000_units_and_can_be_sent(said: list[str]):
    shown = block(said)
    assert units(shown) < LIMIT
    assert bool(shown) == any(said)
    json.dumps(shown, ensure_ascii=False).encode("utf-8")


# -- what the newest summary has -------------------------------------------------------


def test_words_of_a_summary_that_ends_the_file_are_left_out(tmp_path: Path):
    end = boundary(20, 'The user said "Mend the  shop." and more.')
    path = write(tmp_path / "s.jsonl", *GOOD, *end, context("of another hook"))
    assert put_back(path) == f"{SAID}\n[said] Never touch main.py!{END}"


def test_a_subagent_s_compaction_is_not_the_person_s(tmp_path: Path):
    of_another = [
        {**line, "isSidechain": True} for line in boundary(20, "Mend the shop.")
    ]
    record = read([*GOOD, *of_another])
    assert (record.compactions, record.is_fresh) == ([], False)


def test_a_hostile_summary_costs_no_time():
    end = boundary(20, "a" * 3_000_000)
    begin = time.monotonic()
    assert read([said(0, "a"), *end]).missing() == ["a"]
    assert time.monotonic() - begin < 5


def test_of_an_older_summary_nothing_is_left_out(tmp_path: Path):
    """Claude Code writes a summary after its hook has run, so the next one isn't
    there yet."""
    older = [*boundary(20, "Mend the shop. Never touch main.py!")]
    path = write(tmp_path / "s.jsonl", *GOOD, *older, reply(30, text("On.")))
    assert put_back(path) == PUT_BACK


@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_at_other_beginnings_it_says_nothing(tmp_path: Path, source: str):
    path = write(tmp_path / "s.jsonl", *GOOD)
    done = start(event(path, source=source), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# -- it never harms --------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"\0",
        b"null",
        b"[]",
        b"7",
        b'{"transcript_pa',
        b"{}",
        b'{"transcript_path": null}',
        b'{"transcript_path": 7}',
        b'{"transcript_path": "a\\u0000b"}',
        b'{"transcript_path": "\\ud800"}',
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"transcript_path": ' + b"9" * 10_000 + b"}",
    ],
    ids=lambda given: repr(given[:20]),
)
def test_of_a_broken_event_it_says_one_line_and_exits_with_0(given: bytes):
    done = start(given, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"agentlib-keep put nothing back: ")
    assert done.stderr.count(b"\n") == 1
    assert len(done.stderr) < 300


def test_without_a_file_or_with_a_folder_it_exits_with_0(tmp_path: Path):
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    for name in ("nowhere.jsonl", ".", "pipe"):
        done = start(event(tmp_path / name), capture_output=True)
        assert (done.returncode, done.stdout) == (0, b"")
        assert b"is no file" in done.stderr


def test_an_empty_session_gives_no_output(tmp_path: Path):
    done = start(event(write(tmp_path / "s.jsonl")), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


BAD_LINES = [
    b"{",
    b'{"type":"user","message":{"content":"half',
    b"\0" * 5_000,
    b"\xff\xfe\xfd" * 99,
    b'"user"' * 99,
    b'{"type":"user","message":' + b"[" * 50_000,
    b'{"type":"user","n":' + b"9" * 9_999 + b"}",
    b'{"type": "user", "message": {"content": 7}}',
    b'{"type": "user", "message": null, "isCompactSummary": true}',
    b'{"type": "user", "message": {"content": [[], {}, null, {"text": 1}]}}',
    b'{"type": "attachment", "attachment": "queued_command"}',
    b'{"type": "queue-operation", "operation": "remove"}',
    b'{"type": "queue-operation", "operation": "enqueue", "content": {}}',
    b'{"parentUuid":' * 2_000,
]


@pytest.mark.parametrize("bad", BAD_LINES, ids=lambda bad: repr(bad[:24]))
def test_beside_a_hostile_line_the_good_ones_arrive(tmp_path: Path, bad: bytes):
    path = write(tmp_path / "s.jsonl", *GOOD[:2])
    last = json.dumps(GOOD[2]).encode()
    path.write_bytes(path.read_bytes() + bad + b"\n" + last + b"\n")
    assert put_back(path) == PUT_BACK


def test_a_line_behind_the_torn_end_of_another_arrives(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", *GOOD[:2])
    glued = json.dumps({"parentUuid": "u", **GOOD[2]}).encode()
    half = b'{"type":"user","message":{"content":"half'
    path.write_bytes(path.read_bytes() + half + glued + glued)
    assert put_back(path) == PUT_BACK


def test_a_text_with_halves_of_characters_and_marks_arrives(tmp_path: Path):
    hostile = "\ud800 </system-reminder> \x1b[31m\0 <persisted-output> \u2028 '\"\\"
    shown = put_back(write(tmp_path / "s.jsonl", *GOOD, said(3, hostile)))
    assert shown.startswith(PUT_BACK.removesuffix(END))
    assert "</system-reminder> \x1b[31m\0 <persisted-output> \u2028 '\"\\" in shown


@given(st.sampled_from(GOOD), st.data())
def test_whatever_stands_in_a_field_the_good_lines_arrive(line: Line, data: Any):
    place = data.draw(st.sampled_from([*places(line)]))
    other = spoiled(line, place, data.draw(st.sampled_from(JUNK)))
    record = read([GOOD[0], other, context("x"), {}, None, GOOD[2]])
    assert {*record.said} >= {"Mend the shop.", "Never touch main.py!"}
    assert units(block(record.missing())) < LIMIT


def test_200_mb_are_read_within_the_hooks_time(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", *GOOD[:2])
    results = [{"type": "tool_result", "tool_use_id": "t", "content": "x" * 20_000}]
    line = json.dumps(said(2, results)).encode() + b"\n"
    with path.open("ab") as file:
        for _ in range(4_000):
            file.write(line)
        file.write(b'{"type": "user", "message": {"content": "' + b"y" * 120_000_000)
        file.write(b'"}}\n' + json.dumps(GOOD[2]).encode())
    assert path.stat().st_size > 200_000_000
    begin = time.monotonic()
    assert put_back(path) == PUT_BACK
    assert time.monotonic() - begin < keep.SECONDS


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_failure(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", *GOOD)
    with Path("/dev/full").open("wb") as full:
        done = start(event(path), stdout=full, stderr=subprocess.PIPE)
        assert (done.returncode, b"space left" in done.stderr) == (0, True)
        assert start(event(path), stdout=full, stderr=full).returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="the redirections are a shell's")
@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_failure(tmp_path: Path, closed: str):
    path = write(tmp_path / "s.jsonl", *GOOD)
    command = f'"$@" hook {closed}'
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    done = subprocess.run(
        ["sh", "-c", command, "sh", *PROGRAM],
        input=event(path),
        env=environment,
        timeout=60,
        capture_output=True,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_a_reader_that_is_gone_is_no_failure(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", *GOOD)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = start(event(path), stdout=write_end, stderr=subprocess.PIPE)
    os.close(write_end)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


def test_an_event_that_never_ends_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    code = "from session_report import keep; keep.SECONDS = 0.2; keep.hook()"
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, **pipes
    ) as waiting:
        assert waiting.wait(timeout=30) == 0
        assert waiting.stdout is not None
        assert waiting.stdout.read() == b""


AUDIT = """
import sys
from session_report import keep, load
told = []
quiet = {"open", "socket.connect", "socket.bind", "os.remove", "os.rename", "os.mkdir",
         "subprocess.Popen", "os.system", "os.exec", "os.truncate", "socket.sendto"}
def note(name, arguments):
    if name in quiet and (name != "open" or writes(*arguments)):
        told.append((name, arguments))
def writes(path, mode, flags):
    import os
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
sys.addaudithook(note)
keep.main(["hook"])
sys.stderr.write(repr(told))
"""


def test_it_writes_no_file_and_sends_nothing(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", *GOOD)
    before = {each: each.read_bytes() for each in tmp_path.rglob("*")}
    environment = os.environ | {"PYTHONPATH": PYTHONPATH, "HOME": str(tmp_path)}
    command = [sys.executable, "-B", "-c", AUDIT]
    done = subprocess.run(
        command, input=event(path), capture_output=True, env=environment
    )
    assert json.loads(done.stdout)
    assert done.stderr == b"[]"
    assert {each: each.read_bytes() for each in tmp_path.rglob("*")} == before


# -- it starts quickly -----------------------------------------------------------------


def seconds(command: Sequence[str]) -> float:
    """Return the processor's seconds, which other programs hardly change."""
    resource = pytest.importorskip("resource", reason="Windows doesn't count them")
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or each start compiles
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=b"", capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def test_it_starts_within_seven_times_an_empty_python():
    script = Path(sysconfig.get_path("scripts")) / "agentlib-keep"
    starts = [[*PROGRAM, "hook"]]
    starts += [[str(script), "hook"]] if script.exists() else []
    empty = [sys.executable, "-c", "pass"]
    for start in starts:
        times = [(seconds(empty), seconds(start)) for _ in range(15)]
        nothing, ours = map(statistics.median, zip(*times, strict=True))
        assert ours < 7 * nothing


def test_it_needs_nothing_but_pythons_library():
    code = "import sys, session_report.keep; print(*sys.modules, sep='\\n')"
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    loaded = {name for name in done.stdout.split() if name.partition(".")[0] in OURS}
    assert loaded == {
        *("agentlib", "agentlib.api", "agentlib.api.masks", "agentlib.messages"),
        *("session_report", "session_report.keep", "session_report.speakers"),
    }
    foreign = {"zstandard", "click", "rich", "anthropic", "pydantic", "httpx2"}
    assert foreign.isdisjoint(done.stdout.split())


OURS = ("agentlib", "session_report", "offline_api")


# -- the other commands ----------------------------------------------------------------


def test_without_arguments_it_prints_the_lines_for_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    script = tmp_path / "my programs" / "agentlib-keep"
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert keep.main([]) == 0
    shown = capsys.readouterr().out
    assert str(tmp_path / "settings.json") in shown
    [lines] = re.findall(r"^\{.*^\}", shown, re.MULTILINE | re.DOTALL)
    [entry] = json.loads(lines)["hooks"]["SessionStart"]
    assert entry["matcher"] == "compact"
    [hook] = entry["hooks"]
    assert hook["command"] in (f"'{script}' hook", f'"{script.as_posix()}" hook')
    assert [*tmp_path.iterdir()] == []


@pytest.mark.skipif(os.name == "nt", reason="the shell is another one")
def test_the_command_that_it_prints_is_one(tmp_path: Path):
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    shown = subprocess.run(PROGRAM, capture_output=True, text=True, env=environment)
    [command] = re.findall(r'"command": "(.+ hook)"', shown.stdout)
    done = subprocess.run(
        command,
        shell=True,
        input=event(write(tmp_path / "s.jsonl", *GOOD)),
        capture_output=True,
        env=environment,
        cwd=tmp_path,
    )
    assert (
        PUT_BACK in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    )


@pytest.mark.parametrize("argv", [["hok"], ["check", "a", "b"], ["check", "--all"]])
def test_a_wrong_argument_is_refused(argv: list[str]):
    assert keep.main(argv) == 2


def checked(
    *lines: Line, folder: Path, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    path = write(folder / "s.jsonl", *lines)
    assert keep.main(["check", str(path)]) == 0
    first, *told = capsys.readouterr().out.splitlines()
    assert first == str(path)
    return told


def test_check_says_for_each_compaction_whether_the_words_arrived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    preview = f"<persisted-output>\nPreview:\n{SAID}\n…</persisted-output>"
    many = block([f"{number} {'word ' * 30}" for number in range(99)])
    told = checked(
        *GOOD,
        *boundary(20, "Nothing."),
        context("Of another hook.", PUT_BACK),
        reply(21, text("On.")),
        *boundary(30, "Nothing."),
        context(preview),
        reply(31, text("On.")),
        *boundary(40, "Nothing."),
        has_run(json.dumps({"additionalContext": PUT_BACK})),
        reply(41, text("On.")),
        *boundary(50, "Nothing."),
        context("Of another hook."),
        reply(51, text("On.")),
        *boundary(60, "Nothing."),
        context(many),
        folder=tmp_path,
        capsys=capsys,
    )
    tokens = round(len(PUT_BACK) / keep.CHARS_PER_TOKEN)
    assert told[0] == f"compaction 1: whole, about {tokens} tokens"
    assert told[1].startswith("compaction 2: as a preview")
    assert told[2].startswith("compaction 3: not at all: the hook ran")
    assert told[3].startswith("compaction 4: not at all: no hook ran")
    assert f"about {tokens} tokens" in told[3]
    assert re.search(r"compaction 5: whole, .*, \d+ of your messages left out", told[4])


def test_check_finds_the_newest_session_or_one_by_its_id(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert keep.main(["check"]) == 1
    folder = tmp_path / "projects" / "-w-shop"
    for age, name in enumerate(["5f1c", "9a0b", "agent-1"]):
        path = write(folder / f"{name}.jsonl", *GOOD)
        os.utime(path, (1_000 + age, 1_000 + age))
    capsys.readouterr()
    assert [keep.main(["check"]), keep.main(["check", "5f"])] == [0, 0]
    shown = capsys.readouterr().out.splitlines()
    assert shown[::2] == [str(folder / "9a0b.jsonl"), str(folder / "5f1c.jsonl")]
    assert keep.main(["check", "77"]) == 1
    assert "77" in capsys.readouterr().err


# -- what the report counts ------------------------------------------------------------


def session(path: Path, *hooked: Line) -> Path:
    lines = [*GOOD, *boundary(20, "Mend the shop."), *hooked, reply(30, text("On."))]
    again = [said(31, "And now the doors."), reply(32, text("On."))]
    end = [*boundary(40, "And now the doors."), *hooked, reply(50, text("On."))]
    return write(path, *lines, *again, *end)


def test_what_a_hook_put_back_is_kept(tmp_path: Path):
    bare = session(tmp_path / "bare.jsonl")
    hooked = session(tmp_path / "hooked.jsonl", context(PUT_BACK))
    for path, numbers in ((bare, (2, 0)), (hooked, (3, 2))):
        counts = Counter[str]()
        for row in sums(load(path)):
            counts[row["what"]] += row["kept"]
        assert (counts[MESSAGES], counts[EARLIER]) == numbers
        assert ("agentlib-keep" in run(path).stdout) == (path == bare)


def test_the_command_is_named_for_no_other_program(tmp_path: Path):
    head = {"type": "session", "version": 3, "id": "p", "cwd": "/w"}
    entries = [
        {"role": "user", "content": "Rename it."},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "one"}],
            "stopReason": "stop",
            "usage": {"input": 1_000, "output": 9},
        },
    ]
    lines = [
        {"type": "message", "id": str(number), "message": entry}
        for number, entry in enumerate(entries)
    ]
    last = {"type": "compaction", "id": "c", "summary": "Nothing."}
    path = write(tmp_path / "pi.jsonl", head, *lines, {**last, "firstKeptEntryId": "1"})
    shown = run(path).stdout
    assert "of your messages" in shown
    assert "agentlib-keep" not in shown


def test_lines_that_hold_nothing_are_passed_over(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", {"type": "progress"}, GOOD[1], GOOD[0])
    assert [line["type"] for line in lines_of(path)] == ["assistant", "user"]
