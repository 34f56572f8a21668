"""The exercises of lesson 05: what is written down, under which name, and what it says later.

Each checker tries the answer on a conversation of a few messages, in a folder of its own.
"""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentlib import session_file as file
from agentlib.lab.lessons.checking import Exercise, Wrong
from agentlib.lab.play import play
from agentlib.lab.sessions.table import WHOLE, rows
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import Block, Message, violation
from agentlib.session_file import Line
from agentlib.settings import Settings
from agentlib.transcripts import INTERRUPTED, Session, fold

STAMP = 1_760_000_000
START = replace(Settings(manual=False), keep_recent=6).scaled(32_000)
"""The settings of the session that the lesson looks at."""
SOUGHT = "the oldest glibc that our users have is 2.17"


def _call(name: str) -> Block:
    return {"type": "tool_use", "id": name, "name": "read_file", "input": {"path": f"{name}.py"}}


def _result(name: str, text: str = "import re") -> Block:
    return {"type": "tool_result", "tool_use_id": name, "content": text}


def _said() -> list[Message]:
    """Three messages, the second as the SDK has it: its blocks are objects."""
    from anthropic.types import TextBlock, ToolUseBlock

    text = TextBlock(type="text", text="I read it: 读.", citations=None)
    call = ToolUseBlock.model_validate(_call("toolu_1"))
    return [
        {"role": "user", "content": "Read a.py."},
        {"role": "assistant", "content": [text, call]},
        {"role": "user", "content": [_result("toolu_1")]},
    ]


def _save(answer: Callable[..., Any]) -> str:
    with TemporaryDirectory() as name:
        answer(_said(), Path(name), STAMP + 0.25)
        found = sorted(path.name for path in Path(name).iterdir())
        wanted = f"transcript_{STAMP}.jsonl"
        if found != [wanted]:
            raise Wrong(f"the folder holds {found or 'nothing'}; it should hold {wanted}.")
        lines = Path(name, wanted).read_text(encoding="utf-8").splitlines()
        if len(lines) != len(_said()):
            raise Wrong(f"3 messages became {len(lines)} lines; write one message a line.")
        for line in lines:
            _is_message(line)
    return "three messages, three lines of JSON, and a name with the time in it."


def _is_message(line: str) -> None:
    try:
        found: Any = json.loads(line)
    except ValueError as error:
        raise Wrong(f"{line[:40]!r} is no JSON ({error}); json.dumps makes it.") from error
    if not isinstance(found, dict) or "role" not in found:
        raise Wrong(f"{line[:40]!r} is no message; dump each message whole, role and content.")


def _new_file(answer: Callable[..., Any]) -> str:
    with TemporaryDirectory() as name:
        made = list[Path]()
        for number in range(1, 4):
            path: Any = answer(Path(name), STAMP)
            if not isinstance(path, Path):
                raise Wrong(f"it returned {path!r}; return the path of the new file.")
            if path in made:
                raise Wrong(
                    f"call {number} in the same second returned {path.name} again: what was saved "
                    "there is lost. Count on until a name is free."
                )
            if not path.is_file():
                raise Wrong(
                    f"{path.name} is not there yet: until it is, another program may take the same "
                    'name. Make it, by open("x") or touch(exist_ok=False).'
                )
            if path.read_text(encoding="utf-8"):
                raise Wrong(f"{path.name} is not empty; it should be new.")
            if not path.name.startswith(f"transcript_{STAMP}"):
                raise Wrong(f"{path.name} does not begin with transcript_ and the second.")
            path.write_text("mine", encoding="utf-8")
            made.append(path)
        if any(path.read_text(encoding="utf-8") != "mine" for path in made):
            raise Wrong("a later call emptied the file of an earlier one; never open with 'w'.")
    return "three files in one second, each new, and none was overwritten."


def _plain(answer: Callable[..., Any]) -> str:
    given = _said()
    found: list[Any] = [answer(message) for message in given]
    if found[1] is None:
        raise Wrong("it returned None; return the message with its blocks as dicts.")
    if given != _said():
        raise Wrong("it edited the message that it was given; make a new one.")
    if found[0] != given[0] or found[2] != given[2]:
        raise Wrong("a message whose content is a string, or dicts already, should stay as it is.")
    try:
        again = json.loads(json.dumps(found))
    except TypeError as error:
        raise Wrong(f"json.dumps still refuses it: {error}.") from error
    blocks: Any = again[1]["content"]
    if any(isinstance(block, str) for block in blocks):
        raise Wrong(f"a block is a string now: {str(blocks[0])[:40]!r}. block.to_dict() is a dict.")
    if blocks[1] != _call("toolu_1"):
        raise Wrong(f"the call came back as {blocks[1]}; the API knows only {_call('toolu_1')}.")
    if refused := violation(again):
        raise Wrong(f"the API would refuse it: {refused}")
    return "written, read again, and the same."


def paper_lines() -> list[Line]:
    """The ten lines that exercise 05.4 asks about.

    After the seventh, history and context hold five messages each: lines 4 and 5 are one.
    """

    def line(number: int, kind: str, **rest: Any) -> Line:
        at = {"uuid": f"line {number}", "timestamp": "2026-11-22T00:00:00.000Z", "sessionId": "s"}
        return {"type": kind, **at, **rest}

    def said(number: int, role: str, content: Any, **rest: Any) -> Line:
        return line(number, role, message={"role": role, "content": content}, **rest)

    settings: Line = {"settings": {}, "system": "", "tools": []}
    cleared: Line = {"replacements": {"toolu_1": "[Previous: used read_file]"}}
    stays: Line = {"trigger": "auto", "preservedMessages": {"uuids": ["line 6", "line 7"]}}
    return [
        line(1, "system", subtype=file.SETTINGS, **settings),
        said(2, "user", "Read all."),
        said(3, "assistant", [_call("toolu_1"), _call("toolu_2")]),
        said(4, "user", [_result("toolu_1")]),
        said(5, "user", [_result("toolu_2")]),
        said(6, "assistant", [_call("toolu_3")]),
        said(7, "user", [_result("toolu_3")]),
        line(8, "system", subtype=file.MICRO, microcompactMetadata=cleared),
        line(9, "system", subtype=file.COMPACT, compactMetadata=stays),
        said(10, "user", "The summary.", isCompactSummary=True),
    ]


_PAPER_WHY = {
    "history": "every message is in it, and the results of one turn are one message; summaries, "
    "which nobody said, are not",
    "context": "it is the summary and the messages that line 9 names",
    "whole": "a line that clears a result changes the view, never the history",
}


def _paper(answer: Mapping[str, Any]) -> str:
    session = fold(paper_lines(), Session(session_id="s"))
    whole = sum(session.recall(f"toolu_{n}") == "import re" for n in (1, 2, 3))
    right = {"history": len(session.history), "context": len(session.context), "whole": whole}
    if not isinstance(answer, Mapping) or set(answer) != set(right):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Wrong(f"give a dict with {', '.join(right)}.")
    for name, value in right.items():
        if answer[name] is None:
            raise Wrong(f"{name} is None; put a number there. The table says what a line changes.")
        if answer[name] != value:
            raise Wrong(f"{name} is not {answer[name]}: {_PAPER_WHY[name]}.")
    return "five said, three sent, and nothing lost."


def _interrupted(answer: Callable[..., Any]) -> str:
    session = Session(session_id="s")
    session.say("Go.", at=0)
    calls = [_call(f"toolu_{n}") for n in (1, 2, 3)]
    session.reply({"role": "assistant", "content": calls}, at=1)
    session.answer(_result("toolu_2"), at=2)
    before = deepcopy(session.history)
    given: Any = answer(session)
    if session.history != before:
        raise Wrong("it changed the session; return the blocks, and the loop will note them.")
    if not isinstance(given, list):
        raise Wrong(f"it returned {given!r}; return a list of tool_result blocks.")
    found: list[Block] = [*given]
    ids = [block.get("tool_use_id") for block in found]
    if ids != ["toolu_1", "toolu_3"]:
        raise Wrong(
            f"of three calls, toolu_2 has its result; yours answer {ids or 'none'}. "
            "session.pending has the ids that wait."
        )
    for block in found:
        if block.get("type") != "tool_result" or not block.get("content"):
            raise Wrong(f"{block} is no tool_result with a content.")
        if block.get("is_error") is not True:
            raise Wrong('without "is_error": True the model takes it for the output of the tool.')
    whole: Message = {"role": "user", "content": [_result("toolu_2"), *found]}
    if refused := violation([*before[:-1], whole]):
        raise Wrong(f"the API would refuse it: {refused}")
    same = all(block["content"] == INTERRUPTED for block in found)
    return "each call has one result now" + (", in the loop's own words." if same else ".")


def turns_in_view() -> list[int]:
    """The turns whose requests have the result with `SOUGHT` whole."""
    session = play(REVIEW, START).session
    return [
        turn
        for turn in range(1, len(session.requests) + 1)
        if any(
            row.kind == "tool_result" and SOUGHT in row.text and row.state == WHOLE
            for row in rows(session, turn)
        )
    ]


def _turn(answer: Any) -> str:
    if type(answer) is not int:
        raise Wrong(f"{answer!r} is no turn. Search for 'glibc that', and move the slider.")
    seen = turns_in_view()
    right = max(seen)
    if answer > right:
        raise Wrong(f"at turn {answer} the panel does not say that it is in view; go back.")
    if answer < min(seen):
        raise Wrong(f"at turn {answer} that file is not read yet; go on.")
    if answer < right:
        raise Wrong(f"at turn {answer + 1} it is in view still; go on.")
    return f"at turn {right} it is in view, at turn {right + 1} it is not."


EXERCISES = {
    "05.1": Exercise(
        check=_save,
        hints=(
            "The name: f'transcript_{int(now)}.jsonl', in the folder.",
            "json.dumps(message, default=str) takes every object, and a line ends with '\\n'.",
        ),
    ),
    "05.2": Exercise(
        check=_plain,
        hints=(
            "The content is a string, or a list of dicts and objects. Only objects need work.",
            "An object of the SDK has to_dict(): what the API said, and no empty fields.",
        ),
    ),
    "05.3": Exercise(
        check=_new_file,
        hints=(
            "itertools.count(1) gives the numbers to try; put one into the name.",
            "path.touch(exist_ok=False) makes the file, or raises FileExistsError: try the next.",
        ),
    ),
    "05.4": Exercise(
        check=_paper,
        hints=(
            "Which lines hold something that was said? Lines 4 and 5 answer one message.",
            "After line 10 the view holds the summary, and what line 9 names.",
        ),
    ),
    "05.5": Exercise(
        check=_interrupted,
        hints=(
            "One block for each id of session.pending.",
            "A block has type, tool_use_id, content and is_error.",
        ),
    ),
    "05.6": Exercise(
        check=_turn,
        hints=(
            "panel.search.value = 'glibc that' leaves one row of a tool, and notes on it.",
            "The column state says in view, cleared or summarised for the turn of the slider.",
        ),
    ),
}
