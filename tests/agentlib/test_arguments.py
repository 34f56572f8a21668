"""The command line: which number wins over which, and the one line for a wrong
argument."""

import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from agentlib import presets
from agentlib.cli.arguments import Arguments
from agentlib.cli.main import command, main
from agentlib.cli.program import engine_named
from agentlib.pipeline import compact
from agentlib.settings import Settings
from offline_api.model.prompts import understand


def parse(*argv: str) -> Arguments:
    given = command.make_context("agentlib", list(argv)).params
    return Arguments(
        **{name: value for name, value in given.items() if value is not None}
    )


def settings(*argv: str, own: Settings | None = None) -> Settings:
    return parse(*argv).settings(own)


def test_without_arguments_the_default_preset_and_the_course_s_engine_hold():
    assert settings() == presets.DEFAULT
    assert parse().engine is compact
    assert parse().cap == 0.5


def test_a_window_scales_what_no_argument_sets():
    scaled = settings(
        "--preset", "learn-claude-code", "--window", "32000", "--keep-recent", "0"
    )
    assert (scaled.context_window, scaled.threshold, scaled.keep_recent) == (
        32_000,
        8_000,
        0,
    )
    assert (
        settings("--window", "32000", "--threshold", "12000").threshold_tokens == 12_000
    )


def test_an_argument_wins_over_the_environment_and_that_over_the_preset(monkeypatch):
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")
    monkeypatch.setenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "50")
    assert settings().threshold_tokens == 50_000
    scaled = settings("--window", "40000")
    assert (scaled.context_window, scaled.output_reserve) == (40_000, 3_200)
    assert scaled.threshold_tokens == 20_000
    assert settings("--threshold", "9000").threshold_tokens == 9_000


def test_a_session_keeps_its_own_settings_unless_an_argument_changes_them(monkeypatch):
    monkeypatch.setenv("DISABLE_COMPACT", "1")
    own = Settings(keep_recent=7, threshold=50_000)
    assert settings(own=own) == own
    assert settings("--keep-recent", "2", own=own) == Settings(
        keep_recent=2, threshold=50_000
    )
    assert settings("--window", "20000", own=own).threshold == 5_000
    assert settings("--preset", "default", own=own).enabled is False


def test_no_cap_is_infinite():
    assert parse("--max-usd", "inf").cap is None


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--threshold=12k"], "'--threshold': '12k' is not a valid integer"),
        (["--threshold=0"], "'--threshold': 0 is not in the range x>=1"),
        (["--threshold", "300000"], "threshold=300,000 "),
        (["--max-usd=0"], "'--max-usd': 0.0 is not in the range x>0"),
        (["--preset", "best"], "'best' is not one of 'learn-claude-code', "),
        (["--thresh", "5"], "No such option '--thresh'. (Did you mean"),
        (
            ["--engine", "compact"],
            "No module named 'compact'; write MODULE:FUNCTION or FILE.py:FUNCTION",
        ),
        (
            ["--engine", "broken:f"],
            "ZeroDivisionError: division by zero; write MODULE:FUNCTION",
        ),
        (
            ["--engine", "agentlib.pipeline:pack"],
            "has no attribute 'pack'; write MODULE:FUNCTION",
        ),
        (["--workspace", "../none"], "Directory '../none' does not exist"),
        (["--transcripts", "broken.py"], "Directory 'broken.py' is a file"),
        (["--resume", "none.jsonl"], "File 'none.jsonl' does not exist"),
        (
            ["--resume", "broken.py"],
            "broken.py is not a session of this agent; name a file that",
        ),
        (["--env", "none.env"], "File 'none.env' does not exist"),
        (["--model", "other"], "to ask 'other' add --live"),
        (
            ["--live", "--model", "other", "--price", "free"],
            "price='free'; write IN,OUT",
        ),
        (["--live", "--model", "other"], "name one with --price IN,OUT or MODEL_PRICE"),
    ],
)
def test_a_wrong_argument_is_one_line_with_the_value(
    capsys, monkeypatch, tmp_path, argv, error
):
    (tmp_path / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(argv) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert error in printed.err
    assert [path.name for path in tmp_path.glob("*.*")] == ["broken.py"]


def test_help_names_every_option_and_the_seven_tasks(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    options: list[Any] = [p for p in command.params if isinstance(p, click.Option)]
    assert len(options) == 15
    assert all(option.opts[0] in text for option in options)
    prompts = re.findall(
        '  ?"(.*)"\n', text.partition("seven tasks:")[2].partition("Examples:")[0]
    )
    kinds = [understand(prompt).kind for prompt in prompts]
    assert kinds == ["report", "until", "trace", "rename", "run", "compact", "rules"]


def test_an_engine_is_found_in_the_current_folder_and_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    (tmp_path / "book").mkdir()
    for file in ("mine_here.py", "book/mine_there.py"):
        (tmp_path / file).write_text(f"def compact(now):\n    return {file!r}\n")
    monkeypatch.chdir(tmp_path)
    for name in ("mine_here:compact", "mine_here.py"):
        assert engine_named(name)(None) == "mine_here.py"
    for name in ("book/mine_there.py:compact", str(tmp_path / "book/mine_there.py")):
        assert engine_named(name)(None) == "book/mine_there.py"
    for wrong in ("book/none.py:compact", "mine_here:none", "book/mine_there.py:none"):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            engine_named(wrong)
