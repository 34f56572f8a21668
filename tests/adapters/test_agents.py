"""Frameworks of others read a package and report on it, with the tools that each
has."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from offline_api.model import reply
from offline_api.server import Server
from tests.adapters.others import PYTHON, ROOT
from tests.loopback import served

ASKED = "Read every Python file one by one and write a report"
OURS = ROOT / "tests/adapters/agents"
TUNNEL = ROOT / "lab/windtunnel/programs/data"
AGENTS = {
    "mini_swe_agent": TUNNEL,  # the wind tunnel starts it in the same way
    "deep_agents": OURS,
    "smol_agents": OURS,
    "inspect_agent": OURS,
}
"""Scripts that start an agent, and their folders."""
PACKAGE = ROOT / "lab/offline_api"


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_of_others_reports_on_every_file(agent: str, tmp_path: Path):
    # The reading is shown 16 kB of a result by one of them, so the files are small
    # ones.
    for source in PACKAGE.glob("*.py"):
        if source.stat().st_size < 10_000:
            shutil.copy(source, tmp_path)
    script = AGENTS[agent] / f"{agent}.py"
    with served(Server(reply)) as wire:
        done = subprocess.run(
            [PYTHON, script, wire.url, ASKED],
            cwd=tmp_path,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                "ANTHROPIC_API_KEY": "any",
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    files = sorted(path.name for path in tmp_path.glob("*.py"))
    report = (tmp_path / "REPORT.md").read_text()
    assert re.findall(r"^## (\S+)\nPurpose: ", report, re.MULTILINE) == files
