"""A report longer than one answer is written in parts, each of which one answer can hold."""

from typing import Any

import pytest

from agentlib.auto_compact import summary_message
from agentlib.lab.offline.counting import block_tokens
from agentlib.lab.policy import reply
from agentlib.lab.policy.files import listing_command

REVIEW = "Read every Python file one by one and write a report"
TOOLS = [{"name": name} for name in ("bash", "read_file", "write_file")]


def body(names: list[str], notes: str, max_tokens: int) -> dict[str, Any]:
    """A request in which all files are read: `notes` are there of the first half."""
    half = "\n".join(notes.format(name) for name in names[: len(names) // 2])
    summary = f"Task: {REVIEW}\nDone: {', '.join(names)}\n{half}"
    listed = "\n".join(f"9 400 {name}" for name in names)
    call = {"command": listing_command(".", ("py",))}
    use = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": call}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": listed}
    told = [
        summary_message(summary, "t.jsonl", REVIEW),
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    return {"messages": told, "tools": TOOLS, "max_tokens": max_tokens}


@pytest.mark.parametrize("max_tokens", [640, 1_280, 2_560, 8_000])
@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("m_{}.py", "Noted {} — Module number 7.\n- `f_7`: Add 7 to x."),
        ("模块_{}.py", "Noted {} — 负责处理订单与库存之间的关系。\n- `计算`: 返回数与七之和。"),
        ("{}.py", "Noted {} — no docstring\n- no public names"),
    ],
)
def test_no_part_of_a_report_is_longer_than_an_answer(name, notes, max_tokens):
    names = sorted(name.format(n) for n in range(100, 340))
    said = reply(body(names, notes, max_tokens))["content"]
    assert [block.get("name") for block in said] == [None, "bash", "write_file"]
    assert max_tokens / 3 < sum(map(block_tokens, said)) <= max_tokens


def paged(times: int) -> dict[str, Any]:
    """310 files are done; the second page is seen, the first was asked for so often and cleared."""
    late = [f"m_{n}.py" for n in range(300, 310)]
    summary = f"Task: {REVIEW}\nDone: 300 files, all up to m_299.py\nDone: {', '.join(late)}"
    told = [summary_message(summary, "t.jsonl", REVIEW)]
    pages = [("\n".join(f"9 400 {name}" for name in late), 1)]
    for n, (text, page) in enumerate(pages + [("[Previous: used bash]", 0)] * times):
        call = {"command": listing_command(".", ("py",), page)}
        use = {"type": "tool_use", "id": f"toolu_{n}", "name": "bash", "input": call}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": text}
        told += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return {"messages": told, "tools": TOOLS, "max_tokens": 8_000}


@pytest.mark.parametrize("times", [0, 1])
def test_a_page_of_the_listing_that_was_cleared_is_asked_for_before_the_report(times):
    [call] = reply(paged(times))["content"]
    assert call["input"] == {"command": listing_command(".", ("py",))}


def test_files_whose_names_are_gone_for_good_are_counted_at_least():
    [*_, wrote] = reply(paged(2))["content"]
    assert "# Report on 310 files" in wrote["input"]["content"]
    assert "310 files in all." in wrote["input"]["content"]
