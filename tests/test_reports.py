"""The agent over the standard library: every statement of its report is true of the source."""

import email
from pathlib import Path
from typing import Any

import pytest

from agentlib.lab import model as policy
from agentlib.lab.play import play
from agentlib.messages import of_type
from agentlib.presets import DEFAULT
from agentlib.settings import Settings
from tests.runs import folder

LIBRARY = Path(email.__file__).parent.parent
LOW = Settings.from_env(DEFAULT, environ={}, threshold=12_000)


@pytest.mark.parametrize(("package", "compactions"), [("email", 5), ("json", 0)])
def test_no_statement_of_the_report_is_false(package: str, compactions: int) -> None:
    run = play(folder(LIBRARY / package), LOW)
    assert run.refused == ""
    assert run.checks["false"] == 0
    assert run.checks["described"] + run.checks["lost"] == run.checks["files"]
    assert run.checks["described"] > 0
    assert len(run.session.compactions) >= compactions


def test_with_blanked_results_the_report_is_not_true_and_whole() -> None:
    def blank(body: dict[str, Any]) -> dict[str, Any]:
        for message in body["messages"]:
            for result in of_type(message, "tool_result") if message["role"] == "user" else ():
                result["content"] = "(blank)"
        return policy.reply(body)

    run = play(folder(LIBRARY / "email"), LOW, model=blank, max_turns=100)
    assert run.checks["false"] or run.checks["described"] == 0
