"""benchmarks/estimator: the estimators beside the bills of sessions."""

import json
import os
import runpy
from pathlib import Path

import pytest

from agentlib.lab import sessions

FOLDER = os.environ.get("REAL_SESSIONS")
SCRIPT = runpy.run_path(str(Path(__file__).parent / "benchmarks" / "estimator.py"))


def line(kind: str, number: int, content: str, billed: int = 0, **more: object) -> str:
    message = {"id": number, "content": content, "usage": {"input_tokens": billed}}
    return json.dumps({"type": kind, "uuid": f"{number}", "message": message, **more}) + "\n"


def test_the_table_has_the_error_of_every_response_but_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = line("user", 1, "go") + line("assistant", 2, "x" * 100, 100)
    then = line("user", 3, "y" * 100) + line("assistant", 4, "ok", 160)
    (tmp_path / "a.jsonl").write_text(first + then, encoding="utf-8")
    assert SCRIPT["main"]([str(tmp_path)]) == 0
    *_, row, growth = capsys.readouterr().out.splitlines()
    assert row.split()[:4] == ["a", "1", "1.250", "1.250"]  # 100 + 28.5 + 30 are 158 of 160
    assert growth == (
        "The median of 1 turns added 60 tokens, the largest 60. More than 13,000 came 0 times."
    )


def test_the_first_response_after_a_compaction_does_not_count(tmp_path: Path) -> None:
    lines = line("user", 1, "go") + line("assistant", 2, "x" * 100, 100)
    lines += line("system", 3, "", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    lines += line("user", 4, "what was done", isCompactSummary=True)
    lines += line("assistant", 5, "x" * 100, 900) + line("user", 6, "y" * 100)
    (tmp_path / "a.jsonl").write_text(lines + line("assistant", 7, "ok", 960), encoding="utf-8")
    session = sessions.load(tmp_path / "a.jsonl")
    assert [bool(each.message) for each in session.compactions] == [True]
    assert SCRIPT["errors"](session, "anchored") == [pytest.approx(2 / 9.6)]  # 900 + 28.5 + 30


@pytest.mark.skipif(not FOLDER, reason="needs REAL_SESSIONS=DIR, a folder of Claude Code's files")
def test_the_anchored_estimate_is_within_its_limits_on_the_real_compaction() -> None:
    session = sessions.load(Path(str(FOLDER)) / "cli-2.1.39-auto-compaction.jsonl")
    percents = SCRIPT["errors"](session, "anchored")
    assert SCRIPT["percentile"](percents, 0.5) <= 0.05
    assert SCRIPT["percentile"](percents, 0.95) <= 0.7
