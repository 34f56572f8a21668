"""Text cut to size and shown by pages; a folder's many names."""

import doctest
import re
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib import tool_text
from agentlib.tool_text import CAP, ROOM, capped, located, page, shown, spellings

LINES = st.lists(st.integers(0, 20_000), min_size=1, max_size=30)


def test_the_examples_are_true():
    tried = doctest.testmod(tool_text)
    assert tried.attempted > 0
    assert tried.failed == 0


@given(LINES)
def test_following_the_hints_gives_every_line(lengths):
    lines = [f"{number} ".ljust(length, "x") for number, length in enumerate(lengths)]
    read, offset = [], 0
    while True:
        text = page(lines, offset)
        assert len(text) <= CAP
        hint = re.search(r"\n\.\.\. \((\d+) more; continue with offset=(\d+)\)$", text)
        read += text[: hint.start() if hint else None].split("\n")
        if not hint:
            break
        offset = int(hint[2])
        assert offset == len(read)
        assert int(hint[1]) == len(lines) - offset
    assert read == lines


def test_a_limit_says_how_many_there_are_more():
    lines = ["one", "two", "three"]
    assert page(lines, 0, 2) == "one\ntwo\n... (1 more)"
    assert page(lines, 1, 2) == "two\nthree"
    assert page(lines, 2, 10**30) == "three"


def test_where_a_limit_and_the_cap_meet_the_cap_speaks():
    text = page(["x" * 999] * 100, 10, 60)
    assert text.endswith("\n... (41 more; continue with offset=59)")
    assert len(text) <= CAP


def test_a_text_that_just_fits_is_whole():
    lines = ["x" * 999] * 49 + ["x" * 1_000]
    assert page(lines) == "\n".join(lines)
    assert len(page(lines)) == CAP


@pytest.mark.parametrize("after", [[], ["next"]])
def test_a_line_longer_than_the_cap_is_cut_and_passed(after):
    text = page(["short", "y" * 60_000, *after], 1)
    cut = f" [{60_000 - CAP + ROOM} more characters in this line]"
    hint = "\n... (1 more; continue with offset=2)" if after else ""
    assert text == "y" * (CAP - ROOM) + cut + hint
    assert len(text) <= CAP


def test_blank_lines_are_counted_not_sent():
    assert page(["", "  ", ""]) == "(3 blank lines)"


@given(
    st.integers(0, CAP + 200), st.integers(0, 1_000), st.sampled_from([(), ("(exit code 130)",)])
)
def test_no_character_is_lost_uncounted(length, gone, notes):
    text = capped("x" * length, gone, *notes)
    said = re.search(r"\.\.\. \((\d+) characters cut\)", text)
    assert len(text) <= CAP
    assert re.match("x*", text).end() + int(said[1] if said else 0) == length + gone
    assert text.endswith(notes or "")


@pytest.mark.parametrize(
    ("command", "run"),
    [
        ("cat /workspace/a", "cat /x y/a"),
        ("tool --in=/workspace/a:/workspace", "tool --in=/x y/a:/x y"),
        ("cc -I/workspace/include", "cc -I/x y/include"),
        ("cat '/workspace/a' \"/workspace/b\"", "cat '/x y/a' \"/x y/b\""),
        ("cat src/workspace/a ~/workspace $HOME/workspace", None),
        ('cat "$(pwd)/workspace" ${HOME}/workspace /workspaces /workspace.bak', None),
    ],
)
def test_only_the_workspace_itself_is_located(command, run):
    located_ = located(command, Path("/x y"))
    assert located_.replace("'/x y'", "/x y") == (run or command).replace("'/x y'", "/x y")


@pytest.mark.parametrize(
    ("before", "folder", "after"),
    [
        ("ls /workspace", "/it's", "ls '/it'\"'\"'s'"),
        ("ls '/workspace'", "/it's", "ls '/it'\\''s'"),
        ('ls "/workspace"', "/a$b", 'ls "/a\\$b"'),
        ("echo \\' /workspace", "/x y", "echo \\' '/x y'"),
    ],
)
def test_a_folder_with_signs_is_quoted_as_its_place_wants(before, folder, after):
    assert located(before, Path(folder)) == after


def test_names_that_only_begin_like_the_folder_stay():
    folder = Path("/src")
    text = "/src/a.py lib/src/a.py /src2 /src.bak (/src) /src. -I/src/include"
    said = (
        "/workspace/a.py lib/src/a.py /src2 /src.bak (/workspace) /workspace. -I/workspace/include"
    )
    assert shown(text, folder) == said


def test_windows_programs_write_a_folder_in_five_ways():
    temporary = PureWindowsPath("C:/Users/Jo Do/Temp")
    assert spellings(temporary / "demo", temporary) == {
        "C:\\Users\\Jo Do\\Temp\\demo",
        "C:\\\\Users\\\\Jo Do\\\\Temp\\\\demo",
        "C:/Users/Jo Do/Temp/demo",
        "/c/Users/Jo Do/Temp/demo",
        "/tmp/demo",
    }
