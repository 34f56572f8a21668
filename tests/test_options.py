"""Every option of every command that takes a value is refused without one."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import agentlib.cli.main
import offline_api.__main__
import session_report.__main__
import windtunnel.__main__
from agentlib.cli.main import main

PROGRAMS = {
    "agentlib": agentlib.cli.main,
    "offline_api": offline_api.__main__,
    "session_report": session_report.__main__,
    "windtunnel": windtunnel.__main__,
}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield each program's command, and those below it."""
    for name, program in PROGRAMS.items():
        found = [c for c in vars(program).values() if isinstance(c, click.Command)]
        assert found, f"{name} has no command"
        yield from ((name, each) for each in found)


OPTIONS = [
    pytest.param(command, word, id=f"{name} {word}")
    for name, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and not option.count
    for word in (*option.opts, *option.secondary_opts)
]


def test_there_are_options_of_all_four_programs():
    assert len(OPTIONS) > 25


@pytest.mark.parametrize(("command", "word"), OPTIONS)
@pytest.mark.parametrize("more", [[], ["--help"]], ids=["at the end", "before another"])
def test_an_option_without_its_value_is_refused(
    command: click.Command, word: str, more: list[str]
):
    with pytest.raises(click.UsageError) as refusal:
        command.main([word, *more], standalone_mode=False)
    assert refusal.value.exit_code == 2
    assert "requires an argument" in refusal.value.format_message()


@pytest.mark.parametrize(
    "argv",
    [
        ["--in-place", "--workspace"],
        ["--resume"],
        ["Read every file", "--resume"],
        ["--workspace", "--in-place", "Read every file"],
        ["--transcripts", "--in-place", "Read every file"],
    ],
)
def test_the_agent_begins_nothing_in_the_wrong_folder(
    argv, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    assert "error: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


STARTS = {
    "agentlib": "agentlib",
    "offline_api": "agentlib-api",
    "session_report": "agentlib-sessions",
    "windtunnel": "agentlib-judge",
}
"""A package -> its script."""
STARTS_OF = {script: program for program, script in STARTS.items()}


def ended(program: str, monkeypatch: pytest.MonkeyPatch, *argv: str) -> object:
    """Run a program's entry as if these words were typed. Return its exit code."""
    monkeypatch.setattr(sys, "argv", [*argv])
    try:
        return PROGRAMS[program].main()
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_exit_code_of_each_program_is_2(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    option = next(
        word
        for each in PROGRAMS[program].__dict__.values()
        if isinstance(each, click.Command)
        for param in each.params
        if isinstance(param, click.Option) and not param.is_flag
        for word in param.opts
    )
    assert ended(program, monkeypatch, f"{program}/__main__.py", option) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_usage_line_names_the_command_that_was_typed(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    script = STARTS[program]
    for start, name in (
        (f"{program}/__main__.py", f"python -m {program}"),
        (f"bin/{script}", script),
    ):
        assert not ended(program, monkeypatch, start, "--help")
        assert capsys.readouterr().out.startswith(f"Usage: {name} ")


def test_the_scripts_are_those_of_the_package():
    root = Path(__file__).parent.parent
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    scripts = tomllib.loads(text)["project"]["scripts"]
    # It has no options, and has to start without click.
    assert scripts.pop("agentlib-keep") == "session_report.keep:main"
    assert {script: f"{STARTS_OF[script]}.__main__" for script in scripts} == {
        script: target.partition(":")[0] for script, target in scripts.items()
    }
