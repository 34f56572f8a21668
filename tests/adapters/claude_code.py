"""Run Claude Code against `python -m offline_api`, and keep what the server answered.

PYTHONPATH=. .venv/bin/python tests/adapters/claude_code.py    stores a run over our own package
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from course.rooms.sessions import STORED
from offline_api.__main__ import listen
from offline_api.server import Answer, Headers, Reply, Server
from session_report import load
from session_report.one import compactions
from tests.adapters.others import PYTHON, ROOT

ASKED = "Read every Python file one by one and write a report"
WINDOW = 100_000
"""Tokens that CLAUDE_CODE_AUTO_COMPACT_WINDOW names."""
_NAME = "claude.exe" if os.name == "nt" else "claude"
BINARIES = [*PYTHON.parents[1].glob(f"**/claude_agent_sdk/_bundled/{_NAME}")]
"""The program, none if it could not be installed."""
COUNTS = (
    *("input_tokens", "cache_creation_input_tokens"),
    *("cache_read_input_tokens", "output_tokens"),
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
    requests: list[dict[str, Any]]
    """The bodies of the requests that `answers` answer, in their order."""


def forward(url: str) -> Answer:
    """Hand each request on to the server that the command started."""

    def answer(method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        kept = {name: value for name, value in headers.items() if name not in ("host",)}
        request = urllib.request.Request(
            f"{url}{path}", raw or None, kept, method=method
        )
        try:
            with urllib.request.urlopen(request) as response:
                headers = {"content-type": response.headers["content-type"]}
                return Reply(200, headers, response.read())
        except urllib.error.HTTPError as refused:
            return Reply(
                refused.code, {"content-type": "application/json"}, refused.read()
            )

    return answer


def noting(
    answer: Answer, answers: list[str], requests: list[dict[str, Any]]
) -> Answer:
    """Keep the requests for messages that are answered, and the answers."""

    def noted(method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        reply = answer(method, path, headers, raw)
        if path.partition("?")[0] == "/v1/messages" and reply.status == 200:
            answers.append(reply.body.decode())
            requests.append(json.loads(raw))
        return reply

    return noted


@contextmanager
def started(errors: list[str]) -> Generator[Answer]:
    """Start the server as a command. Its errors are kept."""
    command = [sys.executable, "-m", "offline_api", "--port", "0"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as server:
        try:
            yield forward(server.stdout.readline().strip().partition("=")[2])
        finally:
            server.terminate()
            errors += server.communicate()[1:]


def usage_of(answer: str) -> list[int]:
    usages = re.findall(r'"usage": (\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})', answer)
    usage = json.loads(usages[-1])
    return [usage[name] for name in COUNTS]


def run(
    source: Path,
    work: Path,
    home: Path,
    *forms: str,
    prompts: Sequence[str] = (ASKED,),
    settings: Mapping[str, Any] | None = None,
    server: Server | None = None,
) -> Ran:
    """Let Claude Code read a copy of a package's files, of all or those of some forms.

    `settings` is what its settings.json holds. `server`: one in this process, in place
    of the command.
    """
    (work / source.name).mkdir()
    for path in (path for form in forms or ["**/*.py"] for path in source.glob(form)):
        copy = work / source.name / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    if settings:
        (home / ".claude").mkdir()
        text = json.dumps(settings)
        (home / ".claude/settings.json").write_text(text, encoding="utf-8")
    (binary,) = BINARIES
    answers: list[str] = []
    requests: list[dict[str, Any]] = []
    outputs: list[str] = []
    errors: list[str] = []
    with ExitStack() as stack:
        answer = server.answer if server else stack.enter_context(started(errors))
        wire = listen(noting(answer, answers, requests))
        threading.Thread(target=wire.serve_forever, args=(0.01,), daemon=True).start()
        stack.callback(wire.server_close)
        stack.callback(wire.shutdown)
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
        for number, prompt in enumerate(prompts):
            again = ["-c"] if number else []
            done = subprocess.run(
                [binary, *again, "-p", prompt, *options, *tools],
                cwd=work,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
            )
            outputs.append(done.stdout)
    parts = json.loads(outputs[-1])
    result = parts[-1] if isinstance(parts, list) else parts
    (session,) = home.glob(".claude/projects/*/*.jsonl")
    return Ran(work, result, session, answers, "".join(errors), requests)


def described(folder: Path) -> list[str]:
    """List the files that a report has a purpose for."""
    report = (folder / "REPORT.md").read_text()
    return re.findall(r"^## (\S+)\nPurpose: ", report, re.MULTILINE)


def store(ran: Ran) -> None:
    """Write the numbers of a run and its summaries, without the paths of this
    machine."""
    session = load(ran.session)
    rows = [
        {"turn": row["turn"], "before": row["before"], "after": row["after"]}
        | {"summary": re.sub(r"\S*/\.claude/\S*", "~/.claude/…", row["summary"])}
        for row in compactions(session)
    ]
    counts = [
        [request.usage.get(name) or 0 for name in COUNTS]
        for request in session.requests
    ]
    files = sorted(
        path.relative_to(ran.folder).as_posix() for path in ran.folder.rglob("*.py")
    )
    totals = map(sum, zip(*map(usage_of, ran.answers), strict=True))
    (version,) = set(re.findall(r'"version":"([\d.]+)"', ran.session.read_text()))
    stored = {
        "version": version,
        "asked": ASKED,
        "window": WINDOW,
        "files": files,
        "described": sorted(described(ran.folder)),
        "prompts": [sum(row[:3]) for row in counts],
        "compactions": rows,
        "billed": dict(zip(COUNTS, totals, strict=True)),
    }
    STORED.write_text(json.dumps(stored, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with TemporaryDirectory() as work, TemporaryDirectory() as home:
        parts = ("agentlib/*.py", "lab/offline_api/model/*.py", "lab/offline_api/*.py")
        store(run(ROOT, Path(work), Path(home), *parts))
