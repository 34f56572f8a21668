"""The beta's edits of the conversation: clearing results and thinking, and
compaction."""

from dataclasses import replace
from typing import Any

import anthropic
import pytest

from agentlib.presets import DEFAULT, HERMES, LEARN_CLAUDE_CODE
from agentlib.settings import MODEL, Settings
from offline_api import client
from offline_api.edits import as_edits, cleared
from offline_api.faults import Fault
from offline_api.tokens import lay_out
from tests.builders import assistant, call, result, say, thinking, user

Body = dict[str, Any]
CLEARING = "context-management-2025-06-27"
COMPACTING = "compact-2026-01-12"
CLEAR = "clear_tool_uses_20250919"
THINK = "clear_thinking_20251015"
COMPACT = "compact_20260112"
TOOLS: Any = [
    {"name": name, "input_schema": {"type": "object", "properties": {"path": {}}}}
    for name in ("read_file", "bash")
]


def tokens(value: int) -> Body:
    return {"type": "input_tokens", "value": value}


def uses(value: int) -> Body:
    return {"type": "tool_uses", "value": value}


def conversation(calls: int, words: int = 200, **more: Any) -> Body:
    messages: list[Any] = [{"role": "user", "content": "Read all files."}]
    for i in range(calls):
        used = call(f"t{i}", "bash" if i % 2 else "read_file", path=f"{i}.py")
        messages.append(assistant(thinking("Next."), used))
        messages.append(user(result(f"t{i}", "word " * words)))
    return {
        "model": MODEL,
        "max_tokens": 500,
        "messages": messages,
        "tools": TOOLS,
        **more,
    }


def edited(body: Body, *edits: Body) -> tuple[Body, list[Body]]:
    return cleared({**body, "context_management": {"edits": list(edits)}})


def shown(body: Body) -> list[str]:
    """The results as the model reads them, "" for a cleared one."""
    texts = [b["content"] for m in body["messages"][2::2] for b in m["content"]]
    return [text if text.startswith("word") else "" for text in texts]


# -- the clears ------------------------------------------------------------------------


def test_all_but_the_newest_results_are_cleared_above_the_trigger():
    body = conversation(6)
    size = lay_out(body).tokens
    assert edited(body, {"type": CLEAR, "trigger": tokens(size + 1)}) == (
        {
            **body,
            "context_management": {
                "edits": [{"type": CLEAR, "trigger": tokens(size + 1)}]
            },
        },
        [],
    )
    after, (applied,) = edited(body, {"type": CLEAR, "trigger": tokens(size)})
    assert [bool(text) for text in shown(after)] == [False] * 3 + [True] * 3
    assert applied["cleared_tool_uses"] == 3
    assert applied["cleared_input_tokens"] == size - lay_out(after).tokens == 951


def test_the_trigger_may_count_tool_uses_and_keep_may_be_none():
    edit = {"type": CLEAR, "trigger": uses(4), "keep": uses(0)}
    assert not edited(conversation(3), edit)[1]
    assert edited(conversation(4), edit)[1][0]["cleared_tool_uses"] == 4


def test_excluded_tools_stay_and_do_not_count_as_kept():
    edit = {
        "type": CLEAR,
        "trigger": uses(1),
        "keep": uses(1),
        "exclude_tools": ["bash"],
    }
    after, (applied,) = edited(conversation(6), edit)
    assert [bool(text) for text in shown(after)] == [
        False,
        True,
        False,
        True,
        True,
        True,
    ]
    assert applied["cleared_tool_uses"] == 2


def test_nothing_is_cleared_if_that_would_be_too_little():
    edit = {"type": CLEAR, "trigger": uses(1), "clear_at_least": tokens(0)}
    saved = edited(conversation(6), edit)[1][0]["cleared_input_tokens"]
    assert edited(conversation(6), {**edit, "clear_at_least": tokens(saved)})[1]
    assert not edited(conversation(6), {**edit, "clear_at_least": tokens(saved + 1)})[1]


@pytest.mark.parametrize(("wanted", "left"), [(True, 3), (["bash"], 5), (False, 6)])
def test_inputs_are_cleared_only_if_that_is_asked_for(wanted: Any, left: int):
    edit = {"type": CLEAR, "trigger": uses(1), "clear_tool_inputs": wanted}
    after, _ = edited(conversation(6), edit)
    inputs = [
        b["input"]
        for m in after["messages"][1::2]
        for b in m["content"]
        if "input" in b
    ]
    assert sum(bool(given) for given in inputs) == left


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        (None, 1),
        ({"type": "thinking_turns", "value": 2}, 2),
        ("all", 6),
        ({"type": "all"}, 6),
    ],
)
def test_thinking_stays_in_the_newest_turns(keep: Any, left: int):
    edit = {"type": THINK, **({"keep": keep} if keep else {})}
    after, applied = edited(conversation(6), edit)
    blocks = [b for m in after["messages"][1::2] for b in m["content"]]
    assert sum(b["type"] == "thinking" for b in blocks) == left
    assert sum(each["cleared_thinking_turns"] for each in applied) == 6 - left


# -- through the SDK -------------------------------------------------------------------


def worker(body: Body) -> Body:
    """Call a tool on and on, and write a summary when the last words ask for one."""
    last = body["messages"][-1]["content"]
    if isinstance(last, str) and ("summary" in last or last == "Only the rules."):
        return say(f"SUM {last}")
    return say(call("", "read_file", path="a.py"))


def ask(
    api: anthropic.Anthropic, body: Body, *edits: Body, stream: bool = False
) -> Any:
    given: Any = {**body, "betas": [CLEARING, COMPACTING]}
    given["context_management"] = {"edits": list(edits)}
    if not stream:
        return api.beta.messages.create(**given)
    with api.beta.messages.stream(**given) as events:
        return events.get_final_message()


LONG = conversation(40, 1_500)
for _message in LONG["messages"]:
    if _message["role"] == "assistant":
        _message["content"] = _message["content"][1:]
SMALLEST = {"type": COMPACT, "trigger": tokens(50_000)}


def blocks_of(answer: Any) -> list[Any]:
    return [block.to_dict() for block in answer.content]


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_lists_the_edits_that_were_applied(stream: bool):
    edit = {"type": CLEAR, "trigger": uses(1)}
    answer = ask(client(model=worker), LONG, edit, stream=stream)
    (applied,) = answer.context_management.applied_edits
    assert (applied.type, applied.cleared_tool_uses) == (CLEAR, 37)
    usage = answer.usage
    prompt = (
        usage.input_tokens
        + usage.cache_creation_input_tokens
        + usage.cache_read_input_tokens
    )
    assert prompt + applied.cleared_input_tokens == lay_out(LONG).tokens


def test_counting_says_what_the_prompt_was_before_its_edits():
    given: Any = {key: value for key, value in LONG.items() if key != "max_tokens"}
    given["context_management"] = {"edits": [{"type": CLEAR, "trigger": uses(1)}]}
    counted = client(model=worker).beta.messages.count_tokens(**given, betas=[CLEARING])
    assert counted.context_management
    assert counted.context_management.original_input_tokens == lay_out(LONG).tokens
    assert counted.input_tokens < lay_out(LONG).tokens / 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_compaction_block_comes_first_and_is_billed_apart(stream: bool):
    answer = ask(client(model=worker), LONG, SMALLEST, stream=stream)
    block, call = blocks_of(answer)
    assert (block["type"], call["type"]) == ("compaction", "tool_use")
    assert block["content"].startswith("SUM ")
    compaction, message = answer.usage.iterations
    assert compaction.input_tokens > lay_out(LONG).tokens
    assert message.input_tokens == answer.usage.input_tokens < 200
    assert answer.context_management.applied_edits == []


def test_what_stands_before_the_block_is_ignored_when_it_comes_back():
    api = client(model=worker)
    content = blocks_of(ask(api, LONG, SMALLEST))
    result = {"type": "tool_result", "tool_use_id": content[1]["id"], "content": "ok"}
    new = [
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]
    whole = ask(api, {**LONG, "messages": [*LONG["messages"], *new]}, SMALLEST)
    alone = ask(api, {**LONG, "messages": new}, SMALLEST)
    assert whole.usage.iterations is None
    assert whole.usage.input_tokens == alone.usage.input_tokens < 300


def test_it_can_pause_after_the_compaction_and_go_on():
    api = client(model=worker)
    edit = {**SMALLEST, "pause_after_compaction": True}
    paused = ask(api, LONG, edit)
    assert (paused.stop_reason, len(paused.content)) == ("compaction", 1)
    assert (paused.usage.input_tokens, paused.usage.output_tokens) == (0, 0)
    new = {"role": "assistant", "content": blocks_of(paused)}
    assert (
        ask(api, {**LONG, "messages": [*LONG["messages"], new]}, edit).stop_reason
        == "tool_use"
    )


def test_instructions_take_the_place_of_the_prompt():
    edit = {**SMALLEST, "instructions": "Only the rules."}
    assert (
        blocks_of(ask(client(model=worker), LONG, edit))[0]["content"]
        == "SUM Only the rules."
    )


def test_a_compaction_that_fails_changes_nothing():
    def stubborn(body: Body) -> Body:
        return worker({"messages": [{"content": "no summ"}]})

    block, call = blocks_of(ask(client(model=stubborn), LONG, SMALLEST))
    assert (block.get("content"), call["type"]) == (None, "tool_use")
    new = [
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": "On."},
    ]
    plain: Any = {
        "model": MODEL,
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    body = {**plain, "messages": [*plain["messages"], *new]}
    same = {**plain, "messages": [*plain["messages"], new[1]]}
    api = client(model=worker)
    assert ask(api, body).usage.input_tokens == ask(api, same).usage.input_tokens


def test_thinking_stays_bound_across_a_compaction_and_a_clearing():
    api = client(model=worker)
    clear = {"type": CLEAR, "trigger": uses(1), "keep": uses(0)}
    body: Body = {**LONG, "thinking": {"type": "adaptive"}}
    kinds: list[str] = []
    for _ in range(4):
        content = blocks_of(ask(api, body, clear, SMALLEST))
        kinds += [block["type"] for block in content]
        result = {"type": "tool_result", "tool_use_id": content[-1]["id"]}
        new = {"role": "user", "content": [{**result, "content": "word " * 60_000}]}
        answer = {"role": "assistant", "content": content}
        body = {**body, "messages": [*body["messages"], answer, new]}
    assert kinds.count("thinking") == 4


def refusal(*edits: Body, betas: Any = (CLEARING, COMPACTING), **more: Any) -> str:
    given: Any = {**conversation(1), **more, "betas": list(betas)}
    with pytest.raises(anthropic.BadRequestError) as refused:
        client(model=worker).beta.messages.create(
            context_management={"edits": list(edits)}, **given
        )
    return refused.value.body["error"]["message"]  # type: ignore[index]


def test_wrong_edits_are_refused():
    assert CLEARING in refusal({"type": CLEAR}, betas=[COMPACTING])
    assert COMPACTING in refusal({"type": COMPACT}, betas=[CLEARING])
    assert "clear_colour" in refusal({"type": "clear_colour"})
    assert "Extra inputs" in refusal({"type": CLEAR, "colour": 1})
    assert "trigger" in refusal(
        {"type": CLEAR, "trigger": {"type": "weeks", "value": 1}}
    )
    assert "keep" in refusal({"type": CLEAR, "keep": uses(-1)})
    assert "50000" in refusal({"type": COMPACT, "trigger": tokens(49_999)})
    thinking: Any = {"type": "adaptive"}
    assert "first" in refusal({"type": CLEAR}, {"type": THINK}, thinking=thinking)
    assert "requires `thinking`" in refusal({"type": THINK})


def test_a_fault_strikes_a_request_with_edits_too():
    api = client(model=worker, faults=[Fault("empty")])
    assert ask(api, LONG, {"type": CLEAR, "trigger": uses(1)}).content == []


# -- our settings as edits -------------------------------------------------------------


def test_settings_say_which_edits_ask_for_the_same():
    own = Settings(
        keep_recent=5, keep_tools=("bash",), clear_at_least=900, threshold=60_000
    )
    edits, rest = as_edits(own)
    assert edits == [
        {
            "type": CLEAR,
            "trigger": uses(6),
            "keep": uses(5),
            "exclude_tools": ["bash"],
            "clear_at_least": tokens(900),
        },
        {"type": COMPACT, "trigger": tokens(60_000)},
    ]
    assert rest == {}


@pytest.mark.parametrize(
    ("settings", "kinds", "without"),
    [
        (Settings(threshold=20_000), [CLEAR], {"threshold": 20_000}),
        (Settings(micro="trim"), [COMPACT], {"micro": "trim"}),
        (Settings(micro="off", auto=False), [], {}),
        (Settings(enabled=False), [], {}),
        (Settings(summary_tokens=500, recall=True), [CLEAR, COMPACT], None),
    ],
)
def test_a_setting_without_a_counterpart_is_named(
    settings: Any, kinds: Any, without: Any
):
    edits, rest = as_edits(settings)
    assert [edit["type"] for edit in edits] == kinds
    assert rest == (
        {"summary_tokens": 500, "recall": True} if without is None else without
    )


@pytest.mark.parametrize("preset", [DEFAULT, HERMES, LEARN_CLAUDE_CODE])
def test_the_server_takes_the_edits_of_every_preset(preset: Settings):
    edits, _ = as_edits(replace(preset, auto=True))
    assert ask(client(model=worker), conversation(1), *edits).stop_reason == "tool_use"
