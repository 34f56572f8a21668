"""One process at a time: who is kept away, for how long, and what the lock's file may
be."""

import gc
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agentlib.loop import Agent
from agentlib.session.file import SessionInUse
from agentlib.transcripts import Session, load
from tests.fakes import client, worker
from tests.runs import SMALL, a_session, go

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks and links of POSIX")

HOLDER = """
import sys
from agentlib.session.file import SessionInUse
from agentlib.transcripts import load
session = load(sys.argv[1])
try:
    session.hold()
except SessionInUse:
    sys.exit("in use")
print("held", flush=True)
sys.stdin.readline()
session.close()
print("closed", flush=True)
sys.stdin.readline()
"""


def holder(session: Session) -> subprocess.Popen[Any]:
    """A process that holds the session until it gets a line, and ends at the next."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(session.path)],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def is_free(session: Session) -> bool:
    """Whether another process can hold the session."""
    with holder(session) as other:
        _, said = other.communicate("\n\n")
    assert said.strip() in ("", "in use")
    return not said


def test_a_session_that_another_process_holds_is_read_and_not_run(tmp_path, workspace):
    session = a_session(tmp_path)
    with holder(session) as other:
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        with pytest.raises(SessionInUse, match="end that one"):
            go(worker(1), workspace, session)
        assert load(session.path).history == session.history == []
        other.kill()
    go(worker(1), workspace, session)
    assert load(session.path).history == session.history != []


def test_a_session_that_another_process_has_closed_is_run(tmp_path, workspace):
    session = a_session(tmp_path)
    with holder(session) as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "held\n"
        with pytest.raises(SessionInUse):
            session.hold()
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "closed\n"
        assert go(worker(1), workspace, session)


def test_what_stays_alive_of_a_run_keeps_no_session_that_is_closed(tmp_path, workspace):
    """As in a notebook, whose `Out` keeps whatever a cell returns."""
    session = a_session(tmp_path)
    agent = Agent(client(worker(2)), workspace, session, settings=SMALL)
    running = agent.run("Read a.txt.")
    kept = [agent, running, next(running)]
    assert not is_free(session)
    session.close()
    assert is_free(session)
    assert len(kept) == 3


def test_a_session_is_used_again_after_it_was_closed(tmp_path, workspace):
    with a_session(tmp_path) as session:
        lock = session.path.with_suffix(".lock")
        assert not lock.exists()  # no agent has worked on it yet
        go(worker(1), workspace, session)
        assert lock.exists()
    session.close()
    assert not lock.exists()
    go(worker(1), workspace, session)
    assert not is_free(session)
    session.close()
    assert is_free(session)
    assert not lock.exists()
    assert load(session.path).history == session.history


def test_an_error_closes_a_session(tmp_path):
    with suppress(ZeroDivisionError), a_session(tmp_path) as session:
        session.hold()
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == [session.path]


def test_a_session_in_memory_is_held_by_nobody(tmp_path):
    with Session(session_id="s", archives=tmp_path) as session:
        session.hold()
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_grew_since_it_was_loaded_is_not_run(tmp_path, workspace):
    session = a_session(tmp_path)
    other = load(session.path)
    go(worker(1), workspace, other)
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"s\.jsonl has changed since it was loaded"
        ):
            go(worker(1), workspace, session)
    assert session.history == []
    go(worker(1), workspace, load(session.path))


def test_two_sessions_of_one_process_never_write_over_each_other(tmp_path, workspace):
    session = a_session(tmp_path)
    other = load(session.path)
    other.hold()
    go(worker(1), workspace, session)
    with pytest.raises(ValueError, match=r"s\.jsonl"):
        go(worker(1), workspace, other)
    session.close()
    assert not session.path.with_suffix(".lock").exists()


@posix
def test_a_lock_that_outlives_its_process_for_a_moment_is_waited_for(tmp_path):
    import fcntl

    session = a_session(tmp_path)
    handle = os.open(session.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    threading.Timer(0.1, os.close, [handle]).start()
    session.hold()


def test_the_last_session_of_a_process_that_is_closed_ends_the_lock(tmp_path):
    session = a_session(tmp_path)
    other = load(session.path)
    session.hold()
    session.hold()
    other.hold()
    session.close()
    session.close()
    assert not is_free(session)
    other.close()
    assert list(tmp_path.iterdir()) == [session.path]


def test_a_session_that_nobody_closed_is_held_no_longer_than_it_lives(tmp_path):
    session = a_session(tmp_path)
    path = session.path
    session.hold()
    del session
    gc.collect()
    assert list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize("kind", ["a link", "a missing target", "a folder"])
def test_what_stands_where_the_lock_goes_is_neither_written_nor_read(tmp_path, kind):
    session = a_session(tmp_path)
    lock = session.path.with_suffix(".lock")
    precious = tmp_path / "precious.txt"
    if kind == "a link":
        precious.write_text("mine")
    if kind == "a folder":
        lock.mkdir()
    else:
        lock.symlink_to(precious)
    with pytest.raises(OSError, match=r"s\.lock"):
        session.hold()
    assert precious.exists() == (kind == "a link")
    assert precious.read_text() == "mine" if kind == "a link" else True
    assert os.path.lexists(lock)
