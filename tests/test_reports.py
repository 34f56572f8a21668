"""The agent over the standard library: every statement of its report is true of the source.

Issue 2's measure, kept as a test: the `email` package with a compaction point of 12,000 tokens, and
a second folder; with the results blanked in the request bodies the same run fails the check.
"""

import email
import json
from pathlib import Path
from typing import Any

import pytest
from playing import Played, play

from agentlib.lab import model as policy
from agentlib.lab.tasks.fact_check import check_report
from agentlib.lab.tasks.scenarios import Scenario, folder
from agentlib.messages import of_type, result_text
from agentlib.presets import DEFAULT
from agentlib.settings import Settings

LIBRARY = Path(email.__file__).parent.parent
LOW = Settings.from_env(DEFAULT, environ={}, threshold=12_000)


def reported(played: Played) -> str:
    path = played.folder / "REPORT.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@pytest.fixture(scope="module", params=["email", "json"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    task: Scenario = folder(LIBRARY / request.param)
    return play(task, LOW, tmp_path_factory.mktemp(request.param))


def test_no_statement_of_the_report_is_false(played: Played) -> None:
    checked = check_report(reported(played), played.folder)
    files = list(played.folder.rglob("*.py"))
    assert played.error is None
    assert checked.false == ()
    assert checked.described + checked.lost == len(files)
    assert checked.statements > checked.described > 0


def test_every_result_stands_whole_in_the_session_file(played: Played) -> None:
    """What was read, as the tool gave it: compaction and clearing took nothing from the file."""
    assert played.session.path
    text = played.session.path.read_text(encoding="utf-8")
    lines = (json.loads(line) for line in text.strip().split("\n"))
    shown = {
        block["tool_use_id"]: result_text(block)
        for line in lines
        if line["type"] == "user" and not line.get("isCompactSummary")
        for block in of_type(line["message"], "tool_result")
    }
    results = {
        block["tool_use_id"]: result_text(block)
        for turn in played.turns
        for message in turn.messages
        if message["role"] == "user"
        for block in of_type(message, "tool_result")
    }
    assert shown == results
    read = sum(text.count("\n") + 1 for text in results.values())
    source = [p.read_text(encoding="utf-8") for p in played.folder.rglob("*.py")]
    assert read > sum(text.count("\n") for text in source)


def test_the_email_package_is_many_windows_long(played: Played) -> None:
    if "email" in str(played.folder):
        assert len(played.compactions) >= 5


def test_with_blanked_results_the_report_is_not_true_and_whole(tmp_path: Path) -> None:
    def brain(body: dict[str, Any]) -> dict[str, Any]:
        for message in body["messages"]:
            for result in of_type(message, "tool_result") if message["role"] == "user" else ():
                result["content"] = "(blank)"
        return policy.reply(body)

    played = play(folder(LIBRARY / "email"), LOW, tmp_path, model=brain, max_turns=100)
    checked = check_report(reported(played), played.folder)
    assert checked.false or checked.described == 0
