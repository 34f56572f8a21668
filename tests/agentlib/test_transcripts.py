"""Sessions: what is noted and when, what a file is worth after an accident, snapshots,
recall."""

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agentlib import loop
from agentlib.messages import INTERRUPTED, blocks, interrupted, of_type, result_text
from agentlib.session.file import Request
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from tests.builders import call, say
from tests.fakes import Clock, asks_for_summary, bare, client, lines_of, worker
from tests.runs import READ, SMALL, a_session, a_workspace, ctrl_c, go, state


def test_every_message_is_on_disk_before_the_next_request(tmp_path, workspace):
    session = a_session(tmp_path)
    work = worker(12)
    asked = []

    def brain(body):
        noted = load(session.path)
        told = body["messages"][:-1] if asks_for_summary(body) else body["messages"]
        asked.append(len(told))
        if not asks_for_summary(body):
            assert bare(noted.context) == bare(told)
        assert bare(noted.history) == bare(session.history)
        return work(body)

    go(brain, workspace, session)
    assert len(asked) > 14
    assert any(c.failure is None for c in session.compactions)


def test_an_unknown_line_changes_nothing(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(4), workspace, session)
    known = session.path.read_text(encoding="utf-8").splitlines()
    strange = [
        {"type": "file-history-snapshot"},
        {"type": "system", "subtype": "new"},
        {"a": 1},
    ]
    mixed = [text for line in known for text in (line, *map(json.dumps, strange))]
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join(mixed), encoding="utf-8")
    loaded = load(path)
    for name in (
        "history",
        "context",
        "requests",
        "compactions",
        "settled",
        "settings",
        "system",
    ):
        assert getattr(loaded, name) == getattr(session, name)
    assert loaded.skipped == []


@pytest.mark.parametrize(
    "text", ["", "a shopping list\nmilk\n", '{"type": "user"}\n', "[1]\n"]
)
def test_another_file_is_refused_by_name(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(
        ValueError, match=r"notes\.txt is not a session file: none of its \d lines"
    ):
        load(path)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "user", "message": {"role": "user"}},
        {"type": "user", "message": None},
        {"type": "assistant", "message": {"content": "x"}},
        {"type": "system", "subtype": "agentlib_settings"},
    ],
)
def test_a_line_that_was_cut_by_hand_is_left_out_and_told_by_number(tmp_path, line):
    path = tmp_path / "cut.jsonl"
    whole = {"type": "mode", "sessionId": "cut", "uuid": "1"}
    path.write_text(
        f"{json.dumps(whole)}\n{json.dumps({**line, 'uuid': '2'})}\n", "utf-8"
    )
    session = load(path)
    assert session.history == []
    assert len(session.damage) == 1
    assert session.damage[0].startswith("line 2 is left out: ")


def test_a_changed_text_is_told_by_the_number_of_its_line(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(3), workspace, session)
    data = session.path.read_bytes()
    place = data.index(b"line 7 of the text")
    session.path.write_bytes(
        data.replace(b"line 7 of the text", b"line 6 of the text", 1)
    )
    loaded = load(session.path)
    assert loaded.history != session.history
    number = data[:place].count(b"\n") + 1
    assert [what.split(":")[0] for what in loaded.damage] == [f"line {number}"]


def test_a_flipped_bit_never_changes_the_history_in_silence(tmp_path, workspace):
    session = a_session(tmp_path)
    rng = random.Random(3)
    go(worker(6), workspace, session)
    data = session.path.read_bytes()
    told = 0
    for _ in range(60):
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        session.path.write_bytes(flipped)
        loaded = load(session.path)
        told += bool(loaded.damage)
        assert loaded.damage or loaded.history == session.history
    assert told > 55


def test_after_a_changed_line_the_thinking_is_dropped_and_the_session_goes_on(
    tmp_path, workspace
):
    session = a_session(tmp_path)
    go(worker(2), workspace, session)
    data = session.path.read_bytes()
    session.path.write_bytes(data.replace(b"Read a.txt.", b"Read b.txt.", 1))
    loaded = load(session.path)
    assert count(loaded.history, "thinking") == 2
    go(
        worker(2, "again"), workspace, loaded, "Go on."
    )  # the fake API checks what thinking follows


def test_files_without_checksums_load_as_before(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(12), workspace, session)
    lines = lines_of(session.path)
    assert all(isinstance(line.pop("crc32"), int) for line in lines)
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    session.path.write_text(text, encoding="utf-8", newline="\n")
    assert state(load(session.path)) == state(session)


def rewritten(path: Path, number: int, **changes) -> None:
    """Change a line by hand, without its checksum."""
    lines = lines_of(path)
    lines.insert(number + 1, lines[number] | changes)
    for line in lines:
        del line["crc32"]
    path.write_text(
        "".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("assistant", {"uuid": "another"}),
        ("assistant", {"uuid": "another", "type": "user"}),
        ("user", {"uuid": "another", "isCompactSummary": True}),
        ("user", {"uuid": "another", "type": "assistant"}),
    ],
)
def test_a_doubled_call_and_a_result_in_a_wrong_place_are_left_out(
    tmp_path, workspace, kind, changes
):
    session = a_session(tmp_path)
    go(worker(4), workspace, session)
    lines = lines_of(session.path)
    calls = [n for n, line in enumerate(lines) if line["type"] == "assistant"]
    number = calls[1] + (kind == "user")
    rewritten(session.path, number, **changes)
    loaded = load(session.path)
    assert any(f"line {number + 2} is left out" in what for what in loaded.damage)
    go(worker(1, "b"), workspace, loaded, "Go on.")


@pytest.mark.parametrize("message", [{"id": ""}, {"id": "a.b"}, {"input": "x"}])
def test_a_call_that_the_api_would_refuse_is_left_out(tmp_path, message):
    session = a_session(tmp_path)
    session.say("Go.", at=0)
    session.reply(say({**call("toolu_1", command="ls"), **message}), at=1)
    assert load(session.path).history == session.history[:1]


def test_a_compaction_takes_effect_with_its_summary(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(12), workspace, session)
    lines = lines_of(session.path)
    at = next(
        i for i, line in enumerate(lines) if line.get("subtype") == "compact_boundary"
    )

    def folded(stop: int) -> Session:
        session = Session(session_id="s")
        for line in lines[:stop]:
            session.fold(line)
        return session

    old = folded(at)
    half = folded(at + 1)
    new = folded(at + 2)
    assert (half.context, half.compactions, half.settled) == (
        old.context,
        [],
        old.settled,
    )
    assert new.context[0]["content"][0]["text"].startswith(
        "[Conversation compressed. Transcript:"
    )
    assert len(new.compactions) == 1
    assert half.history == old.history == new.history


def test_a_settings_line_opens_the_file_and_each_resume(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(1), workspace, session)
    go(worker(1, "b"), workspace, session, "The same session goes on.")
    go(worker(1, "c"), workspace, load(session.path), "Resumed.")
    kinds = [line.get("subtype") or line["type"] for line in lines_of(session.path)]
    assert kinds[0] == "agentlib_settings"
    assert [i for i, kind in enumerate(kinds) if kind == "agentlib_settings"] == [
        0,
        1,
        10,
    ]
    assert load(session.path).settings == SMALL


def test_under_new_settings_nothing_is_settled(tmp_path):
    session = Session(session_id="s")
    session.begin(SMALL, "", [], at=0)
    session.say("Go.", at=1)
    session.reply(
        {"role": "assistant", "content": "Yes.", "usage": {}}, at=2, settled=1
    )
    session.begin(SMALL, "Be brief.", [], at=3)
    assert session.settled == 1
    session.begin(replace(SMALL, keep_recent=1), "", [], at=4)
    assert session.settled == 0


def test_snapshots_never_share_a_name_and_never_overwrite(tmp_path):
    (tmp_path / "transcript_x_1.jsonl").write_text("mine")
    said = [{"role": "user", "content": "é中"}]
    session = Session(session_id="x", archives=tmp_path, history=said)
    names = [session.archive() for _ in range(3)]
    assert names == [f"transcript_x_{n}.jsonl" for n in (2, 3, 4)]
    assert (tmp_path / "transcript_x_1.jsonl").read_text() == "mine"
    assert lines_of(tmp_path / names[0]) == said


def test_without_a_session_file_each_compaction_saves_the_whole_history(
    tmp_path, workspace
):
    turns = list(
        loop.run(client(worker(12)), "Go.", workspace, settings=SMALL, clock=Clock())
    )
    made = [t.step.archive for t in turns if t.step.compaction == "auto"]
    assert len(made) >= 2
    folder = workspace.root / ".transcripts"
    assert sorted(p.name for p in folder.iterdir()) == [".gitignore", *made]
    assert made == [f"transcript_1760000001_{n}.jsonl" for n in range(1, len(made) + 1)]
    results = [
        r for m in lines_of(folder / made[-1]) for r in of_type(m, "tool_result")
    ]
    assert len(results) >= 8
    assert any(turn.step.cleared for turn in turns)
    assert {result_text(r) for r in results} == {READ}


def test_with_a_session_file_the_archive_is_a_place_in_it(tmp_path, workspace):
    with a_session(tmp_path) as session:
        go(worker(12), workspace, session)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["s.jsonl"]
    lines = {line["uuid"]: line for line in lines_of(session.path)}
    for compaction in session.compactions:
        name, _, uuid = compaction.archive.partition("#")
        assert name == "s.jsonl"
        assert lines[uuid]["type"] == "user"


def test_a_search_finds_lines_of_results_and_words_but_not_those_of_a_search(tmp_path):
    session = a_session(tmp_path)
    session.say("Tests go into tests/.\nGo.", at=0)
    calls = [
        call("toolu_1", "bash", command="ls"),
        call("toolu_2", "recall", search="tests"),
    ]
    session.reply(say(*calls), at=1)
    for name in ("toolu_1", "toolu_2"):
        result = {
            "type": "tool_result",
            "tool_use_id": name,
            "content": "docs/\nTESTS/",
        }
        session.answer(result, at=2)
    head = "[bash {'command': 'ls'} toolu_1]"
    assert (
        session.recall(search="tests/")
        == f"[user]\nTests go into tests/.\n{head}\nTESTS/"
    )
    assert session.recall(search="nowhere") == "(nothing found)"
    assert session.recall(search="") == session.recall() == "(nothing found)"


def test_the_agent_recalls_a_cleared_result(tmp_path, workspace):
    settings = Settings(
        context_window=8_000, output_reserve=400, buffer=400, recall=True
    )
    session = a_session(tmp_path, settings)
    seen = []
    read_on = worker(5)

    def brain(body):
        if len(seen) == 6:
            return say(call("toolu_r", "recall", tool_use_id="toolu_1"))
        if len(seen) == 7:
            return say(call("toolu_w", "recall", tool_use_id="toolu_wrong"))
        return read_on(body)

    options = {"settings": settings, "session": session, "clock": Clock()}
    list(loop.run(client(brain, seen), "Go.", workspace, **options))
    assert "recall" in [tool["name"] for tool in seen[0]["tools"]]
    first = of_type(seen[5]["messages"][2], "tool_result")[0]
    assert first["content"] == "[Previous: used read_file; recall toolu_1 returns it]"
    assert seen[6]["messages"][-1]["content"][0]["content"] == READ
    wrong = seen[7]["messages"][-1]["content"][0]
    assert wrong["is_error"]
    assert "toolu_wrong" in wrong["content"]


posix = pytest.mark.skipif(
    sys.platform == "win32", reason="needs the signals and timers of POSIX"
)


def count(messages, kind: str) -> int:
    return sum(len(of_type(message, kind)) for message in messages)


# -- cut files -------------------------------------------------------------------------


def whole_blocks(data: bytes) -> list:
    """The blocks of all messages in whole lines, read without agentlib."""
    found = []
    for text in data.split(b"\n"):
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if line["type"] in ("user", "assistant") and not line.get("isCompactSummary"):
            found += blocks(line["message"])
    return found


def check_cut(data: bytes, cut: int, path: Path) -> Session | None:
    """Load the file as far as `cut`: nothing whole is lost, and what is torn is
    reported."""
    path.write_bytes(data[:cut])
    tail = data[:cut].rpartition(b"\n")[2]
    torn = bool(tail) and data[cut : cut + 1] != b"\n"
    if not data[:cut].count(b"\n") and (torn or not tail):
        with pytest.raises(ValueError, match=re.escape(path.name)):
            load(path)
        return None
    session = load(path)
    assert [b for m in session.history for b in blocks(m)] == whole_blocks(data[:cut])
    assert session.skipped == ([tail.decode(errors="replace").strip()] if torn else [])
    return session


def test_a_small_file_may_be_cut_anywhere(tmp_path):
    session = a_session(tmp_path)
    session.say("Gö, 中!", at=0)
    session.reply(say(call("toolu_1"), call("toolu_2")), at=1)
    for name in ("toolu_1", "toolu_2"):
        session.answer(
            {"type": "tool_result", "tool_use_id": name, "content": "é"}, at=2
        )
    data = session.path.read_bytes()
    path = tmp_path / "cut.jsonl"
    # Within a line of letters one place is like another.
    marks = [at for at, byte in enumerate(data) if byte == ord("\n") or byte > 127]
    near = {at + step for at in marks for step in range(-2, 3)}
    for cut in sorted({*near, *range(0, len(data), 10)} & {*range(len(data) + 1)}):
        loaded = check_cut(data, cut, path)
        if loaded and (cut % 25 == 0 or data[cut - 1 : cut] == b"\n"):
            before = loaded.skipped
            for name in loaded.pending:
                loaded.answer(*interrupted(name)["content"], at=8)
            loaded.say("after the cut", at=9)
            again = load(path)
            assert (again.history, again.skipped) == (loaded.history, before)


def test_a_run_goes_on_wherever_its_file_was_cut(tmp_path):
    workspace = a_workspace(tmp_path)
    rng = random.Random(5)
    session = a_session(tmp_path)
    go(worker(6), workspace, session)
    assert any(c.failure is None for c in session.compactions)
    data = session.path.read_bytes()
    path = tmp_path / "cut.jsonl"
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    inside = [
        rng.randrange(a, b) for a, b in itertools.pairwise([0, *ends]) for _ in "a"
    ]
    for cut in sorted({*ends[::2], *(end - 1 for end in ends[::6]), *inside[1::2]}):
        if resumed := check_cut(data, cut, path):
            torn = resumed.skipped
            turns = go(worker(2, f"cut_{cut}"), workspace, resumed, "Go on.")
            assert turns[-1].stop_reason == "end_turn"
            again = load(path)
            assert again.skipped == torn
            assert {**state(again), "count": 0} == {**state(resumed), "count": 0}


# -- killed and interrupted ------------------------------------------------------------

CHILD = """
import os, sys
from pathlib import Path
from tests.fakes import asks_for_summary, call, client, say, worker
from agentlib import loop
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session

def live(folder):
    settings = Settings(context_window=4_000, output_reserve=400, buffer=400, summary_tokens=100)
    work, requests = worker(99), []

    def brain(body):
        requests.append(body)
        if folder.name == "summary" and asks_for_summary(body):
            os.kill(os.getpid(), 9)
        if folder.name == "request" and len(requests) == 9:
            os.kill(os.getpid(), 9)
        if folder.name == "tool" and len(requests) == 9:
            return say(call("toolu_k", command="echo ran >> effects; [ -e x ] || kill -9 $PPID"))
        return work(body)

    options = {"settings": settings, "session": Session.create(folder, settings=settings)}
    for _ in loop.run(client(brain), "Read on.", Workspace(folder), **options):
        pass

for folder in map(Path, sys.argv[1:]):
    if sys.platform == "win32" or not os.fork():
        live(folder)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == -9

from tests.benchmarks import kills  # here, because importing the SDK takes as long as ten kills
kills.TURNS = 12
kills.main(30)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> tuple[Path, str]:
    """The folders of agents, named for the moment at which each one's process was
    killed.

    And what was printed of thirty other moments.
    """
    here = Path(__file__).parent
    top = tmp_path_factory.mktemp("killed")
    folders = [top / moment for moment in ("request", "summary", "tool")]
    for folder in folders:
        folder.mkdir()
        (folder / "a.txt").write_text("line of the text\n" * 180, newline="\n")
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(here), str(here.parent)))}
    command = [sys.executable, "-c", CHILD, *map(str, folders)]
    ran = subprocess.run(
        command, env=env, timeout=60, stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert ran.returncode == (9 if sys.platform == "win32" else 0), ran.stdout
    return top, ran.stdout


@pytest.mark.parametrize(
    "moment",
    [
        "request",
        pytest.param("summary", marks=posix),
        pytest.param("tool", marks=posix),
    ],
)
def test_a_killed_agent_resumes(killed, moment):
    (path,) = (killed[0] / moment).glob("*.jsonl")
    (path.parent / "x").touch()  # the command that killed would not kill again
    workspace = Workspace(path.parent)
    session = load(path)
    assert session.skipped == []
    assert len(session.requests) >= 3
    assert session.pending == (("toolu_k",) if moment == "tool" else ())
    before = list(session.history)
    turns = go(worker(12, "again"), workspace, session, None)
    assert turns[-1].stop_reason == "end_turn"
    assert session.history[: len(before)] == before
    assert load(session.path).history == session.history
    if moment == "tool":
        assert (path.parent / "effects").read_text() == "ran\n"
        (result,) = of_type(session.history[len(before)], "tool_result")
        assert (result["content"], result["is_error"]) == (INTERRUPTED, True)


@posix
def test_an_agent_killed_at_thirty_moments_loses_nothing(killed):
    told = re.fullmatch(
        r"kills: 30; turns told of before them: (\d+); faults: 0\n\n", killed[1]
    )
    assert told, killed[1]
    assert int(told[1]) > 0  # how many depends on how busy the machine is


@posix
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::Warning"
)
def test_ctrl_c_at_any_moment_leaves_memory_and_file_as_one(tmp_path):
    workspace = a_workspace(tmp_path)
    rng = random.Random(7)
    session = a_session(tmp_path)
    work = worker(10_000)
    caught = 0
    go(
        work, workspace, session, max_turns=2
    )  # what is built at first use is there by now

    def run_until(alarm: float) -> None:
        # Seconds of this process, because on a busy machine the clock runs ahead.
        signal.setitimer(signal.ITIMER_PROF, alarm)
        go(work, workspace, session, max_turns=30)
        signal.setitimer(signal.ITIMER_PROF, 0)

    before = signal.signal(
        signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGINT)
    )
    with ctrl_c():
        for n in range(25):
            # Python drops the exception where it comes in a destructor: then the run
            # just ends.
            with suppress(KeyboardInterrupt):
                run_until(rng.uniform(0.002, 0.02 + n / 1_000))
                caught -= 1
            caught += 1
            assert state(load(session.path)) == state(session)
    signal.signal(signal.SIGPROF, before)
    assert caught >= 12
    assert len(session.requests) >= 20
    ids = [line["uuid"] for line in lines_of(session.path)]
    assert len(set(ids)) == len(ids)


def test_the_memory_of_requests_grows_with_their_number_and_not_its_square():
    def size(turns: int) -> int:
        tracemalloc.start()
        session = Session(session_id="s")
        for turn in range(turns):
            session.say("Go on.", at=turn)
            session.reply(say("Done.") | {"usage": {}}, at=turn)
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert [len(r.context) for r in session.requests] == [*range(1, 2 * turns, 2)]
        return grown

    assert size(600) < 2.5 * size(300)


def test_a_request_keeps_its_context_whatever_becomes_of_the_sessions():
    session = Session(session_id="s")
    for turn in range(3):
        session.say(f"Word {turn}.", at=turn)
        session.reply(say("Done.") | {"usage": {}}, at=turn)
    sent = [request.context for request in session.requests]
    session.context[0] = {"role": "user", "content": "Another."}
    session.say("More.", at=9)
    session.reply(say("Done.") | {"usage": {}}, at=9)
    assert [request.context for request in session.requests[:3]] == sent
    assert session.requests[3].context[0]["content"] == "Another."
    session.requests[0].context.clear()
    assert len(session.requests[0].context) == 1


def test_two_requests_that_sent_the_same_are_equal_whatever_followed():
    def first(*words: str) -> Request:
        session = Session(session_id="s")
        for word in words:
            session.say(word, at=1)
            session.reply(say("Done.") | {"usage": {}}, at=1)
        return session.requests[0]

    assert first("Go on.") == first("Go on.", "Again.")
    assert first("Go on.", "Again.") != first("Stop.", "Again.")
