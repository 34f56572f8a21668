"""What the adapters share, with a framework whose messages are the wire's own."""

from pathlib import Path
from typing import Any

import pytest

from agentlib.adapters.conversation import Conversations
from agentlib.messages import Message, blocks, is_summary, of_type, violation
from agentlib.settings import Settings
from agentlib.transcripts import load

SETTINGS = Settings(context_window=4_000, output_reserve=500, buffer=500, micro="off")


class Plain(Conversations):
    def ours(self, message: Message) -> Message:
        return {**message, "content": blocks(message)}

    def theirs(self, texts: list[str], original: Message | None) -> Message:
        if original:
            (result,) = original["content"]
            return {**original, "content": [{**result, "content": "\n".join(texts)}]}
        return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def turns(count: int) -> list[Message]:
    messages: list[Message] = [
        {"role": "user", "content": [{"type": "text", "text": "Read the files."}]}
    ]
    for n in range(count):
        call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"n": n}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n} " * 500}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    return messages


def views(plain: Plain, counts: range, asked: list[Any]) -> list[list[Message]]:
    def ask(messages: list[Message]) -> str:
        asked.append(messages)
        return "All was read."

    return [plain.view("chat", turns(count), ask) for count in counts]


def test_a_view_is_remembered_and_keeps_the_rules(tmp_path: Path):
    asked = list[Any]()
    made = views(Plain(tmp_path, SETTINGS), range(12), asked)
    assert [violation(view) for view in made] == [None] * 12
    session = load(tmp_path / "chat.jsonl")
    assert session.history == turns(11)
    assert 1 <= len(asked) == len(session.compactions) < 6
    assert sum(is_summary(b) for m in made[-1] for b in of_type(m, "text")) == 1


def test_another_process_goes_on_with_the_view(tmp_path: Path):
    before, after = list[Any](), list[Any]()
    *_, last = views(Plain(tmp_path, SETTINGS), range(10), before)
    assert views(Plain(tmp_path, SETTINGS), range(9, 10), after) == [last]
    assert (len(before), len(after)) == (1, 0)


def test_a_conversation_with_another_beginning_is_refused(tmp_path: Path):
    plain = Plain(tmp_path, SETTINGS)
    plain.view("chat", turns(3), lambda messages: "")
    with pytest.raises(ValueError, match="another beginning"):
        plain.view("chat", turns(2), lambda messages: "")


def test_a_summary_that_fails_leaves_the_messages(tmp_path: Path):
    def fail(messages: list[Message]) -> str:
        raise RuntimeError("no connection")

    plain = Plain(tmp_path, SETTINGS)
    assert plain.view("chat", turns(8), fail) == turns(8)
    assert "no connection" in (load(tmp_path / "chat.jsonl").compactions[0].failure or "")
