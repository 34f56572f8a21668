"""What is put back by use: the kinds of result that later replies quote, small and
fresh first."""

from agentlib.compaction.hooks import most_used
from agentlib.messages import Message
from tests.strategies import assistant, result, text, use, user

LINE = "def price(amount, rate, year): return amount * rate ** year"


def read(name: str, answer: str, tool: str = "read_file") -> list[Message]:
    call = {**use(name, tool), "input": {"path": f"{name}.py"}}
    return [assistant(call), user(result(name, answer))]


def names(*messages: Message, count: int = 5) -> list[str]:
    return [name for name, _ in most_used(count)(messages)]


def test_a_kind_that_nobody_quotes_is_not_put_back():
    messages = [
        *read("a", LINE),
        *read("b", "x" * 90, "bash"),
        assistant(text(f"See {LINE}.")),
    ]
    assert names(*messages) == ["a.py"]


def test_the_smaller_and_the_fresher_come_first_and_no_more_than_asked_for():
    quoted = assistant(text(f"See {LINE}."))
    large = read("large", f"{LINE}\n" + "y = 1\n" * 200)
    small = read("small", LINE)
    assert names(*large, *small, quoted) == ["small.py", "large.py"]
    assert names(*large, *small, quoted, count=1) == ["small.py"]
    old = read("old", LINE)
    new = read("new", LINE)
    assert names(*old, *new, quoted) == ["new.py", "old.py"]


def test_of_the_same_call_the_newest_result_is_put_back():
    again = [assistant({**use("t2", "read_file"), "input": {"path": "a.py"}})]
    messages = [
        *read("a", LINE),
        *again,
        user(result("t2", f"{LINE}\nnew")),
        assistant(text(LINE)),
    ]
    assert most_used()(messages) == [("a.py", f"{LINE}\nnew")]
