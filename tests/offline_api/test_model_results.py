"""What a tool returned is read in every form in which agents show it."""

import json
import re

import pytest

from agentlib import messages as msg
from offline_api.model.hands import ours
from offline_api.model.results import shown

LINES = ['"""Adds."""', "", "x = 1"]
TEXT = "\n".join(LINES)


def numbered(mark: str, first: int = 1) -> str:
    return "\n".join(f"{n}{mark}{line}" for n, line in enumerate(LINES, first))


FORMS = {
    "plain": TEXT,
    "tabs": numbered("\t"),
    "padded tabs": "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(LINES, 1)),
    "arrows": numbered("→"),
    "tags": f"<path>/w/a.py</path>\n<type>file</type>\n<content>\n{numbered(': ')}\n\n"
    "(End of file - total 3 lines)\n</content>",
    "JSON": json.dumps({"content": f"{numbered('|')}\n4|", "total_lines": 3}),
    "a file's tag": f'<file path="a.py">\n{TEXT}\n</file>',
    "output in JSON": json.dumps({"output": TEXT, "exit_code": 0, "error": None}),
    "a dict": str({"returncode": 0, "output": TEXT}),
    "labels": f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n{TEXT}",
    "a headline": f"Here's the result of running `cat -n` on a.py:\n{numbered(chr(9))}",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_text_of_a_file_is_the_same_in_every_form(form: str):
    result = shown(FORMS[form], reads=True)
    assert (result.text, result.start, result.failed) == (TEXT, 0, False)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (f"{TEXT}\n\n[9 more lines in file. Use offset=4 to continue.]", 1),
        (f"<content>\n{numbered(': ')}\n(Use 'offset' to read on, total 12 lines)\n</content>", 1),
        (json.dumps({"content": f"{numbered('|')}\n4|", "truncated": True, "total_lines": 12,
                     "hint": "Use offset=4 to continue reading (showing 1-3 of 12 lines)"}), 1),
        (f"{TEXT}\n[truncated: lines 1-3 of 12]", 0),
        (f"[File: a.py (12 lines total)]\n{numbered(':  '[:2])}", 0),
    ],
)  # fmt: skip
def test_a_hint_that_there_is_more_becomes_ours(text: str, first: int):
    result = shown(text, reads=True, first=first)
    assert result.text == f"{TEXT}\n... (9 more lines; continue with offset=3)"


def test_numbers_say_where_a_part_begins():
    result = shown(numbered("\t", first=41), reads=True, start=41, limit=3)
    assert result.start == 40
    hint = result.text.splitlines()[-1]
    assert re.findall(r"\d+", hint) == ["1", "43"]


@pytest.mark.parametrize(
    "text",
    [
        "Error: the session is closed",
        "<tool_use_error>The session is closed</tool_use_error>",
        json.dumps({"error": "the session is closed", "content": ""}),
    ],
)
def test_a_failure_told_in_words_is_a_failure(text: str):
    assert shown(text, reads=True).failed


@pytest.mark.parametrize(
    "text",
    [
        "1: not a list\n3: it has a gap",
        '{"output": "dist", "compilerOptions": {}}',
        "<html>\n<content>Hi</content>\nmore\n</html>",
        "errors = [1, 2]",
        "... (9 more lines; continue with offset=3)",
    ],
)
def test_a_file_that_only_looks_like_a_form_stays_as_it_is(text: str):
    assert shown(text, reads=True).text == text
    assert not shown(text, reads=True).failed


def test_what_a_command_printed_is_no_file():
    assert shown("Error: no tests ran").failed is False
    assert shown("1\ta\n2\tb").text == "1\ta\n2\tb"


def test_a_result_of_a_call_that_nobody_sees_is_kept():
    told = {"role": "user", "content": [msg.tool_result("gone", "x = 1")]}
    assert ours({"messages": [told]})["messages"] == [told]


def test_numbered_lines_may_end_with_an_empty_one():
    head = "Here's the result of running `cat -n` on /home/ada/a.py:\n"
    assert shown(f"{head}     1\tx = 1\n     2\t\n", reads=True).text == "x = 1\n"
