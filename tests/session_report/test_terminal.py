"""The commands end with a code and one line."""

import click
import pytest

from session_report.terminal import run


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, ""),
        (ValueError("no such engine"), 7, "error: no such engine\n"),
        (FileNotFoundError("no file"), 7, "error: no file\n"),
        (click.BadParameter("not a number"), 2, "Error: Invalid value: not a number\n"),
    ],
)
def test_an_error_is_one_line_and_a_code(error, code, words, capsys):
    @click.command()
    def command():
        raise error

    with pytest.raises(SystemExit) as end:
        run(command, [], "package", "command", failed=7)
    assert end.value.code == code
    assert capsys.readouterr().err.endswith(words)


def test_what_a_command_returns_is_its_code():
    @click.command()
    def command():
        return 3

    with pytest.raises(SystemExit) as end:
        run(command, [], "package", "command", failed=7)
    assert end.value.code == 3
