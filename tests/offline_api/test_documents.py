"""learn-claude-code's own script, as its text prints it, against the offline API over
HTTP.

The text is not in the project: ../shared/seeds. Without it the tests are skipped.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentlib.settings import MODEL
from offline_api.model import reply
from offline_api.server import Server
from tests.loopback import served

pytest.importorskip("dotenv")  # which the script imports
TEXTS = [*(Path(__file__).parents[3] / "shared/seeds").glob("002_*.txt")]
pytestmark = pytest.mark.skipif(not TEXTS, reason="the text is not here")
INDENTS = (
    "000000000010000000011001111234511211112334561111233310011112311111111111111221001121011212"
    "222120122321201222212012223221200000000000000000000122223322222232223455455656442223301123232322"
    "223452"
)
"""How deep each line of the script stands. The text lost its indentation on the way to
us."""
READ = "Read every Python file one by one and write a report"
COMPACT = "Use the compact tool to manually compress the conversation"


def script() -> str:
    text = TEXTS[0].read_text(encoding="utf-8")
    lines = text[text.index("#!/usr/bin/env python3") :].splitlines()
    indents = map(int, INDENTS)
    return "\n".join(4 * n * " " + line for n, line in zip(indents, lines, strict=True))


def told(folder: Path, *prompts: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a folder with six modules, and tell it the prompts."""
    for n in range(6):
        (folder / f"m{n}.py").write_text(
            f'"""Module {n}."""\n' + "x = 1  # a line\n" * 90
        )
    with served(Server(reply)) as wire:
        own = {
            "ANTHROPIC_BASE_URL": wire.url,
            "ANTHROPIC_API_KEY": "any",
            "MODEL_ID": MODEL,
        }
        return subprocess.run(
            [sys.executable, "-c", script()],
            cwd=folder,
            env=os.environ | own | {"PYTHONUTF8": "1"},
            input="\n".join(prompts) + "\n",
            capture_output=True,
            text=True,
            timeout=60,
        )


def test_the_script_finishes_a_report_and_its_first_summary_ends_it(tmp_path: Path):
    run = told(tmp_path, READ, COMPACT, "q")
    assert "I wrote REPORT.md: 6 files." in run.stdout
    assert (tmp_path / "REPORT.md").read_text().count("Module ") == 6
    assert run.returncode == 1
    assert "does not support assistant message prefill" in run.stderr
    [transcript] = (tmp_path / ".transcripts").iterdir()  # so there was none before
    assert "[Previous: used read_file]" in transcript.read_text()
