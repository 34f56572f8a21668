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


def _function(answer: Any) -> Callable[..., Any]:
    if not callable(answer):
        raise Wrong(f"it is {answer!r}; give check the function itself: its name, no parentheses.")
    return answer


def _check_refused(answer: Any) -> str:
    _function(answer)
    for base, growth, window in _TASKS:
        said, right = answer(base, growth, window), refused_turn(base, growth, window)
        if said == right:
            continue
        asked = f"base {base:,}, growth {growth:,}, window {window:,}"
        if not isinstance(said, int):
            raise Wrong(f"for {asked} it returns {said!r}; a turn is a whole number, from 1 on.")
        size = base + growth * (said - 1)
        fits = f"the prompt of turn {said} has {size:,} tokens"
        if size <= window:
            raise Wrong(f"for {asked} it says {said}, but {fits}, and that fits.")
        raise Wrong(f"for {asked} it says {said}: {fits}, but a turn before it was refused too.")
    return "a prompt as large as the window still fits, one token more is refused."


def _check_sent(answer: Any) -> str:
    _function(answer)
    for base, growth, turns in ((600, 400, 4), (600, 400, 1), (600, 2_000, 40)):
        said, right = answer(base, growth, turns), tokens_sent(base, growth, turns)
        if said == right:
            continue
        asked = f"base {base:,}, growth {growth:,}, {turns} turns"
        if said == base + growth * (turns - 1):
            raise Wrong(f"for {asked} it gives {said:,}, the last prompt only; each was sent.")
        if said == base + growth * turns:
            why = "each prompt holds the ones before it, and each is paid for: add them up"
            raise Wrong(f"for {asked} it gives {said:,}: {why}.")
        total = f"the sum of the prompts is {right:,}: {base:,}, then {growth:,} more each time"
        raise Wrong(f"for {asked} it gives {said!r}, but {total}.")
    twice = tokens_sent(600, 2_000, 40) / tokens_sent(600, 2_000, 20)
    return f"twice as many turns, 40 instead of 20, send {twice:.1f} times as many tokens."


def _called(name: str, path: str, n: int, content: Any) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": {"path": path}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": content}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "Read a.py and b.py, then write c.py. " * 80},
    *_called("read_file", "a.py", 1, "a" * 300),
    *_called("read_file", "b.py", 2, [{"type": "text", "text": "b" * 2_000}]),
    *_called("write_file", "c.py", 3, "Wrote 900 bytes to c.py"),
]
"""Three calls; the second result's content is a list, and the largest block is no result."""


def _check_largest(answer: Any) -> str:
    try:
        said = _function(answer)(CONVERSATION)
    except (TypeError, KeyError, AttributeError) as error:
        why = "content may be a string: use blocks(message), and only blocks of type tool_result"
        raise Wrong(f"it raised {error!r}; {why}.") from error
    if said == "toolu_1":
        raise Wrong(
            "it says toolu_1 with 300 characters. The content of toolu_2 is a list with one text "
            "block: its length is that of the text, 2,000, not that of the list."
        )
    if said == "toolu_3":
        raise Wrong("it says toolu_3, the last result, with 23 characters; toolu_2 has 2,000.")
    if said != "toolu_2":
        short = isinstance(said, str | int | None)
        shown = repr(said) if short else f"a {type(said).__name__}"
        raise Wrong(f"it gives {shown}; the answer is the tool_use_id of a result.")
    first, second, third = (CONVERSATION[i : i + 2] for i in (1, 3, 5))
    turned = [CONVERSATION[0], *second, *third, *first]
    if answer(turned) != "toolu_2":
        raise Wrong("it takes a fixed place: with the calls in another order it is wrong.")
    return "2,000 of the 2,323 characters of all results are in this one."


def _check_hands(answer: Any) -> str:
    calls = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": "read_file", "input": {"path": path}}
        for n, path in enumerate(("a.txt", "missing.txt"), 1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_text("one line\n", encoding="utf-8", newline="\n")
        said: Message = _function(answer)(calls, Workspace(Path(folder)))
    if not hasattr(said, "get") or said.get("role") != "user":
        raise Wrong("results go back as one message of the user: a dict with role and content.")
    content: Any = said.get("content") or ()
    if not isinstance(content, str) and not all(hasattr(block, "get") for block in content):
        raise Wrong("the content is a list of blocks; each is what tools.result returns.")
    question: Message = {"role": "user", "content": "Read both."}
    asked: Message = {"role": "assistant", "content": calls}
    if broken := violation([question, asked, said]):
        raise Wrong(f"the API would refuse the next request: {broken}")
    texts = {r["tool_use_id"]: result_text(r) for r in of_type(said, "tool_result")}
    if texts["toolu_1"] != "one line":
        raise Wrong(f"the result of toolu_1 is {texts['toolu_1']!r}, but a.txt holds 'one line'.")
    return "every call has its result, the failed one too: its result says what went wrong."


SMALLEST_WINDOW = 96_000
"""The first of the slider's windows that the largest prompt of the whole task fits into."""


def _check_window(answer: Any) -> str:
    if answer is None:
        raise Wrong("it is None. Move the slider, read the sentence, and put in the window.")
    if not isinstance(answer, int | float):
        raise Wrong(f"it is {answer!r}; put in a number, such as 32_000.")
    if answer % 8_000 or not 8_000 <= answer <= 128_000:
        raise Wrong(f"the slider has no {answer:,}: it goes from 8,000 to 128,000 in 8,000s.")
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
    said = run(SOURCE)
    if not isinstance(said, str):
        raise Wrong(f"it returns a {type(said).__name__}; a result is one text: join the lines.")
    found: list[str] = []
    for node in ast.walk(ast.parse(SOURCE)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        line = SOURCE.splitlines()[node.lineno - 1].strip()
        found.append(line)
        if line not in said:
            raise Wrong(f"the outline leaves out line {node.lineno}: {line!r}.")
        if not re.search(rf"\b{node.lineno}\b.*{re.escape(line)}", said):
            raise Wrong(f"the line {line!r} comes without its number {node.lineno} before it.")
    more = [row for row in said.splitlines() if row.strip() and not row.endswith(tuple(found))]
    if more:
        why = "lines that define nothing stay out; they are what it saves"
        raise Wrong(f"it holds {more[0]!r}: {why}.")
    return f"{len(SOURCE)} characters of source became {len(said)}."


def _tool_of(answer: Any) -> tuple[dict[str, Any], Callable[[str], Any]]:
    pair: Sequence[Any] = answer if hasattr(answer, "__len__") else ()
    if len(pair) != 2 or not hasattr(pair[0], "get") or not callable(pair[1]):
        raise Wrong("the answer is a pair: the tool's definition, and the function that runs.")
    return pair[0], pair[1]


def _check_definition(definition: dict[str, Any]) -> None:
    """What the API asks of a tool, and what a model needs to use it."""
    if missing := [k for k in ("name", "description", "input_schema") if not definition.get(k)]:
        seen = "the model sees a tool's name, description and input_schema, no more"
        raise Wrong(f"the definition has no {missing[0]}; {seen}.")
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", definition["name"]):
        raise Wrong(f"the name {definition['name']!r}: letters, digits, _ and - are allowed.")
    schema = definition["input_schema"]
    path = schema.get("properties", {}).get("path")
    if schema.get("type") != "object" or not isinstance(path, dict) or "type" not in path:
        raise Wrong('the properties of input_schema are to be {"path": {"type": "string"}}.')
    if "path" not in list(schema.get("required", [])):
        raise Wrong('"path" is not in "required", a list of names: the model may leave it out.')


def _with(check: Callable[[Any], str], *hints: str) -> Exercise:
    return Exercise(check, hints)


EXERCISES = {
    "00.1": _with(
        _check_refused,
        "The prompt of turn n has base + growth * (n - 1) tokens.",
        "Count turns up from 1 as long as that is at most the window.",
    ),
    "00.2": _with(
        _check_hands,
        "tools.result(call, place) runs one call and returns its tool_result block.",
        "The content of the message is a list with one such block for each call.",
    ),
    "00.3": _with(
        _check_sent,
        "Each request sends its whole prompt anew, so the prompts are added up.",
        "sum(…) over range(turns): at number 0 the prompt has base tokens.",
    ),
    "00.4": _with(
        _check_largest,
        "Results are blocks of type tool_result in the messages of the user.",
        "blocks(message) gives the blocks, result_text(block) the text of a result.",
    ),
    "00.5": _with(
        _check_window,
        "Only the last part of the sentence tells whether a prompt was refused.",
        "The largest prompt stands in the sentence; the slider moves by 8,000.",
    ),
    "00.6": _with(
        _check_tool,
        "A line defines something if, its indent taken off, it starts with def, class, async def.",
        "enumerate(text.splitlines(), 1) gives each line with its number.",
    ),
}
