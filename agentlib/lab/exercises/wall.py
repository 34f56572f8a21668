"""The exercises of lesson 00: when a request no longer fits, what fills it, a tool of one's own.

The model answers are here too, each as short as the solution in the notebook, so that the example
of the lesson is run as a test.
"""

import ast
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentlib.lab.exercises import Exercise, Wrong
from agentlib.messages import Message, of_type, result_text, violation
from agentlib.tools import Workspace

_TASKS = ((600, 400, 2_000), (600, 2_000, 32_000), (6_000, 2_000, 200_000), (900, 100, 1_000))


def refused_turn(base: int, growth: int, window: int) -> int:
    """The first turn whose prompt does not fit: `base` tokens at turn 1, `growth` more at each.

    The prompts of the first five turns are 600, 1,000, 1,400, 1,800 and 2,200 tokens:

    >>> refused_turn(base=600, growth=400, window=2_000)
    5
    """
    return (window - base) // growth + 2


def tokens_sent(base: int, growth: int, turns: int) -> int:
    """All tokens of so many prompts together.

    >>> tokens_sent(base=600, growth=400, turns=4)   # 600 + 1,000 + 1,400 + 1,800
    4800
    """
    return sum(base + growth * turn for turn in range(turns))


def _check_refused(answer: Any) -> str:
    for base, growth, window in _TASKS:
        said, right = answer(base, growth, window), refused_turn(base, growth, window)
        if said == right:
            continue
        asked = f"base {base:,}, growth {growth:,}, window {window:,}"
        if not isinstance(said, int):
            raise Wrong(f"for {asked} it gives {said!r}; a turn is a whole number, counted from 1.")
        size = base + growth * (said - 1)
        fits = f"the prompt of turn {said} has {size:,} tokens"
        if size <= window:
            raise Wrong(f"for {asked} it says {said}, but {fits}, and that fits.")
        raise Wrong(f"for {asked} it says {said}: {fits}, but a turn before it was refused too.")
    return "a prompt as large as the window still fits, one token more is refused."


def _check_sent(answer: Any) -> str:
    for base, growth, turns in ((600, 400, 4), (600, 400, 1), (600, 2_000, 40)):
        said, right = answer(base, growth, turns), tokens_sent(base, growth, turns)
        if said == right:
            continue
        asked = f"base {base:,}, growth {growth:,}, {turns} turns"
        if said == base + growth * (turns - 1):
            raise Wrong(f"for {asked} it gives {said:,}, the last prompt only; each was sent.")
        if said == base + growth * turns:
            raise Wrong(f"for {asked} it gives {said:,}: each prompt holds the ones before it.")
        raise Wrong(f"for {asked} it gives {said!r}, but the sum of the prompts is {right:,}.")
    twice = tokens_sent(600, 2_000, 40) / tokens_sent(600, 2_000, 20)
    return f"twice as many turns, 40 instead of 20, send {twice:.1f} times as many tokens."


def _called(name: str, path: str, n: int, content: Any) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": {"path": path}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": content}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "Read a.py and b.py, then write c.py. " * 40},
    *_called("read_file", "a.py", 1, "a" * 300),
    *_called("read_file", "b.py", 2, [{"type": "text", "text": "b" * 2_000}]),
    *_called("write_file", "c.py", 3, "Wrote 900 bytes to c.py"),
]
"""A conversation of three calls; the second result's content is a list of blocks."""


def _check_largest(answer: Any) -> str:
    said = answer(CONVERSATION)
    if said == "toolu_1":
        raise Wrong(
            "it says toolu_1 with 300 characters. The content of toolu_2 is a list with one text "
            "block: its length is that of the text, 2,000, not that of the list."
        )
    if said != "toolu_2":
        raise Wrong(f"it gives {said!r}; the answer is the tool_use_id of a result.")
    first, second, third = (CONVERSATION[i : i + 2] for i in (1, 3, 5))
    turned = [CONVERSATION[0], *second, *third, *first]
    if answer(turned) != "toolu_2":
        raise Wrong("it takes a fixed place: with the calls in another order it is wrong.")
    return "2,000 of the characters of all results are in this one."


def _check_hands(answer: Any) -> str:
    calls = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": "read_file", "input": {"path": path}}
        for n, path in enumerate(("a.txt", "missing.txt"), 1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_text("one line\n", encoding="utf-8", newline="\n")
        said: Message = answer(calls, Workspace(Path(folder)))
    if not hasattr(said, "get") or said.get("role") != "user":
        raise Wrong("results go back as a message of the user: a dict with role and content.")
    question: Message = {"role": "user", "content": "Read both."}
    asked: Message = {"role": "assistant", "content": calls}
    if broken := violation([question, asked, said]):
        raise Wrong(f"the API would refuse the next request: {broken}")
    texts = [result_text(result) for result in of_type(said, "tool_result")]
    if texts[0] != "one line":
        raise Wrong(f"the first result is {texts[0]!r}, but a.txt holds 'one line'.")
    return "every call has its result, the failed one too: its result says what went wrong."


SMALLEST_WINDOW = 96_000
"""The first of the slider's windows that the largest prompt of the whole task fits into."""


def _check_window(answer: Any) -> str:
    if answer is None:
        raise Wrong("it is None. Move the slider, read the sentence, and put in the window.")
    if answer < SMALLEST_WINDOW:
        raise Wrong(f"at {answer:,} the sentence still says that the API would refuse a prompt.")
    if answer > SMALLEST_WINDOW:
        raise Wrong(f"at {answer:,} all prompts fit, but they do at a smaller window, too.")
    return "at the next smaller one the last prompts are refused, where the report is due."


SOURCE = '''"""Weights of parcels."""

LIMIT = 30


class Parcel:
    """What is sent."""

    def weigh(self, scale):
        """In grams, to the next full one."""
        grams = scale.read()
        return round(grams)


async def deliver(parcel, address):
    """Bring it there."""
    default = "def nothing(): a text"
    return await address.take(parcel)
'''
"""A file of 18 lines, three of which define something."""


def outline(source: str) -> str:
    """The lines of a Python file that define something, each after its number.

    >>> print(outline(SOURCE))
    6: class Parcel:
    9:     def weigh(self, scale):
    15: async def deliver(parcel, address):
    """
    starts = ("def ", "class ", "async def ")
    lines = enumerate(source.splitlines(), 1)
    return "\n".join(f"{n}: {line}" for n, line in lines if line.lstrip().startswith(starts))


def _check_tool(answer: Any) -> str:
    definition, run = _tool_of(answer)
    _check_definition(definition)
    said = str(run(SOURCE))
    for node in ast.walk(ast.parse(SOURCE)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        line = SOURCE.splitlines()[node.lineno - 1].strip()
        if line not in said:
            raise Wrong(f"the outline leaves out line {node.lineno}: {line!r}.")
        if not re.search(rf"\b{node.lineno}\b.*{re.escape(line)}", said):
            raise Wrong(f"the line {line!r} comes without its number {node.lineno} before it.")
    if "default" in said or "grams" in said:
        raise Wrong("it holds lines that define no function and no class; they are what it saves.")
    return f"{len(SOURCE)} characters of source became {len(said)}."


def _tool_of(answer: Any) -> tuple[dict[str, Any], Callable[[str], Any]]:
    pair: Sequence[Any] = answer if hasattr(answer, "__len__") else ()
    if len(pair) != 2 or not hasattr(pair[0], "get") or not callable(pair[1]):
        raise Wrong("the answer is a pair: the tool's definition, and the function that runs.")
    return pair[0], pair[1]


def _check_definition(definition: dict[str, Any]) -> None:
    """What the API asks of a tool, and what a model needs to use it."""
    if missing := [k for k in ("name", "description", "input_schema") if not definition.get(k)]:
        raise Wrong(f"the definition has no {missing[0]}; the model sees nothing but these three.")
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", definition["name"]):
        raise Wrong(f"the name {definition['name']!r}: letters, digits, _ and - are allowed.")
    schema = definition["input_schema"]
    if schema.get("type") != "object" or "path" not in schema.get("properties", {}):
        raise Wrong('input_schema is {"type": "object", "properties": {"path": …}, …}.')
    if "path" not in schema.get("required", []):
        raise Wrong('"path" is not in "required", so the model may leave it out.')


EXERCISES = {
    "00.1": Exercise(
        check=_check_refused,
        hints=(
            "The prompt of turn n has base + growth * (n - 1) tokens.",
            "Count turns up from 1 as long as that is at most the window.",
        ),
    ),
    "00.2": Exercise(
        check=_check_hands,
        hints=(
            "result(call, place) runs one call and returns its tool_result block.",
            "The content of the message is a list with one such block for each call.",
        ),
    ),
    "00.3": Exercise(
        check=_check_sent,
        hints=(
            "Each request sends its whole prompt anew, so the prompts are added up.",
            "sum(…) over range(turns): at number 0 the prompt has base tokens.",
        ),
    ),
    "00.4": Exercise(
        check=_check_largest,
        hints=(
            "Results are blocks of type tool_result in the messages of the user.",
            "blocks(message) gives the blocks, result_text(block) the text of a result.",
        ),
    ),
    "00.5": Exercise(
        check=_check_window,
        hints=(
            "Only the last part of the sentence tells whether a prompt was refused.",
            "The largest prompt stands in the sentence; the slider moves by 8,000.",
        ),
    ),
    "00.6": Exercise(
        check=_check_tool,
        hints=(
            "A line defines something where, its indent taken off, it starts with def or class.",
            "enumerate(text.splitlines(), 1) gives each line with its number.",
        ),
    ),
}
