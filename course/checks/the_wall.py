"""The exercises of lesson 00."""

import re
from contextlib import suppress
from functools import wraps
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from agentlib.messages import Block, Message, of_type
from agentlib.settings import Settings
from agentlib.tools import Definition, Workspace, result
from course.checking import Answer, Wrong, call_block, drawn, exercise, require
from windtunnel.parts import Ask
from windtunnel.runner import play
from windtunnel.tasks.scenarios import REVIEW


def eight_lines(messages: list[Message], ask: Ask, workspace: Workspace) -> None:
    """Ask, act, and ask again, until a reply has no call."""
    while messages[-1]["role"] == "user":
        reply = ask(messages)
        messages.append({"role": "assistant", "content": reply["content"]})
        calls = of_type(reply, "tool_use")
        if calls:
            results = [result(call, workspace) for call in calls]
            messages.append({"role": "user", "content": results})


@exercise(
    "00.1", "every call has its result, and the report is there.", finished=eight_lines
)
def _loop(answer: Answer) -> None:
    """Begin with while messages[-1]["role"] == "user": and, inside it, reply =
    ask(messages).

    results = [result(call, workspace) for call in calls], and then one append with the
    whole list.
    """
    counted = _Counted()

    @wraps(answer.function)  # so that an error names the learner's line
    def loop(messages: list[Message], ask: Ask, workspace: Workspace) -> object:
        counted.workspace = workspace
        return answer.function(messages, ask, counted)

    run = play(REVIEW, Settings(enabled=False), loop=loop)
    require(not run.refused, f"the API refused request {run.turns + 1}: {run.refused}")
    require(
        run.turns,
        "it asks nothing: call ask(messages) while the last message is a user's.",
    )
    roles = [m["role"] for m in run.session.context]
    ended = f"it ended after {run.turns} requests"
    lost = "`messages` has no reply in it: append to that list, don't make a new one."
    require("assistant" in roles, f"{ended}, but {lost}")
    require(
        roles[-1] != "user",
        f"{ended}; the last message is still the user's: go on asking.",
    )
    kept = [m["content"] for m in run.session.context if m["role"] == "assistant"]
    twice = f"it asked {run.turns} times and kept {len(kept)} replies; each one is paid for."
    require(len(kept) == run.turns, twice)
    replies = [sent.reply["content"] for sent in run.session.requests]
    require(
        kept == replies, "a reply isn't there as the model gave it: append its content."
    )
    one = (
        "a reply with two calls got two messages; put all its results into one message."
    )
    require(roles == ["user", "assistant"] * (len(roles) // 2), one)
    done = sum(block["type"] == "tool_use" for content in kept for block in content)
    again = f"its {done} calls were carried out {counted.carried_out} times; each should be, once."
    require(counted.carried_out == done, again)
    more = [
        block["type"]
        for message in run.session.context
        if of_type(message, "tool_result")
        for block in message["content"]
        if block["type"] != "tool_result"
    ]
    require(
        not more,
        f"a message with results holds a {''.join(more[:1])}, too; send only them.",
    )
    require(
        run.checks["done"],
        f"{ended}, no true report: does every call get its own result?",
    )
    _goes_on(answer)


def _goes_on(answer: Answer) -> None:
    """Require that the loop ends with the work and not before, and lets errors pass."""
    long = 60
    asked = list[int]()

    def ask(messages: list[Message]) -> dict[str, Any]:
        asked.append(len(messages))
        ended = "it asks again after a reply without a call; that reply ends the work."
        require(len(asked) <= long, ended)
        call = call_block(len(asked), path="a.py")
        text: Block = {"type": "text", "text": "Done."}
        return {"content": [call] if len(asked) < long else [text]}

    with TemporaryDirectory() as folder:
        Path(folder, "a.py").touch()
        answer.function(_asked(), ask, Workspace(Path(folder)))
    wanted = f"a task of {long} requests should get {long}, not {len(asked)}"
    require(len(asked) == long, f"{wanted}; only a reply without a call ends the loop.")

    def refuses(messages: list[Message]) -> Any:
        raise ConnectionRefusedError

    with suppress(ConnectionRefusedError), TemporaryDirectory() as folder:
        answer.function(_asked(), refuses, Workspace(Path(folder)))
        raise Wrong(
            "an error of ask should pass: if the loop swallows it, nobody learns that the "
            "API refused the prompt."
        )


def _asked() -> list[Message]:
    return [{"role": "user", "content": [{"type": "text", "text": "Go."}]}]


class _Counted:
    """The workspace, with a count of the calls that were carried out in it."""

    workspace: Workspace
    carried_out = 0

    def run(self, name: str, inputs: object) -> str:
        self.carried_out += 1
        return self.workspace.run(name, inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.workspace, name)


def added_up(base: int, growth: int, turns: int) -> int:
    """Return the tokens of all requests together."""
    return sum(base + growth * turn for turn in range(turns))


@exercise(
    "00.2", "40 turns instead of 20 send four times as many tokens.", finished=added_up
)
def _sum(answer: Answer) -> None:
    """Each request sends its whole prompt again, so the prompts are added up.

    sum(…) over range(turns): at number 0 the prompt has base tokens.
    """
    cases = {
        "600, 1,000 and 1,400 tokens are sent and paid for": (3_000, 600, 400, 3),
        "a single turn sends the first prompt": (600, 600, 400, 1),
        "the sum grows with the square of the turns": (1_584_000, 600, 2_000, 40),
        "each prompt has its base": (6_300, 2_000, 100, 3),
    }
    answer.agree(cases | drawn(added_up, _three_numbers))


def _three_numbers(random: Random) -> tuple[int, int, int]:
    return random.randint(1, 9_000), random.randint(0, 2_000), random.randint(1, 60)


def definitions(source: str) -> str:
    """Return the lines of a Python file that define something, with their numbers."""
    starts = ("def ", "class ", "async def ")
    lines = enumerate(source.splitlines(), 1)
    return "\n".join(
        f"{n}: {line}" for n, line in lines if line.lstrip().startswith(starts)
    )


DEFINITION: Definition = {
    "name": "outline",
    "description": "List definitions.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
}
SOURCE = """import os  # a def or a class
@os.fspath
class Parcel:
    async def weigh(self):
        def round(grams): ...
        async with self.scales: return "def nothing(): a text"

default = 1
def deliver(parcel):
        def round(grams): ...
"""
ABOUT = (
    "def",
    "class",
    "func",
    "method",
    "line",
    "name",
    "symbol",
    "signature",
    "skelet",
    "struct",
    "table",
)
"""Beginnings of words that say what an outline holds."""
OTHERWISE = re.compile(
    r"(?<!not )(?<!never )(?<!without )\b(delet|remov|writ|edit|chang|renam|count)\w*"
)
"""A word of another tool, one that changes files or counts."""


@exercise("00.3", "ten lines became five.", finished=(DEFINITION, definitions))
def _tool(answer: Answer) -> None:
    """A line defines something if, its indent taken off, it starts with def, class,
    async def.

    enumerate(source.splitlines(), 1) gives each line with its number.
    """
    pair = "give a pair: the definition and the function"
    definition, function = answer.typed(tuple, pair)
    definition = Answer(definition).typed(dict, f"{pair}, in this order")
    words = str(definition.get("description", "")).lower()
    says = len({*words.split()}) > 1 and any(
        word.startswith(ABOUT) for word in re.findall(r"\w+", words)
    )
    seen = "the model sees only the description; say in two English words or more what it lists"
    require(says, f"{seen}: a file's definitions, its classes, its functions.")
    other = OTHERWISE.search(words)
    require(
        not other,
        f"the description says {other and other[0]!r}, and all the tool does is list.",
    )
    require(
        definition.get("name") == "outline", "the tool's name should stay 'outline'."
    )
    schema = definition.get("input_schema", Block())
    types = {
        name: each.get("type")
        for name, each in schema.get("properties", Block()).items()
    }
    require(
        types == {"path": "string"},
        f"the one property should be path, a string: {types}.",
    )
    require(schema.get("required") == ["path"], '"path" is not in "required".')
    text = Answer(Answer(function).call(SOURCE))
    lines = text.typed(str, "return text, its lines joined by line breaks").splitlines()
    wanted = definitions(SOURCE).splitlines()
    for line in wanted:
        require(
            line in lines,
            f"the outline should have the line {line!r}, with its indent.",
        )
    require(
        len(lines) == 5,
        f"the outline has {len(lines)} lines; only five define something.",
    )
    require(lines == wanted, "the outline's lines should be in the order of the file.")
    tabs = "class Parcel:\n\tdef weigh(self): ...\n"
    indented = Answer(function).call(tabs)
    require(
        indented.splitlines() == definitions(tabs).splitlines(),
        f"a tab is an indent, too; of {tabs!r} the outline is {indented!r:.60}.",
    )
    for nothing in ("import os\n", ""):
        empty = Answer(function).call(nothing)
        require(
            empty == "",
            f"of {nothing!r} the outline should be an empty text, not {empty!r:.60}.",
        )
