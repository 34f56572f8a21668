"""A report longer than one answer is written in parts, each of which one answer can hold."""

from typing import Any

import pytest

from agentlib.auto_compact import summary_message
from agentlib.lab.api.tokens import block_tokens
from agentlib.lab.model import reply
from agentlib.lab.model.files import listing_command
from agentlib.lab.model.reading import SUMMARY_WANTED

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


def summarised(*done: str, most: int) -> list[str]:
    """The done-list of a summary made of one with these lines, and 60 files read since."""
    summary = "\n".join([f"Task: {REVIEW}", *done])
    told = [summary_message(summary, "t.jsonl", REVIEW)]
    noted = "\n".join(f"Noted n_{n}.py — Module." for n in range(100, 160))
    told += [{"role": "assistant", "content": noted + "\n" + "x " * 9_000}]
    prompt = f"{SUMMARY_WANTED} Use at most {most} tokens."
    told += [{"role": "user", "content": prompt}]
    said = reply({"messages": told, "tools": TOOLS, "max_tokens": 4 * most})
    return [line for line in said["content"][0]["text"].split("\n") if line.startswith("Done: ")]


def test_a_done_list_keeps_the_number_of_the_files_it_does_not_name():
    number, names = summarised("Done: 300 files, all up to m_299.py", most=4_000)
    assert number == "Done: 300 files, all up to m_299.py"
    assert names.startswith("Done: n_100.py, n_101.py, ")


def test_a_done_list_without_room_for_names_counts_them_all():
    assert summarised("Done: 300 files, all up to m_299.py", most=100) == [
        "Done: 360 files, all up to n_159.py"
    ]


def test_sections_that_it_can_not_see_any_more_are_counted():
    shown = body([f"m_{n}.py" for n in range(4)], "Noted {} — Module.", 8_000)
    summary = shown["messages"][0]["content"][0]["text"]
    assert "Done: m_0.py" in summary
    told = f"{summary.removesuffix('[End of summary]')}Report REPORT.md up to m_3.py\n"
    shown["messages"][0] = summary_message(told.split("\n\n", 1)[1], "t.jsonl", REVIEW)
    [said] = reply(shown)["content"]
    assert said["text"].endswith("4 files; 4 of the sections I can't see any more.")
