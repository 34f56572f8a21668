"""The exercises of lesson 05: what is written down, under which name, and what it says later."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from agentlib.lab.lessons import checking
from agentlib.lab.lessons.checking import Answer, conversation, exercise, require, shown
from agentlib.messages import Message
from agentlib.session_file import Line
from agentlib.transcripts import Session

SECOND = 1_760_000_000


def _from_sdk() -> list[Message]:
    """Make three messages; the call in the second is an object of the SDK."""
    from anthropic.types import ToolUseBlock

    messages = conversation("import re")
    messages[1]["content"] = [ToolUseBlock.model_validate(messages[1]["content"][0])]
    return messages


@exercise("05.1", "three messages, three lines of JSON, and a name with the time in it.")
def _save(answer: Answer) -> None:
    with TemporaryDirectory() as folder:
        answer.call(_from_sdk(), Path(folder), SECOND + 0.25)
        names = [path.name for path in Path(folder).iterdir()]
        name = f"transcript_{SECOND}.jsonl"
        require(names == [name], f"the folder should hold {name}; it holds {names or 'nothing'}.")
        lines = Path(folder, name).read_text(encoding="utf-8").splitlines()
    whole = len(lines) == 3 and all(isinstance(json.loads(line), dict) for line in lines)
    require(whole, f"3 messages should be 3 lines, each a dict as JSON; yours are {shown(lines)}.")


@exercise("05.2", "written, read again, and the same.")
def _plain(answer: Answer) -> None:
    request, reply, result = _from_sdk()
    blocks = [block.to_dict() for block in reply["content"]]
    cases = {
        "a content that is a string stays a string": (request, request),
        "the SDK's objects become dicts": ({**reply, "content": blocks}, reply),
        "dicts stay as they are": (result, result),
    }
    answer.agree(cases)


@exercise("05.3", "three files in one second, each new, and none was overwritten.")
def _new_file(answer: Answer) -> None:
    with TemporaryDirectory() as folder:
        for number in range(1, 4):
            older = list(Path(folder).iterdir())
            path = answer.call(Path(folder), SECOND)
            case = f"call {number} in the same second returned {getattr(path, 'name', path)}"
            require(path not in older, f"{case}, which was there. Count on until a name is free.")
            require(path and path.is_file(), f"{case} and made no such file.")
            named = path.name.startswith(f"transcript_{SECOND}")
            require(named, f"{case}; begin with transcript_ and the second.")
            whole = all(each.read_text(encoding="utf-8") == "mine" for each in older)
            require(whole, f"{case} and emptied the file of an earlier call.")
            path.write_text("mine", encoding="utf-8")


def paper_lines() -> list[Line]:
    """Read the ten lines that exercise 05.4 asks about.

    After the seventh, history and context hold five messages each: lines 4 and 5 are one.
    """
    lines = Path(__file__).with_name("paper.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@exercise("05.4", "five said, three sent, and nothing lost.")
def _paper(answer: Answer) -> None:
    numbers = answer.typed(dict, "give a dict with history, context and whole")
    for name, right, reason in (
        ("history", 5, "a turn's results are one message, and a summary is nobody's words"),
        ("context", 3, "it is the summary and the messages that line 9 names"),
        ("whole", 3, "a line that clears a result changes the view, never the history"),
    ):
        require(numbers.get(name) == right, f"{name} is not {numbers.get(name)}: {reason}.")


@exercise("05.5", "each call has one result now.")
def _interrupted(answer: Answer) -> None:
    session = Session(session_id="s")
    session.say("Go.", at=0)
    calls = [checking.call_block(n, path=f"{n}.py") for n in (1, 2, 3)]
    session.reply({"role": "assistant", "content": calls}, at=1)
    answered = checking.result_block(2, "import re")
    session.answer(answered, at=2)
    blocks = answer.function(session)
    ids = [block["tool_use_id"] for block in blocks]
    wanted = "of three calls, toolu_1 and toolu_3 have no result yet"
    require(ids == ["toolu_1", "toolu_3"], f"{wanted}; yours answers {', '.join(ids) or 'none'}.")
    checking.require_answered(calls, {"role": "user", "content": [answered, *blocks]})
    errors = all(block.get("is_error") is True for block in blocks)
    require(errors, 'without "is_error": True the model takes it for the output of the tool.')


LAST_IN_VIEW = 13
"""The last turn of the lesson's session whose request has the file with the glibc line whole."""


@exercise("05.6")
def _turn(answer: Answer) -> str:
    low = "the file is in view at a later turn, too; go on"
    high = "the file is not in view there; go back"
    how = "search for 'glibc that', and move the slider"
    answer.hit(LAST_IN_VIEW, how=how, low=low, high=high)
    return f"at turn {LAST_IN_VIEW} it is in view, at the next it is not."
