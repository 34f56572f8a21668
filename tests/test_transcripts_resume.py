"""What was on disk is what was: `load` equals live, whatever ends a run and wherever it is cut."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import anthropic
import pytest
from fakes import Clock, asks_for_summary, call, client, error, lines_of, say, think, worker
from runs import a_session, a_workspace, ctrl_c, go, state

from agentlib import loop
from agentlib.messages import blocks, of_type
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import INTERRUPTED, Session, load

POLICIES = (
    Settings(recall=True),
    Settings(micro="truncate"),
    Settings(micro="trim"),
    Settings(clear_when="cold", keep_recent=1),
    Settings(micro="off", threshold=30_000, keep_exchanges=3),
    Settings(clear_at_least=3_000, keep_recent=0, keep_exchanges=0),
)
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals and timers of POSIX")


def three_files(folder: Path, **options) -> Workspace:
    for n, name in enumerate("abc"):
        (folder / f"{name}.txt").write_text("line of the text\n" * 50 * 4**n, newline="\n")
    return Workspace(folder, **options)


# -- random runs ----------------------------------------------------------------------------------


def whim(rng: random.Random):
    """A model that does anything it may do, and an API that fails in every way."""
    numbers = itertools.count(1)

    def summary():
        text = f"## Accomplished\n{rng.random()}\n" + "é中 " * rng.randint(1, 100)
        fates = (error(500), say(""), say("cut", stop="max_tokens"), say(think("hm"), text))
        return rng.choices(fates, (1, 1, 1, 9))[0]

    def a_call():
        name, kind = f"toolu_{next(numbers)}", rng.random()
        if kind < 0.1:
            return call(name, "compact", focus="f") if kind < 0.06 else call(name, "nope", x=1)
        if kind < 0.3:
            return call(name, "bash", command="ls")
        return call(name, "read_file", path=f"{rng.choice('abc')}.txt", limit=rng.randint(1, 300))

    def brain(body):
        fate = rng.random()
        if fate < 0.03:
            raise KeyboardInterrupt
        if asks_for_summary(body):
            return summary()
        if fate < 0.06:
            return error(529)
        said = [think(f"thought {next(numbers)}")] if rng.random() < 0.6 else []
        said += ["words " * rng.randint(1, 50)] if rng.random() < 0.4 else []
        if fate < 0.12:
            return say(*said, "The end.")
        if fate < 0.14:
            return say(*said, call(f"toolu_{next(numbers)}", "read_file"), stop="max_tokens")
        if fate < 0.16:
            server = {"type": "server_tool_use", "id": f"srv_{next(numbers)}", "name": "web_search"}
            return say(*said, {**server, "input": {}}, stop="pause_turn")
        return say(*said, *(a_call() for _ in range(rng.randint(1, 4))))

    return brain


def live(seed: int, folder: Path) -> Counter:
    """A run of eight parts, each ended somehow; after each the file says what the session says."""
    rng, clock, seen = random.Random(seed), Clock(), Counter()

    def confirm(command: str) -> bool:
        if rng.random() < 0.15:
            raise KeyboardInterrupt
        return False

    workspace, settings = three_files(folder, confirm=confirm), POLICIES[seed % 6].scaled(12_000)
    session = a_session(folder, settings)
    model = client(whim(rng))
    for part in range(8):
        clock.now += rng.choice((0, 400))
        options = {"settings": settings, "clock": clock}
        options |= {"system": "Another prompt."} if rng.random() < 0.1 else {}
        try:
            words = rng.choice((None, f"Do {part}.", f"Do {part}, please."))
            for turn in loop.run(model, words, workspace, session=session, max_turns=12, **options):
                assert turn.context == turn.step.messages
                seen["cleared"] += len(turn.step.cleared)
                if rng.random() < 0.05:
                    break
            if rng.random() < 0.3:
                agent = loop.Agent(model, workspace, session, **options)
                agent.compact_now("by hand")
        except (KeyboardInterrupt, anthropic.APIStatusError):
            seen["broken off"] += 1
        loaded = load(session.path)
        assert state(loaded) == state(session), f"seed {seed}, part {part}"
        seen["pending"] += bool(session.pending)
        session = loaded if rng.random() < 0.5 else session
    for compaction in session.compactions:
        seen["failed" if compaction.failure else compaction.trigger] += 1
        seen["by hand"] += compaction.focus == "by hand"
    seen["thinking dropped"] = count(session.history, "thinking") - count(
        session.context, "thinking"
    )
    return seen


def count(messages, kind: str) -> int:
    return sum(len(of_type(message, kind)) for message in messages)


def test_what_is_loaded_is_what_was_in_random_runs(tmp_path):
    seen = Counter()
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        seen += live(seed, folder)
    for kind in ("cleared", "broken off", "pending", "auto", "manual", "failed", "by hand"):
        assert seen[kind] >= 3, f"{kind} hardly occurred: {seen}"
    assert seen["thinking dropped"] > 20


# -- cut files ------------------------------------------------------------------------------------


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
    """Load the file as far as `cut`: nothing whole is lost, and what is torn is reported."""
    path.write_bytes(data[:cut])
    tail = data[:cut].rpartition(b"\n")[2]
    torn = bool(tail) and data[cut : cut + 1] != b"\n"
    if not data[:cut].count(b"\n") and (torn or not tail):
        with pytest.raises(ValueError, match="is not a session file"):
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
        session.answer({"type": "tool_result", "tool_use_id": name, "content": "é"}, at=2)
    data, path = session.path.read_bytes(), tmp_path / "cut.jsonl"
    first = data.index(b"\n")
    for cut in (*range(0, first - 9, 10), *range(first - 9, len(data) + 1)):
        loaded = check_cut(data, cut, path)
        if loaded and (cut % 25 == 0 or data[cut - 1 : cut] == b"\n"):
            before = loaded.skipped
            loaded.say("after the cut", at=9)
            again = load(path)
            assert (again.history, again.skipped) == (loaded.history, before)


def test_a_run_goes_on_wherever_its_file_was_cut(tmp_path):
    workspace, rng = a_workspace(tmp_path), random.Random(5)
    session = a_session(tmp_path)
    go(worker(10), workspace, session)
    assert any(c.failure is None for c in session.compactions)
    data, path = session.path.read_bytes(), tmp_path / "cut.jsonl"
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    inside = [rng.randrange(a, b) for a, b in itertools.pairwise([0, *ends]) for _ in "a"]
    for cut in sorted({*ends, *(end - 1 for end in ends[::3]), *inside}):
        if resumed := check_cut(data, cut, path):
            torn = resumed.skipped
            turns = go(worker(2, f"cut_{cut}"), workspace, resumed, "Go on.")
            assert turns[-1].stop_reason == "end_turn"
            again = load(path)
            assert again.skipped == torn
            assert {**state(again), "count": 0} == {**state(resumed), "count": 0}


# -- killed and interrupted -----------------------------------------------------------------------

CHILD = """
import os, sys
from pathlib import Path
from fakes import asks_for_summary, call, client, say, worker
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
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """The folders of agents, named for the moment at which each one's process was killed."""
    here, top = Path(__file__).parent, tmp_path_factory.mktemp("killed")
    folders = [top / moment for moment in ("request", "summary", "tool")]
    for folder in folders:
        folder.mkdir()
        (folder / "a.txt").write_text("line of the text\n" * 180, newline="\n")
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(here), str(here.parent)))}
    ran = subprocess.run([sys.executable, "-c", CHILD, *map(str, folders)], env=env, timeout=60)
    assert ran.returncode == (9 if sys.platform == "win32" else 0)
    return top


@pytest.mark.parametrize(
    "moment",
    ["request", pytest.param("summary", marks=posix), pytest.param("tool", marks=posix)],
)
def test_a_killed_agent_resumes(killed, moment):
    (path,) = (killed / moment).glob("*.jsonl")
    (path.parent / "x").touch()  # the command that killed would not kill again
    workspace, session = Workspace(path.parent), load(path)
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
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::Warning")
def test_ctrl_c_at_any_moment_leaves_memory_and_file_as_one(tmp_path):
    workspace, rng = a_workspace(tmp_path), random.Random(7)
    session = a_session(tmp_path)
    work, caught = worker(10_000), 0
    go(work, workspace, session, max_turns=2)  # what is built at first use is there by now

    def run_until(alarm: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, alarm)
        go(work, workspace, session, max_turns=30)
        signal.setitimer(signal.ITIMER_REAL, 0)

    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    with ctrl_c():
        for n in range(60):
            # Python drops the exception where it comes in a destructor: then the run just ends.
            with suppress(KeyboardInterrupt):
                run_until(rng.uniform(0.002, 0.03 + n / 1_000))
                caught -= 1
            caught += 1
            assert state(load(session.path)) == state(session)
    signal.signal(signal.SIGALRM, before)
    assert caught >= 30
    assert len(session.requests) >= 20
    ids = [line["uuid"] for line in lines_of(session.path)]
    assert len(set(ids)) == len(ids)
