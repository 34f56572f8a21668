"""The page for authors of agents: its workflow's steps run."""

import json
import os
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from windtunnel.__main__ import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/wind-tunnel.md"
AGENT = Path(__file__).with_name("data") / "fake_agent.py"
SMALL = ["--window", "8000"]
"""Fewer requests than in the page's window. The last one given counts."""


def steps() -> list[list[str]]:
    """Return the words of each command of the workflow."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (job,) = yaml.safe_load(block)["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    return [shlex.split(command.replace("\\\n", " ")) for command in commands]


def test_the_workflow_installs_the_project_with_an_extra_that_it_has():
    pip, install, package = steps()[0]
    assert (pip, install) == ("pip", "install")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = Requirement(package)
    assert wanted.name == project["name"]
    assert wanted.extras <= {*project["optional-dependencies"]}


def test_the_workflow_judges_an_agent_and_keeps_every_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT", str(AGENT))
    python = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", python, prepend=os.pathsep)
    judge, *words = map(os.path.expandvars, steps()[1])
    assert judge == "agentlib-judge"
    with pytest.raises(SystemExit) as ended:
        main([*words, *SMALL])
    assert ended.value.code in (0, 1)
    kept = tmp_path / "verdict/1"
    row = json.loads((kept / "verdict.json").read_text())
    lines = (kept / "requests.jsonl").read_text().splitlines()
    assert len(lines) == row["requests"]
    assert json.loads(lines[0])["request"]["messages"]
