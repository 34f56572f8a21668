"""What the adapters share, with a framework whose messages are the wire's own."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from agentlib.adapters.conversation import Conversations
from agentlib.messages import (
    INPUT,
    Block,
    Message,
    blocks,
    drop_thinking,
    is_summary,
    of_type,
)
from agentlib.pipeline import ContextEngine, NoEngine, Now
from agentlib.settings import Settings
from agentlib.step import Step
from agentlib.transcripts import load
from offline_api import violation

SETTINGS = Settings(context_window=4_000, output_reserve=500, buffer=500, micro="off")


class Plain(Conversations):
    def ours(self, message: Message) -> Message:
        content = [] if message["role"] == "system" else blocks(message)
        return {**message, "content": content}

    def theirs(self, texts: list[str], original: Message | None) -> Message:
        if not original:
            return {
                "role": "user",
                "content": [{"type": "text", "text": text} for text in texts],
            }
        if original["role"] == "assistant":
            return drop_thinking([original, {"role": "assistant", "content": "-"}], 0)[
                0
            ]
        (result,) = original["content"]
        return {**original, "content": [{**result, "content": "\n".join(texts)}]}


def turns(count: int, *thinking: Block) -> list[Message]:
    messages: list[Message] = [{"role": "user", "content": [text("Read the files.")]}]
    for n in range(count):
        call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"n": n}}
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{n}",
            "content": f"{n} " * 500,
        }
        messages += [
            {"role": "assistant", "content": [*thinking, call]},
            {"role": "user", "content": [result]},
        ]
    return messages


def text(words: str) -> Block:
    return {"type": "text", "text": words}


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


def test_an_engine_gets_the_moment_and_knows_the_persons_words(tmp_path: Path):
    moments = list[Now]()

    def engine(now: Now) -> Step:
        moments.append(now)
        return now.compact()

    views(Plain(tmp_path, SETTINGS, engine), range(2), [])
    assert [len(now.messages) for now in moments] == [1, 3]
    assert {now.persons for now in moments} == {frozenset({"Read the files."})}


def test_an_engine_of_the_protocol_before_is_told_its_line(tmp_path: Path):
    def engine(messages: list[Message], settings: Settings, **given: Any) -> Step:
        return Step()

    with pytest.raises(NoEngine, match=r"`def engine\(now\):`"):
        views(Plain(tmp_path, SETTINGS, cast(ContextEngine, engine)), range(2), [])


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
    assert "no connection" in (
        load(tmp_path / "chat.jsonl").compactions[0].failure or ""
    )


def test_a_changed_result_has_its_new_text(tmp_path: Path):
    plain = Plain(tmp_path, replace(SETTINGS, micro="clear"))
    seen = plain.view("chat", turns(8), lambda messages: "All was read.")
    old, *_, newest = (
        result for message in seen for result in of_type(message, "tool_result")
    )
    assert old["content"] == "[Previous: used read]"
    assert newest == turns(8)[-1]["content"][0]


def test_thinking_goes_where_something_before_it_changed(tmp_path: Path):
    plain = Plain(tmp_path, SETTINGS)
    seal = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    made = [
        plain.view("chat", turns(n, seal), lambda messages: "All was read.")
        for n in range(9)
    ]
    after = (
        next(i for i, view in enumerate(made) if is_summary(view[0]["content"][0])) + 1
    )
    replies = [message for message in made[after] if message["role"] == "assistant"]
    assert [len(of_type(reply, "thinking")) for reply in replies] == [0, 1]
    assert violation(made[after]) is None


def test_system_messages_stand_in_front_of_every_view(tmp_path: Path):
    system: Message = {"role": "system", "content": "Be brief."}
    given = turns(9)
    given.insert(1, system)
    asked = list[Any]()

    def ask(messages: list[Message]) -> str:
        asked.append(messages)
        return "All was read."

    seen = Plain(tmp_path, SETTINGS).view("chat", given, ask)
    assert [seen[0], asked[0][0]] == [system, system]
    assert system not in [*seen[1:], *asked[0][1:]]


def test_parts_that_follow_one_another_are_one_reply(tmp_path: Path):
    given = turns(2)
    parts = [{"role": "assistant", "content": [text(words)]} for words in "ab"]
    seen = Plain(tmp_path, SETTINGS).view(
        "chat", [*given, *parts, *given[:1]], lambda m: ""
    )
    assert seen == [*given, *parts, *given[:1]]
    reply = load(tmp_path / "chat.jsonl").history[-2]
    assert reply == {"role": "assistant", "content": [text("a"), text("b")]}


def test_the_input_of_a_call_stays_as_the_framework_has_it(tmp_path: Path):
    def shorten(now: Now) -> Step:
        return Step(texts={f"t0{INPUT}": "{}"})

    seen = Plain(tmp_path, SETTINGS, shorten).view(
        "chat", turns(2), lambda messages: ""
    )
    assert seen == turns(2)
    assert load(tmp_path / "chat.jsonl").context[1]["content"][0]["input"] == {}
