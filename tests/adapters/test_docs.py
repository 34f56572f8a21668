"""The examples of docs/your-agent.md, as a reader pastes them: each runs and compacts."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from offline_api.model import reply
from offline_api.server import Server
from tests.adapters.others import PYTHON, ROOT
from tests.loopback import served

PAGE = (ROOT / "docs/your-agent.md").read_text(encoding="utf-8")
EXAMPLES = {
    heading: code
    for heading, code in re.findall(
        r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```",
        PAGE,
        re.MULTILINE | re.DOTALL,
    )
    if "agentlib.adapters" in code and "Read every Python file" in code
}
CLAUDE = "Claude's agent SDK"
WINDOW = 32_000


def run(name: str, folder: Path) -> tuple[str, Server]:
    """Paste an example into a file of a folder with Python files, and run it there."""
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "lab/offline_api", folder / "offline_api", ignore=left_out)
    (folder / "pasted.py").write_text(EXAMPLES[name], encoding="utf-8")
    server = Server(reply, window=WINDOW)
    with served(server) as wire:
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_BASE_URL": wire.url,
            "ANTHROPIC_API_KEY": "any",
            "OPENAI_BASE_URL": f"{wire.url}/v1",
            "OPENAI_API_KEY": "any",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or it asks the network
            "INSPECT_DISPLAY": "none",
        }
        done = subprocess.run(
            [PYTHON, "pasted.py"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout, server


@pytest.mark.parametrize("name", [each for each in EXAMPLES if each != CLAUDE])
def test_an_example_of_the_page_runs_as_it_stands_and_compacts(
    name: str, tmp_path: Path
):
    printed, _ = run(name, tmp_path)
    counts = [int(each) for each in re.findall(r"(\d+) compactions", printed)]
    assert sum(counts) >= 1
    report = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## \S+\.py", report, re.MULTILINE)) >= 10


def test_the_example_of_claudes_sdk_leaves_the_transcript(tmp_path: Path):
    run(CLAUDE, tmp_path)
    assert list(tmp_path.glob("archive/*.jsonl"))


def test_the_page_names_the_versions_that_are_tried():
    tried = (ROOT / "tests/adapters/requirements.txt").read_text(encoding="utf-8")
    for name, version in re.findall(
        r"^([\w-]+)(?:\[\w+\])?==(\S+)", tried, re.MULTILINE
    ):
        if not name.startswith("langchain-"):
            assert re.search(rf"`{name}` {re.escape(version)}", PAGE), name
