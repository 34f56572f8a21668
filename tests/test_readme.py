"""The READMEs and the pages of docs/: their examples run as they stand.

`tests/adapters/test_docs.py` runs those of docs/your-agent.md, which need frameworks.
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from agentlib.cli import main as terminal
from agentlib.transcripts import load
from tests.packages import PYTHONPATH
from tools import conversation

ROOT = Path(__file__).parent.parent
TEXTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "lab/README.md",
]
TERMINAL = ROOT / "docs/terminal.md"
BLOCK = re.compile(r"(<!-- not run -->\n)?^```(\w*)\n(.*?)^```", re.M | re.S)
PROGRAMS = {
    "python -m agentlib": "agentlib",
    "agentlib": "agentlib",
    "agentlib-api": "offline_api",
    "agentlib-judge": "windtunnel",
    "agentlib-sessions": "session_report",
}


def blocks(path: Path) -> list[tuple[str, str]]:
    """List the fenced blocks of a page that aren't excepted: their language and text."""
    found = BLOCK.findall(path.read_text(encoding="utf-8"))
    return [(language, text) for excepted, language, text in found if not excepted]


def commands(path: Path) -> list[str]:
    """List the commands of a page, each in one line, without what follows a `#`."""
    shown = [text for name, text in blocks(path) if name in ("bash", "console")]
    lines = "".join(shown).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.strip()]


def help_of(package: str) -> str:
    """Return what a command prints for --help."""
    module = "agentlib.cli.main" if package == "agentlib" else f"{package}.__main__"
    command: click.Command = import_module(module).command
    return command.get_help(click.Context(command, info_name=package))


def obey(command: str, monkeypatch: pytest.MonkeyPatch, lines: str = "") -> int:
    """Run a command of a page in this process, with these lines typed at its prompt.

    Return its exit code. `test_main` holds that the agent is a program.
    """
    python, option, package, *words = shlex.split(command.replace("\\\n", " "))
    assert [python, option, package] == [".venv/bin/python", "-m", "agentlib"]
    monkeypatch.setattr(sys, "executable", str(Path.cwd() / python))
    monkeypatch.setattr(sys, "argv", ["agentlib/__main__.py"])
    monkeypatch.setattr(sys, "path", [*sys.path])  # an engine's folder is added
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    return terminal.main(words)


def test_the_readme_lists_the_hour_and_lessons_00_to_05_and_then_goes_further():
    text = TEXTS[0].read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^]]+\]\(notebooks/(\w+)\.ipynb\)", text, re.M)
    lessons = sorted(path.stem for path in (ROOT / "notebooks").glob("0[0-5]_*.ipynb"))
    assert rows == ["an_hour", *lessons]
    further = text.partition("\n## Further\n")[2].strip().splitlines()
    assert len(further) == 10
    assert [line for line in further if not line.startswith("- [")] == []


def test_the_example_of_a_layer_prints_what_the_page_shows():
    examples = blocks(ROOT / "docs/installing.md")
    at = next(number for number, (name, _) in enumerate(examples) if name == "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(examples[at][1], {})
    assert printed.getvalue() == examples[at + 1][1]


@pytest.mark.skipif(sys.platform == "win32", reason="the README is written for a shell")
def test_the_first_command_compacts_and_its_last_line_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    [command] = [text for name, text in blocks(TEXTS[0]) if name == "bash"]
    (tmp_path / "agentlib").symlink_to(ROOT / "agentlib")
    monkeypatch.chdir(tmp_path)
    assert obey(command, monkeypatch) == terminal.DONE
    [session] = (load(path) for path in tmp_path.glob(".transcripts/*.jsonl"))
    assert len(session.compactions) >= 3
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(".venv/bin/python -m agentlib --resume .transcripts/")
    assert obey(last, monkeypatch, "/context\n") == terminal.DONE


def test_the_commands_of_a_conversation_are_those_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    rows = re.findall(r"^\| `(/[^`]+)` \|", TERMINAL.read_text("utf-8"), re.M)
    assert len(rows) >= 5
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    typed = ["Read every Python file one by one and write a report", *rows, "/nothing"]
    monkeypatch.chdir(tmp_path)
    obey(".venv/bin/python -m agentlib", monkeypatch, "\n".join(typed))
    said = capsys.readouterr().err
    (refusal,) = (line for line in said.splitlines() if "/nothing" in line)
    for row in rows:
        assert refusal.replace("/nothing", row.split()[0]) not in said


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_option_of_a_command_is_one_that_the_program_has(path: Path):
    for command in commands(path):
        found = re.match(
            r"(?:.*?\s)?(?:\.venv/bin/)?(python -m agentlib|agentlib[\w-]*)(\s.*)?$",
            command,
        )
        if not found or found[1] not in PROGRAMS:
            continue
        words = shlex.split(found[2] or "")
        named = {word for word in words if word.startswith("--")}
        text = help_of(PROGRAMS[found[1]])
        assert named <= set(re.findall(r"--[\w-]+", text)), command


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_make_target_that_a_page_names_is_there(path: Path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    text = " ".join(path.read_text(encoding="utf-8").split())
    named = re.findall(r"`make ([a-z-]+)|^make ([a-z-]+)", text)
    assert {one or other for one, other in named} <= targets


def test_the_page_of_the_terminal_lists_the_tasks_of_the_help():
    text = TERMINAL.read_text(encoding="utf-8")
    help_text = " ".join(help_of("agentlib").split())
    rows = re.findall(r'^\| [^|]+ \| "(.+)" \|$', text, re.M)
    assert len(rows) == 7
    assert [row for row in rows if row not in help_text] == []


def test_the_recording_is_of_a_conversation_and_loads_nothing():
    text = (ROOT / "docs/conversation.svg").read_text(encoding="utf-8")
    words = " ".join(ElementTree.fromstring(text).itertext()).replace("\xa0", " ")
    for line in (*conversation.TYPED, "[auto_compact triggered]", "--resume"):
        assert line in words
    assert not re.search(r"""(?:href|src)=|url\((?!#)""", text)
    assert str(ROOT) not in text


def test_a_long_answer_is_shown_by_its_ends_and_its_first_compaction(tmp_path: Path):
    lines = [f"> read {n}" for n in range(40)]
    lines[20:20] = ["[auto_compact triggered]", "[transcript saved]"]
    shown = conversation.abridged("\r\n".join(lines), tmp_path)
    assert len(shown) < 12
    assert "[auto_compact triggered]" in shown
    assert (shown[0], shown[-1]) == ("> read 0", "> read 39")


def test_the_agent_runs_in_a_program_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = (ROOT / "docs/your-agent.md").read_text(encoding="utf-8")
    _, _, section = text.partition("## The course's agent in your program")
    _, _, example = BLOCK.findall(section)[0]
    (tmp_path / "a.py").write_text("A = 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    [session] = (load(path) for path in tmp_path.glob("sessions/*.jsonl"))
    assert (tmp_path / "REPORT.md").exists()
    assert session.requests[-1].stop_reason == "end_turn"
    assert not list(tmp_path.glob("sessions/*.lock"))


@pytest.mark.skipif(sys.platform == "win32", reason="the page is written for a shell")
def test_the_engine_of_your_agent_runs_in_the_terminal_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = (ROOT / "docs/your-agent.md").read_text(encoding="utf-8")
    _, _, section = text.partition("## An engine of your own")
    [(_, engine), (_, command)] = [
        (name, shown) for _, name, shown in BLOCK.findall(section)
    ][:2]
    (tmp_path / "mine.py").write_text(engine, encoding="utf-8")
    (tmp_path / "agentlib").symlink_to(ROOT / "lab/offline_api")  # enough to compact
    monkeypatch.chdir(tmp_path)
    assert obey(command, monkeypatch) == terminal.DONE
    [session] = (load(path) for path in tmp_path.glob(".transcripts/*.jsonl"))
    assert session.compactions


@pytest.mark.skipif(sys.platform == "win32", reason="the page is written for a shell")
def test_the_judge_tries_the_example_as_the_page_of_the_wind_tunnel_says(
    tmp_path: Path,
):
    text = (ROOT / "docs/your-agent.md").read_text(encoding="utf-8")
    examples = BLOCK.findall(text.partition("## A loop of your own")[2])
    example = next(shown for _, name, shown in examples if name == "python")
    prompt = re.compile(r"^prompt = .+$", re.M)
    assert prompt.search(example)
    example = "import sys\n" + prompt.sub("prompt = sys.argv[1]", example)
    [command, *_] = [
        shown
        for name, shown in blocks(ROOT / "docs/wind-tunnel.md")
        if name == "console" and "myagent.py" in shown
    ]
    (tmp_path / "myagent.py").write_text(example, encoding="utf-8")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    # In a shell, because no other test starts the judge as a program.
    subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, capture_output=True
    )
    verdict = json.loads((tmp_path / "verdict/1/verdict.json").read_text("utf-8"))
    assert verdict["compactions"]
