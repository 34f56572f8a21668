"""One process at a time: who is kept away, for how long, and what the lock's file may
be."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentlib.session_lock import SessionInUse, hold
from agentlib.transcripts import load
from tests.fakes import worker
from tests.runs import a_session, go

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks and links of POSIX")

HOLDER = """
import sys
from pathlib import Path
from agentlib.session_lock import hold
held = hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_session_that_another_process_holds_is_read_and_not_run(tmp_path, workspace):
    session = a_session(tmp_path)
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", HOLDER, str(session.path)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment) as other:
        assert other.stdout
        assert other.stdout.readline()
        with pytest.raises(SessionInUse, match="end that one"):
            go(worker(1), workspace, session)
        assert load(session.path).history == session.history == []
        other.kill()
    go(worker(1), workspace, session)
    assert load(session.path).history == session.history != []


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
    held = hold(session.path)
    go(worker(1), workspace, session)
    with pytest.raises(ValueError, match=r"s\.jsonl"):
        go(worker(1), workspace, other)
    held.release()


@posix
def test_a_lock_that_outlives_its_process_for_a_moment_is_waited_for(tmp_path):
    import fcntl

    path = a_session(tmp_path).path
    handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    threading.Timer(0.1, os.close, [handle]).start()
    hold(path).release()


def test_all_sessions_of_a_process_share_a_hold(tmp_path):
    path = a_session(tmp_path).path
    first = hold(path)
    assert hold(path) is first
    assert path.with_suffix(".lock").exists()
    first.release()
    second = hold(path)
    assert second is not first
    del second
    assert list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize("kind", ["a link", "a missing target", "a folder"])
def test_what_stands_where_the_lock_goes_is_neither_written_nor_read(tmp_path, kind):
    path = a_session(tmp_path).path
    lock = path.with_suffix(".lock")
    precious = tmp_path / "precious.txt"
    if kind == "a link":
        precious.write_text("mine")
    if kind == "a folder":
        lock.mkdir()
    else:
        lock.symlink_to(precious)
    with pytest.raises(OSError, match=r"s\.lock"):
        hold(path)
    assert precious.exists() == (kind == "a link")
    assert precious.read_text() == "mine" if kind == "a link" else True
    assert os.path.lexists(lock)
