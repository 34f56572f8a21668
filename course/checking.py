"""The vocabulary of the exercises' checkers: small conversations, safe calls,
comparisons.

A checker gets the learner's `Answer` and raises `Wrong` with the failing case.
`exercise` registers one.
"""

import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from numbers import Real
from pathlib import Path
from random import Random
from typing import Any, cast

from agentlib.messages import Block, Message, of_type
from agentlib.settings import MODEL
from offline_api import violation
from offline_api.body_schema import check_shape
from offline_api.errors import Refusal
from windtunnel.parts import is_message


def read(name: str) -> str:
    """Return the text of a file beside this module."""
    return (Path(__file__).parent / "rooms" / name).read_text(encoding="utf-8")


SUMMARY = "1.py and 2.py are read."
"""A summary that has nothing of a `conversation`."""
OF_THE_USER = (
    "the message with the summary should be one of the user; "
    "in the assistant's mouth the next model takes it for its own words"
)
LONGEST = 60
"""Characters of a value that fit into a sentence."""
_Items = Mapping[Any, Any]


class Wrong(Exception):
    """Raised by a checker. The message tells the learner which case failed, and why."""


def require(condition: object, reason: str) -> None:
    """Raise `Wrong` with this reason unless the condition holds."""
    if not condition:
        raise Wrong(reason)


def same_value(right: Any, result: Any, within: float = 1e-9) -> bool:
    """Compare two results. If one is right that is a truth, any other true value is,
    too.

    Numbers may differ by `within`, and those with a fraction in their last digits. A
    tuple is as good as a list.
    """
    if isinstance(right, bool):
        return right == bool(result)
    if isinstance(right, int | float) and isinstance(result, Real | Decimal):
        share = 1e-6 if isinstance(right, float) else 0
        return math.isclose(right, float(result), rel_tol=share, abs_tol=within)
    return right == _as_list(result)


@dataclass(frozen=True)
class Answer:
    """What the learner gives to `check`, and the ways in which a checker looks at
    it."""

    value: Any

    @property
    def function(self) -> Callable[..., Any]:
        """The answer, if it is a function."""
        reason = (
            "is not a function; give check the function's name, without parentheses."
        )
        require(callable(self.value), f"{shown(self.value)} {reason}")
        return self.value

    def typed(self, types: type | tuple[type, ...], reason: str) -> Any:
        """Return the answer, if it has one of the types."""
        require(
            isinstance(self.value, types),
            f"the answer is {shown(self.value)}; {reason}.",
        )
        return self.value

    def numbers(self, *names: str) -> dict[str, int]:
        """Return the answer, if it is a dict of numbers with these names and no
        other."""
        listed = ", ".join(f'"{name}": …' for name in names)
        wanted = f"give {{{listed}}}"
        numbers = self.typed(dict, wanted)
        others = f"{wanted}, and no other number; yours is {shown(numbers)}."
        require(set(numbers) <= set(names), others)
        missing = [name for name in names if name not in numbers]
        require(not missing, f"{wanted}; yours has no {' and no '.join(missing)}.")
        return numbers

    def call(self, given: Any, *more: Any, **options: Any) -> Any:
        """Call the learner's function on copies of lists and dicts, which it mustn't
        edit."""
        asked = (given, *more)
        copies: list[Any] = [
            deepcopy(v) if type(v) in (list, dict) else v for v in asked
        ]
        try:
            result = self.function(*copies, **options)
        except Exception as error:
            error.add_note(self._listed(asked))
            raise
        same = all(map(operator.eq, copies, asked))
        require(same, "it edited what it was given; leave that as it is.")
        return result

    def messages(self, given: Any, *more: Any, **options: Any) -> list[Message]:
        """Call the learner's function; it has to return messages that the API would
        take."""
        return require_messages(self.call(given, *more, **options))

    def agree(
        self,
        cases: Mapping[str, Sequence[Any]],
        within: float = 1e-9,
        *,
        rounded: bool = False,
        mistakes: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """Call the learner's function in each case: the right result, then the
        arguments.

        A case's name gives its reason, as in "a prompt as large as the window still
        fits". Numbers may differ by `within`, or be `rounded` up. `mistakes` are wrong
        functions: if one gives what the learner's gives, its name is the reason.
        """
        for name, (right, *arguments) in cases.items():
            result = self.call(*arguments)
            given = f"with {listed} " if (listed := self._listed(arguments)) else ""
            wanted, yours = apart(right, result)
            verdict = f"{given}the answer is {wanted}, not {yours}"
            also = math.ceil(right) if rounded else right
            fits = any(same_value(each, result, within) for each in (right, also))
            made = [
                reason
                for reason, wrong in (mistakes or {}).items()
                if not fits and same_value(wrong(*arguments), result, within)
            ]
            require(fits, f"{', '.join([name, *made[:1]])}: {verdict}.")

    def _listed(self, arguments: Sequence[Any]) -> str:
        """Name the arguments that are short enough: "base=600, growth=400"."""
        pairs = zip(
            inspect.signature(self.function).parameters, arguments, strict=False
        )
        short = [(name, value) for name, value in pairs if len(repr(value)) <= LONGEST]
        return ", ".join(f"{name}={shown(value)}" for name, value in short)

    def hit(self, right: int, *, how: str, low: str, high: str) -> None:
        """Require the right number. Say `low` or `high` of any other, and how to find
        one.

        Where `low` and `high` have braces, they name the learner's number.
        """
        given = shown(self.value)
        whole = type(self.value) in (int, float) and self.value % 1 == 0
        require(whole, f"{given} is no whole number; {how}.")
        require(self.value >= right, low.format(given))
        require(self.value <= right, high.format(given))


def drawn(
    right: Callable[..., Any], make: Callable[[Random], Sequence[Any]], count: int = 30
) -> dict[str, Sequence[Any]]:
    """Make cases for `Answer.agree` at random, the same each time. No table of known
    cases answers them.

    >>> drawn(max, lambda random: (random.randint(1, 9), random.randint(1, 9)), count=1)
    {'case 1 of 1 made at random': (3, 3, 2)}
    """
    random = Random(count)
    given = [tuple(make(random)) for _ in range(count)]
    return {
        f"case {n} of {count} made at random": (right(*each), *each)
        for n, each in enumerate(given, 1)
    }


Check = Callable[[Answer], str | None]
"""Returns None for a right answer, or a sentence about it, and raises `Wrong` for any
other."""


@dataclass(frozen=True)
class Exercise:
    """An exercise as its lesson registers it."""

    check: Check
    passed: str
    """What to say of a right answer of which the check says nothing."""
    finished: Any
    """What runs until the learner has solved it, or None."""
    hints: tuple[str, ...]
    """The paragraphs of the check's docstring, in the order in which they are given."""


EXERCISES: dict[str, Exercise] = {}
"""The exercises of the lessons' modules that have been imported, by name."""


def exercise(
    name: str, passed: str = "", *, finished: Any = None
) -> Callable[[Check], Check]:
    """Register the decorated check as the exercise `name`. Its docstring has the hints.

    A hint is a paragraph of its own.
    """

    def register(check: Check) -> Check:
        paragraphs = inspect.cleandoc(check.__doc__ or "").split("\n\n")
        hints = tuple(" ".join(each.split()) for each in paragraphs)
        EXERCISES[name] = Exercise(check, passed, finished, hints)
        return check

    return register


def require_messages(value: Any) -> list[Message]:
    """Return the value if it is a list of messages that the API would take."""
    for message in Answer(value).typed(list, "return a list of messages"):
        form = "a message has the role user or assistant, and a text or blocks as its content"
        content: Any = Answer(message).typed(dict, form).get("content")
        for part in _as_list(content) if isinstance(content, list) else ():
            require_block(part)
        require(is_message(message), f"the list holds {shown(message)}; {form}.")
    refusal = violation(value)
    require(not refusal, f"the API would refuse this: {refusal}")
    try:
        check_shape({"model": MODEL, "max_tokens": 1, "messages": deepcopy(value)})
    except Refusal as refused:
        raise Wrong(f"the API would refuse this: {refused}") from None
    return value


def require_block(value: Any) -> None:
    """Require the shape of a block: a dict that names its type."""
    form = "a block is a dict with a type, such as text or tool_result"
    is_block = isinstance(value, dict) and "type" in value
    require(is_block, f"one block is {shown(value)}; {form}.")


def shown(value: Any) -> str:
    """Return a value as text for a sentence: numbers with separators, long values cut
    short.

    >>> print(shown(32_000), shown("a.py"), shown("a" * 99))
    32,000 'a.py' 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…
    """
    value = round(value, 9) if isinstance(value, float) else value  # 126.99999999999999
    text = f"{value:,}" if type(value) is int else repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def apart(right: Any, result: Any) -> tuple[str, str]:
    """Return two values for a sentence, cut so that their difference is in sight.

    >>> apart("a" * 99 + "b", "a" * 99 + "c")
    ("…'aaaaaaaaaaaaaaaaaaaab'", "…'aaaaaaaaaaaaaaaaaaaac'")
    >>> apart(["a.py"] * 20, ["a.py"] * 19)
    ("'a.py' as item 20", "'(nothing)' as item 20")
    >>> apart({"a": "b" * 60, "c": 1}, {"a": "b" * 60, "c": 2})
    ("{…, 'c': 1}", "{…, 'c': 2}")
    """
    whole = shown(right), shown(result)
    if max(len(repr(right)), len(repr(result))) <= LONGEST:
        return whole
    if isinstance(right, str) and isinstance(result, str):
        first = _first_difference(right, result)
        start = max(0, first - 20)
        cut = "…" * (start > 0)
        return f"{cut}{shown(right[start:])}", f"{cut}{shown(result[start:])}"
    if isinstance(right, list) and isinstance(result, list | tuple):
        items = _as_list(right)
        others = _as_list(result)
        first = _first_difference(items, others)
        nothing = [["(nothing)"] * (first + 1)] * 2
        sides = zip((items, others), nothing, strict=True)
        wanted, yours = (shown([*each, *more][first]) for each, more in sides)
        return f"{wanted} as item {first + 1}", f"{yours} as item {first + 1}"
    if isinstance(right, dict) and isinstance(result, dict):
        one = cast(_Items, right)
        other = cast(_Items, result)
        return _other_items(one, other), _other_items(other, one)
    return whole


def _other_items(one: _Items, other: _Items) -> str:
    """Return as text what one dict has otherwise than the other."""
    items = {
        key: value
        for key, value in one.items()
        if key not in other or other[key] != value
    }
    text = shown(items)
    return text if len(items) == len(one) else f"{{…, {text[1:]}" if items else "{…}"


def _as_list(value: Any) -> Any:
    """Return a list of a list's or tuple's items, and any other value as it is."""
    return [*value] if isinstance(value, list | tuple) else value


def _first_difference(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the first place at which two sequences differ, or where one ends."""
    pairs = enumerate(zip(one, other, strict=False))
    ends = min(len(one), len(other))
    return next((place for place, (a, b) in pairs if a != b), ends)


def call_block(number: int, name: str = "read_file", **inputs: Any) -> Block:
    """Make the tool_use block `toolu_<number>`."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": inputs}


def result_block(number: int, content: Any) -> Block:
    """Make the tool_result block that answers the call `toolu_<number>`."""
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": content}


Result = int | str | Mapping[str, Any]


def conversation(
    *exchanges: Result | Sequence[Result],
    request: str = "Read every file, then report.",
) -> list[Message]:
    """Make a request and its exchanges, each a call and its result, or several in one
    turn.

    Give a result as its number of characters or as its text. A mapping stands for a
    call of `compact` with that input. Calls are numbered from `toolu_1` through all
    exchanges.

    >>> [len(message["content"]) for message in conversation(300, [90, {"focus": "facts"}])[1:]]
    [1, 1, 2, 2]
    """
    messages: list[Message] = [{"role": "user", "content": request}]
    numbers = count(1)
    for exchange in exchanges:
        results = [exchange] if isinstance(exchange, int | str | Mapping) else exchange
        blocks = [_call_and_result(next(numbers), result) for result in results]
        calls, answers = map(list, zip(*blocks, strict=True))
        messages += [
            {"role": "assistant", "content": calls},
            {"role": "user", "content": answers},
        ]
    return messages


def _call_and_result(number: int, result: Result) -> tuple[Block, Block]:
    if isinstance(result, Mapping):
        return call_block(number, "compact", **result), result_block(
            number, "Compacted."
        )
    text = (f"# {number} " * result)[:result] if isinstance(result, int) else result
    return call_block(number, path=f"{number}.py"), result_block(number, text)


def text_of(messages: Sequence[Message]) -> str:
    """Join the text of the messages, without tool results."""
    return "\n".join(block["text"] for m in messages for block in of_type(m, "text"))
