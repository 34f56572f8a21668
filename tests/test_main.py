"""The agent as a program: `python -m agentlib`, offline."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentlib.cli.main import main
from agentlib.transcripts import load

ROOT = Path(__file__).parent.parent
REPORT = "Read every Python file in this directory one by one and write a report"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test stands in an empty folder, beside a project of three files, and types nothing."""
    project = tmp_path / "project"
    project.mkdir()
    for name in ("a", "b", "c"):
        text = f'"""Module {name}."""\n\n\ndef {name}1():\n    """Return {name}."""\n'
        (project / f"{name}.py").write_text(text, encoding="utf-8", newline="\n")
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return tmp_path


def agent(*argv: str | Path) -> int:
    return main(["--workspace", "../project", "--transcripts", "../t", *map(str, argv)])


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def refusal(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    """The one sentence that a wrong argument is told."""
    with pytest.raises(SystemExit) as caught:
        main([str(arg) for arg in argv])
    assert caught.value.code == 2
    usage, sentence = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: ")
    return sentence


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_prompt_is_worked_on_in_a_copy(here, capsys):
    assert agent(REPORT) == 0
    said = capsys.readouterr().out
    copy = only(here / "t", "*.workspace")
    assert f"[working on a copy of {here / 'project'} (3 files, 1 kB): {copy}]" in said
    assert "> read_file a.py  5 lines, " in said
    assert re.search(r"\[\d+ turns; [\d,]+ tokens sent, .* would have cost \$0\.\d{4} at ", said)
    assert f"[session: {only(here / 't', '*.jsonl')}; files: {copy}]" in said
    assert "\x1b" not in said
    assert files(here / "project") == ["a.py", "b.py", "c.py"]
    assert files(copy) == ["REPORT.md", "a.py", "b.py", "c.py"]


def test_in_place_the_folder_itself_is_worked_in(here, capsys):
    assert agent(REPORT, "--in-place") == 0
    assert f"[working in {here / 'project'} itself]" in capsys.readouterr().out
    assert "REPORT.md" in files(here / "project")
    assert not list((here / "t").glob("*.workspace"))


def test_a_low_threshold_compacts_and_says_so(here, capsys):
    for n in range(8):
        (here / f"project/m{n}.py").write_text(f'"""Module m{n}."""\n' + "x = 1  # one\n" * 300)
    assert agent(REPORT, "--threshold", "4000") == 0
    said = capsys.readouterr().out
    session = only(here / "t", "*.jsonl")
    assert said.count("[auto_compact triggered]") == len(load(session).compactions) > 0
    assert f"\n[transcript saved: {session.name}#" in said


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--workspace", "../none"], "none is not a folder; make it first"),
        (["--preset", "best"], "there is no preset 'best'; there are learn-claude-code, "),
        (["--threshold", "300000"], "--threshold 300000 is past the window of 200,000 tokens"),
        (["--resume", "none.jsonl"], "there is no session file none.jsonl"),
        (["--resume", "../project/a.py"], "a.py is not a session of this agent"),
        (["--model", "other"], "to ask 'other' add --live"),
        (["--live", "--model", "other"], "go on without a cap add --max-usd inf"),
        (["--transcripts", "../project/a.py"], "name another folder with --transcripts DIR"),
    ],
)
def test_a_wrong_argument_is_told_what_is_wrong_and_the_fix(here, capsys, argv, said):
    assert said in refusal(capsys, *argv)
    assert files(here) == ["cwd", "project"]


def test_numbers_in_the_environment_that_are_none_are_named(capsys, monkeypatch):
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "large")
    assert "CLAUDE_CODE_AUTO_COMPACT_WINDOW='large'" in refusal(capsys)


def test_sessions_lie_in_the_current_folder_and_never_in_the_workspace(here, monkeypatch):
    main(["hello", "--workspace", "../project"])
    assert len(list((here / "cwd/.transcripts").glob("*.jsonl"))) == 1
    monkeypatch.chdir(here / "project")
    main(["hello"])
    assert files(here / "project") == ["a.py", "b.py", "c.py"]
    assert len(list((here / ".transcripts").glob("*.jsonl"))) == 1


def test_a_copy_does_not_hold_the_sessions_that_were_asked_for_in_its_folder(here):
    for _ in range(2):
        main(["hello", "--workspace", "../project", "--transcripts", "../project/kept"])
    copies = list((here / "project/kept").glob("*.workspace"))
    assert [files(copy) for copy in copies] == [["a.py", "b.py", "c.py"]] * 2


def test_the_wall_ends_the_run_and_the_session_goes_on_past_it(here, capsys, monkeypatch):
    for n in range(30):
        (here / f"project/m{n}.py").write_text(f'"""Module m{n}."""\n' + "x = 1  # one\n" * 40)
    monkeypatch.setenv("DISABLE_COMPACT", "1")
    assert agent(REPORT, "--window", "8000") == 1
    said = capsys.readouterr()
    assert said.err.startswith("[error: 400 invalid_request_error: prompt is too long: ")
    assert "[the context is at " in said.out
    monkeypatch.delenv("DISABLE_COMPACT")
    session = only(here / "t", "*.jsonl")
    assert main(["--resume", str(session), "--preset", "default", "--window", "8000"]) == 0
    assert "[auto_compact triggered]" in capsys.readouterr().out


def test_a_session_in_which_nothing_was_said_leaves_nothing(here, capsys):
    assert agent() == 0
    assert "working on a copy" in capsys.readouterr().out
    assert files(here / "t") == []


def test_a_prompt_that_can_not_be_sent_leaves_nothing_either(here, capsys):
    assert agent("word " * 40_000, "--window", "32000") == 1
    said = capsys.readouterr()
    assert "the budget is 29,440" in said.err
    assert "[session: " not in said.out
    assert files(here / "t") == []


def test_piped_lines_are_prompts_and_commands(here, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{REPORT}\n/context\n/nothing\n\nnever\n"))
    assert agent() == 1
    said = capsys.readouterr()
    assert "compaction at 130,000" in said.out
    assert "there is no command /nothing" in said.err
    assert "agent> " not in said.out
    session = load(only(here / "t", "*.jsonl"))
    assert [m for m in session.history if m["content"] == "never"] == []


def test_new_goes_on_with_the_files_as_they_are(here, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{REPORT}\n/new\nhello\n"))
    assert agent() == 0
    first, second = sorted((here / "t").glob("*.workspace"))
    assert files(first) == files(second)
    assert "REPORT.md" in files(second)


def test_a_session_is_resumed_with_its_settings_and_its_copy(here, capsys):
    agent(REPORT, "--window", "40000", "--keep-recent", "2")
    file, copy = only(here / "t", "*.jsonl"), only(here / "t", "*.workspace")
    assert main(["hello", "--resume", str(file), "--threshold", "9000"]) == 0
    assert f"[working on the session's copy, {copy}]" in capsys.readouterr().out
    settings = load(file).settings
    assert (settings.context_window, settings.keep_recent) == (40_000, 2)
    assert settings.threshold_tokens == 9_000


def test_a_session_without_a_copy_needs_its_folder_named(here, capsys):
    agent("hello", "--in-place")
    file = only(here / "t", "*.jsonl")
    assert "name its folder: --workspace DIR" in refusal(capsys, "--resume", file)
    assert agent("hello", "--in-place", "--resume", file) == 0


def test_a_session_that_was_killed_goes_on_at_once(here, capsys):
    agent(REPORT)
    file = only(here / "t", "*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    calls = [n for n, line in enumerate(lines) if b'"read_file"' in line and b'"assistant"' in line]
    file.write_bytes(b"".join(lines[: calls[0] + 1]) + lines[calls[0] + 1][:40])
    only(here / "t", "*.workspace").joinpath("REPORT.md").unlink()
    capsys.readouterr()
    assert main(["--resume", str(file)]) == 0
    said = capsys.readouterr()
    assert "broken lines skipped: 1" in said.err
    assert "I wrote REPORT.md" in said.out
    assert "interrupted; check before repeating" in file.read_text(encoding="utf-8")


def program(*argv: str, **more: Any) -> subprocess.Popen[str]:
    """The agent in a process of its own."""
    command = [sys.executable, "-m", "agentlib", "--workspace", "../project", *argv]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, stdout=pipe, stderr=pipe, encoding="utf-8", **more
    )


def test_as_a_program_it_speaks_utf_8_and_returns_the_code(here):
    for name in ("anthropic", "json", "random", "argparse"):  # the learner's: not to be imported
        (here / "cwd" / f"{name}.py").write_text("raise SystemExit(__name__)", encoding="utf-8")
    prompt = "逐个读取所有 Python 文件，然后写一份报告"
    with program(prompt, "--transcripts", "../t") as ran:
        said, errors = ran.communicate()
    assert (ran.returncode, errors) == (0, "")
    assert "> read_file c.py" in said
    assert load(only(here / "t", "*.jsonl")).history[0]["content"] == prompt


def test_a_reader_that_goes_away_is_no_traceback():
    with program(REPORT) as ran:
        assert ran.stdout
        assert ran.stderr
        ran.stdout.readline()
        ran.stdout.close()
        assert ran.stderr.read() == ""
    assert ran.returncode == 1
