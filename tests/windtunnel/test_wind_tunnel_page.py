"""The page for authors of agents: its workflow's steps run."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/wind-tunnel.md"


def test_the_steps_of_the_workflow_run_and_keep_every_request(tmp_path: Path):
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (job,) = yaml.safe_load(block)["jobs"].values()
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    fake = Path(__file__).with_name("data") / "fake_agent.py"
    pip = tmp_path / "bin/pip"  # says what it would install
    pip.parent.mkdir()
    pip.write_text('#!/bin/sh\necho "$2" > installed.txt\n')
    pip.chmod(0o755)
    places = os.pathsep.join([str(pip.parent), places])
    for step in filter(lambda step: "run" in step, job["steps"]):
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"].replace("40000", "8000")],
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": places,
                "PYTHONPATH": str(ROOT),
                "AGENT": str(fake),
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, 1), done.stderr
    kept = tmp_path / "verdict/1"
    row = json.loads((kept / "verdict.json").read_text())
    lines = (kept / "requests.jsonl").read_text().splitlines()
    assert len(lines) == row["requests"]
    assert json.loads(lines[0])["request"]["messages"]
    assert (kept / "prompts.png").exists()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = Requirement((tmp_path / "installed.txt").read_text())
    assert wanted.name == project["name"]
    assert wanted.extras <= {*project["optional-dependencies"]}
