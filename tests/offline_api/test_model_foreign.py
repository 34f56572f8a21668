"""The offline model serves agents of others: their placeholders, prompts and tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentlib.tools import ToolError, Workspace
from offline_api import client
from offline_api.model import reply

FILES = 12
ASKED = "Read every Python file one by one and write a report"


def tool(name: str, *inputs: str, **numbers: str) -> dict[str, Any]:
    properties = {i: {"type": "string"} for i in inputs} | {
        n: {"type": "integer"} for n in numbers
    }
    schema = {"type": "object", "properties": properties, "required": list(inputs)}
    return {"name": name, "input_schema": schema}


TOOLS = [
    tool("bash", "command"),
    tool("read_file", "path", limit=""),  # no offset
    tool("write_file", "path", "content"),
]


def dumped(messages: list[Any]) -> str:
    return json.dumps(messages, default=str)


def spoken(messages: list[Any]) -> str:
    """The messages as a framework for chats prints them."""
    lines: list[str] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            lines.append(f"{'Human' if message['role'] == 'user' else 'AI'}: {content}")
        elif message["role"] == "assistant":
            lines.append(f"AI: {[block.to_dict() for block in content]}")
        else:
            lines += [f"Tool: {block['content']}" for block in content]
    return "\n".join(lines)


CODING = "Condense this coding session so that work can go on: goal, findings, files, rest.\n\n"
EXTRACT = "<role>\nContext Extraction Assistant\n</role>\nExtract the most relevant context.\n"
DETAILED = (
    "Write a detailed summary of the conversation so far, with the person's requests, the files, "
    "errors, and what is left to do. Answer with text only, between <summary> tags."
)


def in_one_text(prompt: str, write: Any) -> Any:
    def ask(send: Any, messages: list[Any]) -> str:
        text = f"{prompt}<messages>\n{write(messages)[:80_000]}\n</messages>"
        return (
            send(messages=[{"role": "user", "content": text}], max_tokens=2_000)
            .content[0]
            .text
        )

    return ask


def on_the_live_prefix(send: Any, messages: list[Any]) -> str:
    asked = [*messages, {"role": "user", "content": DETAILED}]
    return send(messages=asked, tools=TOOLS, max_tokens=2_000).content[0].text


SUMMARIES = [
    in_one_text(CODING, dumped),
    in_one_text(EXTRACT, spoken),
    on_the_live_prefix,
]
MARKS = [
    "[Old tool result content cleared]",
    "[cleared]",
    "[Earlier tool result compacted. Re-run if needed.]",
]


def work(
    root: Path, mark: str, summarize: Any, *, compact_over: int = 7_000
) -> tuple[str, int]:
    """Run a small agent that clears all but two results and compacts by characters."""
    api = client()
    workspace = Workspace(root)
    messages: list[Any] = [{"role": "user", "content": ASKED}]
    compactions = 0

    def send(**body: Any) -> Any:
        return api.messages.create(model="claude-haiku-5-5", **body)

    for _ in range(80):
        results = [b for m in messages[1:] if m["role"] == "user" for b in m["content"]]
        for result in results[:-2]:
            result["content"] = mark
        if len(str(messages)) > compact_over:
            messages = [
                {
                    "role": "user",
                    "content": f"[Compacted]\n\n{summarize(send, messages)}",
                }
            ]
            compactions += 1
        reply = send(messages=messages, tools=TOOLS, max_tokens=4_000)
        if reply.stop_reason != "tool_use":
            return reply.content[-1].text, compactions
        results = []
        for call in (b for b in reply.content if b.type == "tool_use"):
            schema = next(t for t in TOOLS if t["name"] == call.name)["input_schema"]
            assert call.input.keys() <= schema["properties"].keys()
            try:
                text = workspace.run(call.name, call.input)
            except ToolError as error:
                text = f"Error: {error}"
            results.append(
                {"type": "tool_result", "tool_use_id": call.id, "content": text}
            )
        messages += [
            {"role": "assistant", "content": reply.content},
            {"role": "user", "content": results},
        ]
    raise AssertionError("it never ended")


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    "summarize", SUMMARIES, ids=["dumped", "spoken", "live prefix"]
)
def test_an_agent_of_others_finishes_with_every_file(
    mark: str, summarize: Any, tmp_path: Path
):
    for n in range(FILES):
        text = f'"""Counts thing number {n}."""\n\n' + f"VALUE_{n} = 1\n" * 60
        (tmp_path / f"part_{n:02}.py").write_text(text, encoding="utf-8")
    words, compactions = work(tmp_path, mark, summarize)
    report = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert words.startswith(f"I wrote REPORT.md: {FILES} files")
    assert compactions
    assert report.count("\n## part_") == FILES
    assert report.count("Purpose: Counts thing number") > FILES / 2


def test_an_agent_that_compacts_at_every_turn_is_told_that_this_leads_nowhere(
    tmp_path: Path,
):
    text = '"""Long."""\n' + "x = 1\n" * 3_000
    (tmp_path / "long.py").write_text(text, encoding="utf-8")
    words, _ = work(tmp_path, MARKS[1], on_the_live_prefix, compact_over=1_500)
    assert "I wrote REPORT.md: 1 file" in words or "I stop here" in words


def test_notes_in_a_frame_that_nobody_knows_stand_in_the_summary():
    events = (
        f"<EVENT>\nMessageEvent\n  user: {ASKED}\n</EVENT>\n"
        "<EVENT>\nActionEvent (agent)\n  Thought: - [file] a.py | 9 lines | Adds numbers.\n"
        "  Action: FileEditorAction\n</EVENT>\n"
    )
    rules = "Keep what matters for the work. " * 20
    wish = f"Maintain a summary of the state. {rules}\n{events}\nSummarize the events."
    body = {"messages": [{"role": "user", "content": wish}], "max_tokens": 2_000}
    text = reply(body)["content"][0]["text"]
    assert "a.py" in text
    assert "Nothing of the conversation" not in text
