"""The adapters in the real frameworks: a task that doesn't fit the window is done."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import session_report as sessions
from agentlib.messages import asks_for_summary, tool_names
from agentlib.transcripts import load
from offline_api.model import reply
from offline_api.server import Headers, Reply, Server
from tests.adapters.others import PYTHON, ROOT
from tests.loopback import served

ASKED = "Read every Python file one by one and write a report"
PACKAGE = ROOT / "lab/offline_api"
AGENTS = ROOT / "tests/adapters/agents"
FRAMEWORKS = {
    "langchain": 16_000,
    "deepagents": 24_000,
    "pydantic": 16_000,
    "openai": 16_000,
}


class Noted(Server):
    """A server that keeps what it was asked for and refused."""

    def __init__(self, window: int) -> None:
        super().__init__(reply, window=window)
        self.summaries = 0
        self.refusals: list[bytes] = []

    def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        answered = super().answer(method, path, headers, raw)
        if path == "/v1/messages":
            self.summaries += asks_for_summary(json.loads(raw)["messages"])
        if answered.status >= 400:
            self.refusals.append(answered.body)
        return answered


def run(script: str, folder: Path, server: Server) -> str:
    for source in PACKAGE.glob("*.py"):
        if source.stat().st_size < 10_000:
            shutil.copy(source, folder)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "ANTHROPIC_API_KEY": "any",
    }
    with served(server) as wire:
        done = subprocess.run(
            [PYTHON, AGENTS / f"{script}.py", wire.url, ASKED, str(server.window)],
            cwd=folder,
            env={**environment, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def is_done(folder: Path) -> bool:
    report = (folder / "REPORT.md").read_text()
    files = sorted(path.name for path in folder.glob("*.py"))
    return re.findall(r"^## (\S+)", report, re.MULTILINE) == files


@pytest.mark.parametrize(("framework", "window"), FRAMEWORKS.items())
def test_a_task_that_does_not_fit_the_window_is_done(
    framework: str, window: int, tmp_path: Path
):
    server = Noted(window)
    calls = int(run(f"compacting_{framework}", tmp_path, server).split()[-1])
    assert is_done(tmp_path)
    assert server.refusals == []
    (session,) = (load(path) for path in tmp_path.glob("sessions/*.jsonl"))
    assert len(session.compactions) == server.summaries >= 1
    assert session.damage == session.skipped == []
    # The framework's record is whole, and the view is not.
    assert calls == len(tool_names(session.history)) > len(tool_names(session.context))


def test_inspect_keeps_the_view_itself_and_the_whole_log(tmp_path: Path):
    server = Noted(16_000)
    events, calls = map(int, run("compacting_inspect", tmp_path, server).split()[-2:])
    assert is_done(tmp_path)
    assert server.refusals == []
    files = [load(path) for path in tmp_path.glob("sessions/*.jsonl")]
    assert (
        sum(len(each.compactions) for each in files) == events == server.summaries >= 1
    )
    assert calls > max(len(tool_names(each.history)) for each in files)


def alone(script: str, folder: Path) -> str:
    """What a script prints that needs no server."""
    done = subprocess.run(
        [PYTHON, AGENTS / f"{script}.py"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def test_the_task_stays_in_inspects_view_once_however_often_it_is_nudged(
    tmp_path: Path,
):
    summed, refused = map(json.loads, alone("words_inspect", tmp_path).splitlines())
    assert summed == [[1, 1]] * 5
    assert [task for task, _ in refused] == [1] * 5
    files = [load(path) for path in tmp_path.glob("stop/*.jsonl")]
    assert all(c.failure is None for each in files for c in each.compactions)


def test_the_task_stays_where_pydantic_asks_again_for_a_structured_answer(
    tmp_path: Path,
):
    there, requests = map(int, alone("words_pydantic", tmp_path).split())
    assert there == requests == 25
    (session,) = (load(path) for path in tmp_path.glob("sessions/*.jsonl"))
    assert len(session.compactions) >= 2


def test_an_error_that_langchain_turns_into_a_message_is_no_summary(tmp_path: Path):
    requests, wrong = map(int, alone("retries_langchain", tmp_path).split())
    assert (requests, wrong) == (16, 0)
    (session,) = (load(path) for path in tmp_path.glob("sessions/*.jsonl"))
    assert session.compactions
    assert all(each.failure for each in session.compactions)


def test_claude_code_leaves_its_transcript_before_it_compacts(tmp_path: Path):
    server = Noted(200_000)
    trigger = run("compacting_claude", tmp_path, server).split()[-1]
    (copy,) = tmp_path.glob("archive/*.jsonl")
    session = sessions.load(copy)
    assert (trigger, session.compactions) == ("manual", [])
    assert len(tool_names(session.history)) >= len(list(tmp_path.glob("*.py")))


@pytest.mark.parametrize(
    ("details", "written"),
    [
        (
            {
                "cache_read": 6_679,
                "cache_creation": 0,
                "ephemeral_5m_input_tokens": 3_279,
            },
            3_279,
        ),
        ({"cache_read": 6_679, "cache_creation": 3_279}, 3_279),
        ({"cache_read": 6_679, "ephemeral_1h_input_tokens": 20, "audio": 7}, 20),
    ],
)
def test_langchains_bill_says_what_was_written_to_the_cache(
    details: dict[str, int], written: int
):
    script = [PYTHON, AGENTS / "bill_of_langchain.py", json.dumps(details)]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    usage = json.loads(subprocess.check_output(script, env=environment))
    assert usage == {
        "input_tokens": 10_000 - 6_679 - written,
        "output_tokens": 50,
        "cache_read_input_tokens": 6_679,
        "cache_creation_input_tokens": written,
    }
