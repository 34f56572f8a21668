"""The agents of docs/agents: as they are made, and at work on a real folder."""

import ast
import email
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentlib.messages import SUMMARY_END, SUMMARY_HEADER
from offline_api.faults import Fault
from offline_api.model import reply
from offline_api.server import Server
from tests.course.rooms.solved import bare
from tests.loopback import served
from tools import agents
from tools.agents import HOUR, OUT, STAGES, solution

PROMPT = "Read every Python file one by one and write a report"
LARGEST = "_header_value_parser.py"
NAMES = [stage.name for stage in (*STAGES, HOUR)]
SOLVED = {
    "00.1": "loop",
    "01.1": "estimate_tokens",
    "01.3": "next_prompt",
    "02.2": "clear_view",
    "03.2": "keep_last",
    "04.1": "focus_of",
    "05.1": "append",
    "05.2": "load",
    "05.3": "close_calls",
    "06.1": "with_head",
    "06.2": "hand_off",
    "07.4": "stand_in",
}
"""The learner's functions in the last agent, by exercise."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the standard library's `email`, which no window of 32,000 holds."""
    source = Path(email.__file__).parent
    copy = tmp_path / "email"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@contextmanager
def started(
    name: str, folder: Path, *prompts: str, faults: Sequence[Fault] = ()
) -> Iterator["subprocess.Popen[str]"]:
    """Start an agent in a folder, against an offline API of its own."""
    with served(Server(reply, window=32_000, faults=faults)) as api:
        offline = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "any"}
        with subprocess.Popen(
            [sys.executable, str(OUT / f"{name}.py"), *prompts],
            cwd=folder,
            env={**os.environ, **offline},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as agent:
            yield agent


def told(name: str, folder: Path, *prompts: str, faults: Sequence[Fault] = ()) -> str:
    """Let an agent work to its end, and return what it printed."""
    with started(name, folder, *prompts, faults=faults) as agent:
        return agent.communicate()[0]


def described(folder: Path) -> set[str]:
    """Return the files that the report says something about."""
    text = (folder / "REPORT.md").read_text(encoding="utf-8")
    sections = [section.split("\n") for section in text.split("\n## ")[1:]]
    return {name for name, *lines in sections if lines[0].startswith("Purpose: ")}


def results(folder: Path) -> list[str]:
    """Return the texts of all results in the agent's file."""
    lines = (folder / ".transcript.jsonl").read_text(encoding="utf-8").split("\n")
    contents = [json.loads(line)["content"] for line in lines if line]
    blocks = [block for each in contents if isinstance(each, list) for block in each]
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


def modules(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}


# -- as they are made ------------------------------------------------------------------


def test_the_files_are_what_the_tool_writes():
    stored = {path.name: path.read_text(encoding="utf-8") for path in OUT.iterdir()}
    assert stored == agents.files()


def test_no_file_has_more_than_300_lines():
    lines = {name: text.count("\n") for name, text in agents.files().items()}
    assert {name for name in lines if lines[name] > 300} <= {"README.md"}


def test_the_learners_functions_are_the_published_ones():
    source = (OUT / "07_recovery.py").read_text(encoding="utf-8")
    functions = {
        node.name: ast.unparse(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
    for exercise, name in SOLVED.items():
        assert bare(functions[name]) == bare(solution(exercise))


def test_an_agent_needs_anthropic_and_the_standard_library_alone():
    for name in NAMES:
        tree = ast.parse((OUT / f"{name}.py").read_text(encoding="utf-8"))
        imported = {
            str(node.module) if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        packages = {module.partition(".")[0] for module in imported}
        assert packages - sys.stdlib_module_names == {"anthropic"}


# -- at work ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES[:3])
def test_without_summaries_the_agent_ends_at_its_wall_and_says_so(name, folder):
    assert "The wall: " in told(name, folder, PROMPT).splitlines()[-1]
    assert not (folder / "REPORT.md").exists()


def test_clearing_brings_the_agent_through_a_folder_without_large_files(folder):
    (folder / LARGEST).unlink()
    assert "The wall: " in told("01_estimation", folder, PROMPT)
    assert "The wall: " not in told("02_micro_compact", folder, PROMPT)
    assert described(folder) == modules(folder)


@pytest.mark.parametrize("name", NAMES[3:])
def test_with_summaries_the_agent_writes_its_report(name, folder):
    assert "[compacted: " in told(name, folder, PROMPT)
    assert described(folder) == modules(folder)
    if name >= "05":
        assert (folder / "_parseaddr.py").read_text("utf-8") in results(folder)


def test_the_model_compacts_when_it_is_asked_to(folder):
    prompt = "Compact the conversation, focus on the rules"
    told("05_transcripts", folder, "Where is EMPTYSTRING set?")
    assert "> compact" in (output := told("05_transcripts", folder, prompt))
    assert "[compacted: " in output


@pytest.mark.parametrize("name", ["05_transcripts", "07_recovery"])
def test_a_killed_agent_goes_on(name, folder):
    file = folder / ".transcript.jsonl"
    with started(name, folder, PROMPT) as agent:
        while not file.exists() or file.read_text(encoding="utf-8").count("\n") < 30:
            assert agent.poll() is None
            time.sleep(0.01)
        agent.kill()
    assert not (folder / "REPORT.md").exists()
    file.write_bytes(file.read_bytes()[:-40])  # the power fails in a line
    told(name, folder)
    assert described(folder) == modules(folder)


def test_a_transcript_that_begins_with_a_summary_is_gone_on_with(folder):
    top = f"{SUMMARY_HEADER}t]\n\nNothing is open.\n{SUMMARY_END}"
    line = json.dumps({"role": "user", "content": top})
    (folder / ".transcript.jsonl").write_text(f"{line}\n", encoding="utf-8")
    output = told("07_recovery", folder, "Where is EMPTYSTRING set?")
    assert "EMPTYSTRING" in output.splitlines()[-1]


@pytest.mark.parametrize("name", [NAMES[0], *NAMES[-2:]])
def test_an_agent_without_a_key_or_a_prompt_says_so_in_a_line(name, tmp_path):
    bare = {k: v for k, v in os.environ.items() if not k.startswith("ANTHROPIC_")}
    for more, words in (
        ({}, "Set ANTHROPIC_API_KEY."),
        ({"ANTHROPIC_API_KEY": "any"}, "say what to do"),
    ):
        ended = subprocess.run(
            [sys.executable, str(OUT / f"{name}.py")],
            cwd=tmp_path,
            env={**bare, **more},
            capture_output=True,
            text=True,
        )
        [line] = ended.stderr.splitlines()
        assert words.lower() in line.lower()
        assert ended.returncode == 1


def test_the_last_agent_stops_at_its_limit_and_goes_on_without_a_prompt(
    folder, tmp_path, monkeypatch
):
    text = (OUT / "07_recovery.py").read_text(encoding="utf-8")
    assert "left = 200 " in text
    (tmp_path / "few.py").write_text(text.replace("left = 200 ", "left = 12 "), "utf-8")
    monkeypatch.setattr(sys.modules[__name__], "OUT", tmp_path)
    assert "It has made all its requests." in told("few", folder, PROMPT)
    assert not (folder / "REPORT.md").exists()
    while "It has made all its requests." in told("few", folder):
        pass
    assert described(folder) == modules(folder)


@pytest.mark.parametrize("kind", ["empty", "500"])
def test_the_last_agent_goes_on_if_no_summary_comes(kind, folder):
    output = told("07_recovery", folder, PROMPT, faults=[Fault(kind, only="summary")])
    assert "[no summary: " in output
    assert "[compacted: " in output
    assert modules(folder) == described(folder)
