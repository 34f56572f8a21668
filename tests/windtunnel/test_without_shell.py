"""An agent without a shell: a web page has no processes."""

from pathlib import Path

import pytest

from agentlib.settings import Settings
from agentlib.tools import ToolError
from windtunnel.parts import ToolBench
from windtunnel.runner import play
from windtunnel.tasks.scenarios import REVIEW

SMALL = Settings(manual=False).scaled(16_000)


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/one.py").write_text("x = 1\ny = 2\n", "utf-8")
    (tmp_path / "a/b/two.py").write_text("é", "utf-8")
    (tmp_path / "notes.md").write_text("", "utf-8")
    return ToolBench(tmp_path, shell=False)


def test_it_has_glob_in_place_of_bash(bench: ToolBench):
    names = [each["name"] for each in bench.definitions]
    assert names == ["glob", "read_file", "write_file", "edit_file"]
    assert {*names} == {*bench.tools}
    with pytest.raises(ToolError, match="no tool 'bash'"):
        bench.run("bash", {"command": "ls"})


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("/a/**/*.py", ["0 2 /a/b/two.py", "2 12 /a/one.py"]),
        ("a/*.py", ["2 12 /a/one.py"]),
        ("**/*.md", ["0 0 /notes.md"]),
    ],
)
def test_glob_prints_lines_bytes_and_whole_paths(bench: ToolBench, pattern, lines):
    assert bench.run("glob", {"pattern": pattern}).splitlines() == lines


@pytest.mark.parametrize("pattern", ["", "/", "../*", "a/../../*", "*.txt", "a["])
def test_a_pattern_that_fits_nothing_or_leads_out_is_refused(bench, pattern):
    with pytest.raises(ToolError):
        bench.run("glob", {"pattern": pattern})


def test_the_model_lists_and_reads_with_it_and_finishes(monkeypatch):
    monkeypatch.setattr("agentlib.tools.shell.run", lambda *_, **__: pytest.fail("ran"))
    run = play(REVIEW, SMALL, shell=False)
    calls = {
        block["name"]
        for message in run.session.history
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_use"
    }
    assert calls == {"glob", "read_file", "write_file"}
    assert run.checks["done"]
    assert run.checks["files"] == 19
