"""The exercises of lesson 00: when a request no longer fits, what fills it, a tool of one's own.

The model answers are here too, each as short as the solution in the notebook, so that the example
of the lesson is run as a test.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentlib.lab.lessons.checking import Exercise, Wrong
from agentlib.messages import Message, of_type, result_text, violation
from agentlib.tools import ToolError, Workspace

_TASKS = ((600, 400, 2_000), (600, 2_000, 32_000), (6_000, 2_000, 200_000), (5_000, 400, 2_000))


def refused_turn(base: int, growth: int, window: int) -> int:
    """The first turn whose prompt does not fit: `base` tokens at turn 1, `growth` more at each.

    The prompts of the first five turns are 600, 1,000, 1,400, 1,800 and 2,200 tokens:

    >>> refused_turn(base=600, growth=400, window=2_000)
    5
    """
    return max(1, (window - base) // growth + 2)


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
        if type(said) is not int or said < 1:
            raise Wrong(f"for {asked} it returns {said!r}; a turn is a whole number, from 1 on.")
        size = base + growth * (said - 1)
        fits = f"the prompt of turn {said:,} has {size:,} tokens"
        if size <= window:
            raise Wrong(f"for {asked} it says {said:,}, but {fits}, and that fits.")
        raise Wrong(f"for {asked} it says {said:,}: {fits}, but a turn before it was refused too.")
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
        shown = f"{said:,}" if isinstance(said, int | float) else repr(said)
        raise Wrong(f"for {asked} it gives {shown}, but {total}.")
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
        why = "content may be a string: use blocks(message), and only those of type tool_result"
        raise Wrong(f"it raised {error!r}; {why}.") from error
    if said == "toolu_1":
        raise Wrong(
            "it says toolu_1, whose text has 300 characters; that of toolu_2 has 2,000. Its "
            "content is a list with one text block: what counts is the text, not the list."
        )
    if said == "toolu_3":
        raise Wrong("it says toolu_3, the last result, with 23 characters; toolu_2 has 2,000.")
    if said != "toolu_2":
        shown = said if isinstance(said, str) else f"a {type(said).__name__}"
        raise Wrong(f"it gives {shown}; the answer is the tool_use_id of a result.")
    longer = [CONVERSATION[0], *_called("bash", ".", 7, "c" * 2_020), *CONVERSATION[1:]]
    if (said := answer(longer)) != "toolu_7":
        raise Wrong(f"where a toolu_7 with 2,020 characters comes first, it gives {said!r:.40}.")
    return "2,000 of the 2,323 characters of all results are in this one."


def _check_hands(answer: Any) -> str:
    calls = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": "read_file", "input": {"path": path}}
        for n, path in enumerate(("a.txt", "missing.txt"), 1)
    ]
    asked: Message = {"role": "assistant", "content": calls}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_text("one line\n", encoding="utf-8", newline="\n")
        try:
            said: Message = _function(answer)(calls, Workspace(Path(folder)))
        except ToolError as error:
            raise Wrong(f"{error}: a failure is a result, too; tools.result makes it.") from error
    if not hasattr(said, "get") or said.get("role") != "user":
        raise Wrong("results go back as one message of the user: a dict with role and content.")
    content: Any = said.get("content")
    inside: list[Any] = [*content] if hasattr(content, "__iter__") else [content]
    if not isinstance(content, str) and not all(hasattr(block, "get") for block in inside):
        raise Wrong("the content is a list of blocks; each is what tools.result returns.")
    if broken := violation([{"role": "user", "content": "Read both."}, asked, said]):
        raise Wrong(f"the API would refuse the next request: {broken}")
    results = {r["tool_use_id"]: r for r in of_type(said, "tool_result")}
    if (read := result_text(results["toolu_1"])) != "one line":
        raise Wrong(f"the result of toolu_1 is {read!r}, but a.txt holds 'one line'.")
    if not results["toolu_2"].get("is_error"):
        raise Wrong("the result of toolu_2 does not say that the call failed: is_error is not set.")
    return "every call has its result, the failed one too: its result says what went wrong."


SMALLEST_WINDOW = 96_000
"""The first of the slider's windows that the largest prompt of the whole task fits into."""


def _check_window(answer: Any) -> str:
    if answer is None:
        raise Wrong("it is None. Move the slider, read the sentence, and put in the window.")
    if type(answer) not in (int, float):
        raise Wrong(f"it is {answer!r}; put in a number, such as 32_000.")
    if answer % 8_000 or not 8_000 <= answer <= 128_000:
        raise Wrong(f"the slider has no {answer:,}: its steps are 8,000, 16,000 … 128,000.")
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
    try:
        said = run(SOURCE)
    except OSError as error:
        raise Wrong("it opens a file; what it gets is the text of one, not its path.") from error
    if not isinstance(said, str):
        raise Wrong(f"it returns a {type(said).__name__}; a result is one text: join the lines.")
    wanted = {line.strip(): n for n, line in re.findall(r"(\d+): (.+)", outline(SOURCE))}
    if lost := [line for line in wanted if line not in said]:
        raise Wrong(f"the outline leaves out line {wanted[lost[0]]}: {lost[0]!r}.")
    for line, n in wanted.items():
        if not re.search(rf"\b{n}\b.*{re.escape(line)}", said):
            raise Wrong(f"the line {line!r} comes without its number {n} before it.")
    if more := [r for r in said.splitlines() if r.strip() and not r.endswith(tuple(wanted))]:
        raise Wrong(f"it holds {more[0]!r}: what defines nothing stays out; that is the saving.")
    return f"{len(SOURCE)} characters of source became {len(said)}."


def _tool_of(answer: Any) -> tuple[dict[str, Any], Callable[[str], Any]]:
    pair: Sequence[Any] = tuple(answer) if hasattr(answer, "__len__") else ()
    if len(pair) != 2 or not hasattr(pair[0], "get") or not callable(pair[1]):
        raise Wrong("the answer is a pair: the tool's definition, and the function that runs.")
    return pair[0], pair[1]


def _check_definition(definition: dict[str, Any]) -> None:
    """What the API asks of a tool, and what a model needs to use it."""
    said = {key: str(value or "").strip() for key, value in definition.items()}
    if missing := [k for k in ("name", "description", "input_schema") if not said.get(k)]:
        raise Wrong(f"it has no {missing[0]}; name, description and schema are all a model sees.")
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", said["name"]):
        raise Wrong(f"the name {definition['name']!r}: letters, digits, _ and - are allowed.")
    schema: Any = definition["input_schema"]
    try:
        kinds = schema["type"], schema["properties"]["path"]["type"]
    except (KeyError, TypeError):
        kinds = ()
    if kinds != ("object", "string"):
        raise Wrong('input_schema: type "object", and properties {"path": {"type": "string"}}.')
    if "'path'" not in str(schema.get("required")):
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
