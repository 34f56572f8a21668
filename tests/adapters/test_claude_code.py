"""Claude Code itself, offline: it reads, compacts and reports, without key and
network."""

import email
import re
from pathlib import Path
from typing import Any

import pytest

from session_report import load
from session_report.one import compactions
from tests.adapters.claude_code import ASKED, COUNTS, Ran, run, usage_of

MODEL_COUNTS = (
    *(
        "inputTokens",
        "cacheCreationInputTokens",
        "cacheReadInputTokens",
        "outputTokens",
    ),
)


def total(rows: list[list[int]]) -> list[int]:
    return [sum(row) for row in zip(*rows, strict=True)]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: Any) -> Ran:
    work = tmp_path_factory.mktemp("work")
    home = tmp_path_factory.mktemp("home")
    return run(Path(email.__file__).parent, work, home)


def test_it_reports_on_every_file(ran: Ran):
    files = [
        path.relative_to(ran.folder).as_posix() for path in ran.folder.rglob("*.py")
    ]
    sections = re.findall(
        r"^## (\S+)\n(.*)", (ran.folder / "REPORT.md").read_text(), re.MULTILINE
    )
    described = [path for path, purpose in sections if purpose.startswith("Purpose: ")]
    assert sorted(described) == sorted(files)
    assert ran.result["is_error"] is False


def test_it_compacts_three_times_by_itself(ran: Ran):
    rows = compactions(load(ran.session))
    assert len(rows) >= 3
    assert all(
        row["trigger"] == "auto" and row["after"] < row["before"] for row in rows
    )
    assert all("- [task] " + ASKED in row["summary"] for row in rows)


def test_the_session_file_has_the_totals_of_the_server(ran: Ran):
    session = load(ran.session)
    answers = [usage_of(each) for each in ran.answers if "<summary>" not in each]
    ours = [
        [request.usage.get(name) or 0 for name in COUNTS]
        for request in session.requests
    ]
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
