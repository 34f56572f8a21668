"""Whether a call's inputs keep to what the API was told."""

import doctest

import pytest

from agentlib import tool_schemas
from agentlib.tool_schemas import DEFINITIONS, problem

BY_NAME = {each["name"]: each for each in DEFINITIONS}


def test_the_examples_are_true():
    tried = doctest.testmod(tool_schemas)
    assert tried.attempted > 0
    assert tried.failed == 0


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("bash", {"command": ""}),
        ("read_file", {"path": "a.py"}),
        ("read_file", {"path": "a.py", "offset": 0, "limit": 1}),
        ("read_file", {"path": "a.py", "offset": None, "limit": None}),
        ("edit_file", {"path": "é", "old_text": "中文", "new_text": "\U0001f600"}),
    ],
)
def test_what_keeps_to_the_schema_is_accepted(name, inputs):
    assert problem(BY_NAME[name], inputs) is None


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("bash", {}, "command is missing; it must be a string"),
        ("bash", {"command": None}, "command is missing; it must be a string"),
        ("bash", {"command": ["ls"]}, "command must be a string"),
        ("bash", {"command": "ls", "cwd": None}, "there is no input 'cwd'; there are command"),
        ("bash", "ls", "the input must be an object with command, not 'ls'"),
        ("bash", {"command": "a\0b"}, "without NUL, not 'a\\x00b'"),
        ("read_file", {"path": "a", "offset": -1}, "offset must be a whole number from 0 on"),
        ("read_file", {"path": "a", "limit": 0}, "limit must be a whole number from 1 on, not 0"),
        ("read_file", {"path": "a", "limit": True}, "from 1 on, not True"),
        ("read_file", {"path": "a", "limit": 5.0}, "from 1 on, not 5.0"),
        ("read_file", {"offset": 1}, "path is missing"),
        ("write_file", {"path": "a", "content": "\ud800"}, "content must be a string"),
    ],
)
def test_what_does_not_is_named_with_what_is_expected(name, inputs, said):
    assert said in problem(BY_NAME[name], inputs)


def test_a_long_value_is_not_sent_back_whole():
    assert len(problem(BY_NAME["bash"], {"command": ["x" * 10_000]})) < 200
