"""What is put back by use: the kinds of result that later replies quote, small and
fresh first."""

import pytest

from agentlib.auto_compact import SummaryFailed
from agentlib.compaction.around import Hooks, gated, hooked
from agentlib.compaction.hooks import most_used
from agentlib.estimation import estimate_text, message_tokens
from agentlib.messages import PUT_BACK, Message
from tests.builders import assistant, call, prose, result, text, user

LINE = "def price(amount, rate, year): return amount * rate ** year"


def read(name: str, answer: str, tool: str = "read_file") -> list[Message]:
    used = call(name, tool, path=f"{name}.py")
    return [assistant(used), user(result(name, answer))]


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
    again = [assistant(call("t2", "read_file", path="a.py"))]
    messages = [
        *read("a", LINE),
        *again,
        user(result("t2", f"{LINE}\nnew")),
        assistant(text(LINE)),
    ]
    assert most_used()(messages) == [("a.py", f"{LINE}\nnew")]


@pytest.mark.parametrize("most", [600, 10_000])
def test_what_is_put_back_is_bounded_each_and_all_together(most: int):
    lines = f"{prose(60)}\n" * 150
    hooks = Hooks(restore=(lambda m: [(f"{n}.txt", lines) for n in range(20)],))
    messages = [user("Go."), assistant(prose(20_000))]
    asked = hooked(lambda m, focus: "Notes.", hooks, tokens=200, most=most)
    _, *texts = asked(messages, "").split(PUT_BACK)
    sizes = [estimate_text(each, "summary") for each in texts]
    assert 100 < max(sizes) < 250
    half = sum(map(message_tokens, messages)) / 2
    assert min(most, half) - 250 < sum(sizes) <= min(most, half)


def test_a_gate_is_asked_twice_and_then_there_is_no_summary():
    seen = list[str]()
    asked = gated(lambda m, focus: "Notes.", lambda summary, m: seen.append(summary))
    with pytest.raises(SummaryFailed, match="refused two"):
        asked([user("Go.")], "")
    assert seen == ["Notes."] * 2
