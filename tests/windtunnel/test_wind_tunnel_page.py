"""The page for authors of agents: its workflow's steps run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/wind-tunnel.md"


def test_the_steps_of_the_workflow_run(tmp_path: Path):
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (job,) = yaml.safe_load(block)["jobs"].values()
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    fake = Path(__file__).with_name("data") / "fake_agent.py"
    for step in filter(lambda step: "run" in step, job["steps"]):
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
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
    assert (tmp_path / "verdict/1/verdict.json").exists()
