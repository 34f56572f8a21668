"""Claude Code itself, offline: it reads, compacts and reports, without key and network."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from others import ROOT

from agentlib.lab.api.__main__ import listen
from agentlib.lab.api.server import Headers, Reply
from agentlib.lab.sessions import load
from agentlib.lab.sessions.one import compactions

ASKED = "Read every Python file one by one and write a report"
WINDOW = 100_000
"""Tokens that CLAUDE_CODE_AUTO_COMPACT_WINDOW names."""
COUNTS = (
    *("input_tokens", "cache_creation_input_tokens"),
    *("cache_read_input_tokens", "output_tokens"),
)
MODEL_COUNTS = (
    *("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens"),
)


class Ran(NamedTuple):
    """What a run left behind."""

    folder: Path
    result: dict[str, Any]
    session: Path
    answers: list[str]
    """The bodies of the server's answers of status 200 to POST /v1/messages."""
    errors: str
    """What the server wrote to its terminal."""


def forward(url: str, answers: list[str]) -> Any:
    """Hand each request on to the server that the command started, and keep its answers."""

    def answer(method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        kept = {name: value for name, value in headers.items() if name not in ("host",)}
        request = urllib.request.Request(f"{url}{path}", raw or None, kept, method=method)
        try:
            with urllib.request.urlopen(request) as response:
                body = response.read()
                if path == "/v1/messages":
                    answers.append(body.decode())
                return Reply(200, {"content-type": response.headers["content-type"]}, body)
        except urllib.error.HTTPError as refused:
            return Reply(refused.code, {"content-type": "application/json"}, refused.read())

    return answer


def usage_of(answer: str) -> list[int]:
    usages = re.findall(r'"usage": (\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})', answer)
    usage = json.loads(usages[-1])
    return [usage[name] for name in COUNTS]


def total(rows: list[list[int]]) -> list[int]:
    return [sum(row) for row in zip(*rows, strict=True)]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: Any) -> Ran:
    home, work = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("work")
    source = Path(email.__file__).parent
    shutil.copytree(source, work / "email", ignore=shutil.ignore_patterns("__pycache__"))
    name = "claude.exe" if os.name == "nt" else "claude"
    (binary,) = (ROOT / "build/adapters").glob(f"**/claude_agent_sdk/_bundled/{name}")
    command = [sys.executable, "-m", "agentlib.lab.api", "--port", "0"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    answers: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, **pipes) as server:
        url = server.stdout.readline().strip().partition("=")[2]
        wire = listen(forward(url, answers))
        threading.Thread(target=wire.serve_forever, args=(0.01,), daemon=True).start()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{wire.server_port}",
            "ANTHROPIC_API_KEY": "any",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(WINDOW),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        options = ["--model", "claude-haiku-5-5", "--output-format", "json"]
        tools = ["--allowedTools", "Bash,Read,Write,Edit"]
        try:
            done = subprocess.run(
                [binary, "-p", ASKED, *options, *tools],
                cwd=work,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
        finally:
            wire.shutdown()
            wire.server_close()
            server.terminate()
            _, errors = server.communicate()
    parts = json.loads(done.stdout)
    result = parts[-1] if isinstance(parts, list) else parts
    (session,) = home.glob(".claude/projects/*/*.jsonl")
    return Ran(work, result, session, answers, errors)


def test_it_reports_on_every_file(ran: Ran):
    files = [path.relative_to(ran.folder).as_posix() for path in ran.folder.rglob("*.py")]
    sections = re.findall(r"^## (\S+)\n(.*)", (ran.folder / "REPORT.md").read_text(), re.MULTILINE)
    described = [path for path, purpose in sections if purpose.startswith("Purpose: ")]
    assert sorted(described) == sorted(files)
    assert ran.result["is_error"] is False


def test_it_compacts_three_times_by_itself(ran: Ran):
    rows = compactions(load(ran.session))
    assert len(rows) >= 3
    assert all(row["trigger"] == "auto" and row["after"] < row["before"] for row in rows)
    assert all("- [task] " + ASKED in row["summary"] for row in rows)


def test_the_session_file_has_the_totals_of_the_server(ran: Ran):
    session = load(ran.session)
    answers = [usage_of(each) for each in ran.answers if "<summary>" not in each]
    ours = [[request.usage.get(name) or 0 for name in COUNTS] for request in session.requests]
    assert len(ours) == len(answers)
    assert total(ours) == total(answers)
    assert session.skipped == []


def test_what_it_was_billed_for_is_what_the_server_counted(ran: Ran):
    (billed,) = ran.result["modelUsage"].values()
    counted = total([usage_of(each) for each in ran.answers])
    assert [billed[name] for name in MODEL_COUNTS] == counted


def test_each_compaction_asks_once(ran: Ran):
    asked = sum("<summary>" in answer for answer in ran.answers)
    assert asked == len(load(ran.session).compactions)


def test_the_server_writes_no_traceback(ran: Ran):
    assert "Traceback" not in ran.errors
