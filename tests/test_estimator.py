"""benchmarks/estimator: how far the estimators are from what sessions were billed."""

import json
import os
import runpy
from pathlib import Path

import pytest

from agentlib.lab import sessions

FOLDER = os.environ.get("REAL_SESSIONS")
SCRIPT = runpy.run_path(str(Path(__file__).parent / "benchmarks" / "estimator.py"))


def line(kind: str, number: int, content: str, billed: int = 0) -> str:
    message = {"id": number, "content": content, "usage": {"input_tokens": billed}}
    return json.dumps({"type": kind, "uuid": f"{number}", "message": message}) + "\n"


def test_the_table_has_the_error_of_every_response_but_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = line("user", 1, "go") + line("assistant", 2, "x" * 100, 100)
    then = line("user", 3, "y" * 100) + line("assistant", 4, "ok", 160)
    (tmp_path / "a.jsonl").write_text(first + then, encoding="utf-8")
    assert SCRIPT["main"]([str(tmp_path)]) == 0
    row = capsys.readouterr().out.splitlines()[2].split()
    assert row[:4] == ["a", "1", "1.250", "1.250"]  # 100 + 28.5 + 30 are 158, billed were 160


def test_a_percentile_lies_between_its_neighbours() -> None:
    assert SCRIPT["percentile"]([1.0, 3.0, 2.0], 0.75) == 2.5


@pytest.mark.skipif(not FOLDER, reason="needs REAL_SESSIONS=DIR, a folder of Claude Code's files")
def test_the_anchored_estimate_is_within_its_limits_on_the_real_compaction() -> None:
    session = sessions.load(Path(str(FOLDER)) / "cli-2.1.39-auto-compaction.jsonl")
    found = SCRIPT["errors"](session, "anchored")
    assert SCRIPT["percentile"](found, 0.5) <= 0.05
    assert SCRIPT["percentile"](found, 0.95) <= 0.7
