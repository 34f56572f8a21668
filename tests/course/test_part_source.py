"""A learner's function leaves its notebook with the imports it needs, or says why not."""

import functools
import json
from typing import Any

import pytest

from agentlib import messages as msg
from agentlib.messages import SUMMARY_HEADER, of_type
from course.checking import conversation
from course.part_source import CannotStand, names_used, source_of

LIMIT = 3


def helper(x: int) -> int:
    return x


def typed_one(messages: list[Any]) -> list[Any]:
    kinds = [block for m in messages for block in of_type(m, "text")]
    return [json.dumps(kinds), SUMMARY_HEADER, msg.STAY]


def fact(n):
    return 1 if n < 2 else n * fact(n - 1)


def nests(messages):
    def inner(one):
        return len(one)

    return [inner(m) for m in messages]


def test_imports_are_found_for_functions_modules_constants_and_types():
    assert source_of(typed_one, "typed_one").imports == {
        "Any": "from typing import Any",
        "SUMMARY_HEADER": "from agentlib.messages import SUMMARY_HEADER",
        "json": "import json",
        "msg": "from agentlib import messages as msg",
        "of_type": "from agentlib.messages import of_type",
    }


def test_a_function_of_another_name_is_renamed_where_it_calls_itself_too():
    text = source_of(fact, "factorial").text
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    assert namespace["factorial"](4) == 24
    assert "fact(" not in text.replace("factorial(", "")


def test_a_function_inside_is_no_obstacle():
    assert source_of(nests, "nests").imports == {}


def closed():
    hidden = 3

    def inside(messages):
        return messages[hidden:]

    return inside


@functools.cache
def decorated(messages):
    return messages


def with_limit(messages):
    return messages[-LIMIT:]


def with_helper(messages):
    return helper(len(messages))


def with_the_course(messages):
    return conversation(300)


class Callable:
    def __call__(self, messages):
        return messages


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda messages: messages, "lambda"),
        (functools.partial(fact), "partial"),
        (Callable(), "Callable"),
        (len, "builtin"),
        (closed(), "hidden"),
        (decorated.__wrapped__, "cache"),
        (with_limit, "LIMIT"),
        (with_helper, "helper"),
        (with_the_course, "conversation"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_file_can_hold_is_named(function, word):
    with pytest.raises(CannotStand, match=word):
        source_of(function, "part")


def test_a_name_that_the_file_has_is_no_obstacle():
    assert source_of(with_helper, "part", frozenset({"helper"})).imports == {}


def test_names_of_comprehensions_defaults_and_annotations_count():
    text = "def f(x: A = B):\n    return [C(y) for y in x if (lambda z: D)(y)]"
    assert names_used(text) == ["A", "B", "C", "D"]
