"""A guest never harms its host: what people do in each framework ends as it would
without us, past the window, and its record is sound."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentlib.transcripts import load
from tests.adapters.others import PYTHON, ROOT

AGENTS = ROOT / "tests/adapters/agents"


@pytest.mark.parametrize("framework", ["langchain", "pydantic", "openai", "inspect"])
def test_an_agent_ends_as_it_would_without_us(framework: str, tmp_path: Path):
    done = subprocess.run(
        [PYTHON, AGENTS / f"guests_{framework}.py"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    outcomes: dict[str, list[Any]] = json.loads(done.stdout.splitlines()[-1])
    assert len(outcomes) >= 3
    for scenario, (without, guest) in outcomes.items():
        assert "Error" not in str(without), scenario
        assert guest == without, scenario
    assert "adapter_failed" not in done.stderr
    sessions = [load(path) for path in tmp_path.glob("sessions/*.jsonl")]
    assert all(session.damage == session.skipped == [] for session in sessions)
    taken = [each for s in sessions for each in s.compactions if each.message]
    assert len(taken) >= 3
