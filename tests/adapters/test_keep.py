"""The real Claude Code with `agentlib-keep`: two prompts with a rule each, compactions,
and what stands in the request after the last of them.

The server's summaries keep as much as those of Claude Code were measured to keep, so
the second summary has little of what the person said before the first.
"""

import email
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from offline_api.model import AS_MEASURED, reply
from offline_api.server import Server
from session_report import load
from session_report.keep import LIMIT, SAID, block, lines_of, normal, read
from session_report.kept import EARLIER, compacted
from tests.adapters.claude_code import BINARIES, Ran, run

pytestmark = pytest.mark.skipif(
    not BINARIES, reason="Claude Code could not be installed; this needs the program"
)
PROMPTS = (
    "The first line of every report must be '# For Ada'. "
    "Read every Python file one by one and write a report.",
    "Always end a report with the line '# By Grace'. "
    "Go through the Python files in the email folder and write me a report.",
)
NOTES = tuple(
    f"Note {number}. " + " ".join(f"Room {n} of the shop, 漢字 😀." for n in range(260))
    for number in range(3)
)
"""More than 20,000 characters that the person says before. The offline model refuses
them, and they stay in the session."""
OURS = f'"{sys.executable}" -m session_report.keep hook'
OTHER = "A note of somebody else's hook."
THEIRS = f"""import json, sys
sys.stdin.read()
context = {{"hookEventName": "SessionStart", "additionalContext": {OTHER!r} * 280}}
print(json.dumps({{"hookSpecificOutput": context}}))
"""


class Case(NamedTuple):
    """A run, and the prompts that the person gave it."""

    ran: Ran
    prompts: tuple[str, ...]

    @property
    def last(self) -> str:
        """The messages of the request after the last compaction."""
        is_summary = ["<summary>" in answer for answer in self.ran.answers]
        place = len(is_summary) - is_summary[::-1].index(True)
        return normal("\n".join(texts_in(self.ran.requests[place]["messages"])))

    @property
    def standing(self) -> list[bool]:
        """Whether each prompt stands there word for word."""
        return [normal(prompt) in self.last for prompt in self.prompts]


def texts_in(value: Any) -> list[str]:
    match value:
        case str(text):
            return [text]
        case list():
            return [text for each in value for text in texts_in(each)]
        case {"content": content}:
            return texts_in(content)
        case {"text": text}:
            return [text]
        case _:
            return []


def case(folder: Path, prompts: tuple[str, ...], *commands: str) -> Case:
    work, home = folder / "work", folder / "home"
    work.mkdir()
    home.mkdir()
    hooks = [{"type": "command", "command": command} for command in commands]
    entry = {"matcher": "compact", "hooks": hooks}
    settings = {"hooks": {"SessionStart": [entry]}} if commands else None
    server = Server(partial(reply, habits=AS_MEASURED))
    source = Path(email.__file__).parent
    ran = run(source, work, home, prompts=prompts, settings=settings, server=server)
    return Case(ran, prompts)


@pytest.fixture(scope="module")
def without(tmp_path_factory: Any) -> Case:
    return case(tmp_path_factory.mktemp("without"), PROMPTS)


@pytest.fixture(scope="module")
def beside(tmp_path_factory: Any) -> Case:
    folder = tmp_path_factory.mktemp("beside")
    (folder / "theirs.py").write_text(THEIRS, encoding="utf-8")
    theirs = f'"{sys.executable}" "{folder / "theirs.py"}"'
    return case(folder, PROMPTS, theirs, OURS)


@pytest.fixture(scope="module")
def long(tmp_path_factory: Any) -> Case:
    return case(tmp_path_factory.mktemp("long"), (*NOTES, *PROMPTS), OURS)


def test_without_the_hook_the_first_rule_is_gone(without: Case):
    assert sum("<summary>" in answer for answer in without.ran.answers) >= 3
    assert without.standing == [False, True]
    assert "first line of every report" not in without.last


def test_with_the_hook_both_prompts_stand_beside_the_text_of_another(beside: Case):
    assert beside.standing == [True, True]
    assert beside.last.count(SAID) == 1
    assert beside.last.count(OTHER) == 280


def test_of_20_000_characters_the_ends_and_all_later_words_arrive(long: Case):
    assert sum(map(len, NOTES)) > 20_000
    assert long.standing == [False, False, False, True, True]
    text = block(long.prompts)
    assert normal(text) in long.last
    assert LIMIT / 2 < len(text) < LIMIT
    assert "persisted-output" not in long.last


@pytest.mark.parametrize("name", ["without", "beside", "long"])
def test_check_says_what_the_requests_show(name: str, request: Any):
    one: Case = request.getfixturevalue(name)
    record = read(lines_of(one.ran.session))
    first = block(one.prompts[: record.compactions[0].seen])
    asked = [json.dumps(each["messages"]) for each in one.ran.requests]
    has_arrived = any(json.dumps(first)[1:-1] in body for body in asked)
    assert bool(record.compactions[0].arrived()) == has_arrived == (name != "without")
    assert record.said == [prompt.strip() for prompt in one.prompts]


def test_the_report_counts_what_the_hook_put_back(without: Case, beside: Case):
    [before, after] = [
        [
            flag
            for one in compacted(load(each.ran.session))
            for flag in one.kept[EARLIER]
        ]
        for each in (without, beside)
    ]
    assert not all(before)
    assert after
    assert all(after)
