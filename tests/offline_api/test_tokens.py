"""The offline model's own token count: deterministic, plausible, and near what was
billed."""

import base64
import inspect
import json
from itertools import pairwise
from statistics import median
from typing import Any

import pytest

import session_report as sessions
from agentlib.estimation import prompt_tokens
from agentlib.messages import blocks
from offline_api.cache import LONG, SHORT
from offline_api.tokens import (
    CALL,
    RESULT,
    TEXT,
    TOOL,
    block_tokens,
    lay_out,
    text_tokens,
)
from tests.real_sessions import FILES, FOLDER

ENGLISH = "Every morning the keeper climbed the stairs, cleaned the great lamp, and wrote it down. "
CHINESE = "压缩之后，模型只记得摘要里写下的内容。"
BASE64 = base64.b64encode(
    bytes((7 * i * i + 3 * i) % 256 for i in range(6_000))
).decode()


@pytest.mark.parametrize(
    ("text", "least", "most"),
    # Tokens per character, from an older tokenizer to what is known of the newest.
    [
        (inspect.getsource(json) + inspect.getsource(inspect), 1 / 4.1, 1 / 3.1),
        (ENGLISH * 50, 1 / 4.3, 1 / 2.7),
        (
            json.dumps([{"title": ENGLISH, "number": i} for i in range(300)]),
            1 / 3.9,
            1 / 2.7,
        ),
        (CHINESE * 100, 1 / 1.3, 1 / 1.08),
        (BASE64, 1 / 1.5, 1 / 1.3),
    ],
    ids=["python", "english", "json", "chinese", "base64"],
)
def test_each_class_of_text_is_as_dense_as_tokenizers_find_it(
    text: str, least: float, most: float
):
    assert least <= text_tokens(text) / len(text) <= most


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 2),  # 1.45, rounded up
        ("one two", 4),  # 3.1: one blank is free
        ("a\nb", 5),  # 4.7: two words of one letter, a line break
        ("2026", 3),  # 2.8
        ("中文", 2),  # 1.8
        ("x" * 100, 70),
    ],
)
def test_a_text_is_counted_by_class_of_character(text: str, tokens: int):
    assert text_tokens(text) == tokens


def test_each_block_costs_more_than_its_text():
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "bash",
        "input": {"command": "ls"},
    }
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    assert block_tokens({"type": "text", "text": "ok"}) == TEXT + 2
    assert (
        block_tokens({"type": "thinking", "thinking": "ok", "signature": "s" * 99})
        == TEXT + 2
    )
    assert block_tokens(call) >= CALL + text_tokens("bash")
    assert block_tokens(result) == RESULT + 2
    inside = [{"type": "text", "text": "ok"}]
    assert block_tokens({**result, "content": inside}) == RESULT + TEXT + 2


def test_a_request_is_laid_out_as_the_cache_sees_it():
    tool = {"name": "bash", "description": "Run.", "input_schema": {"type": "object"}}
    body = {
        "model": "m",
        "system": "You are kind.",
        "tools": [tool],
        "messages": [{"role": "user", "content": "hi"}],
    }
    layout = lay_out(body)
    assert [part.kind for part in layout.parts] == ["", "tool", "text", "", "text"]
    assert layout.marks == {}
    assert layout.tokens == sum(part.tokens for part in layout.parts) > TOOL + 2 * TEXT
    longer = lay_out(
        {**body, "tools": [{**tool, "description": "Run it. " * 100}]}
    ).tokens
    assert longer > layout.tokens + 300


def test_marks_stand_where_cache_control_does_and_the_automatic_one_at_the_end():
    mark = {"type": "ephemeral"}
    body: dict[str, Any] = {
        "model": "m",
        "system": [
            {"type": "text", "text": "s", "cache_control": {**mark, "ttl": "1h"}}
        ],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "a", "cache_control": mark}],
            },
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
        ],
        "cache_control": mark,
    }
    assert lay_out(body).marks == {1: LONG, 3: SHORT, 5: SHORT}


def test_a_marker_changes_no_key_and_a_string_is_one_text_block():
    mark = {"type": "ephemeral"}
    plain: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
    }
    block = {"type": "text", "text": "hi", "cache_control": mark}
    marked = {"model": "m", "messages": [{"role": "user", "content": [block]}]}
    assert lay_out(plain).parts == lay_out(marked).parts


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"model": "other"}, 0),
        ({"thinking": {"type": "adaptive"}}, 2),
        ({"tool_choice": {"type": "any"}}, 2),
        ({"output_config": {"effort": "low"}}, 2),
        ({"messages": [{"role": "user", "content": "ho"}]}, 3),
        ({"max_tokens": 5}, 4),
    ],
)
def test_a_setting_that_loses_the_cache_shows_in_the_parts(
    change: dict[str, Any], same: int
):
    body: dict[str, Any] = {
        "model": "m",
        "system": "s",
        "messages": [{"role": "user", "content": "hi"}],
    }
    old = lay_out(body).parts
    new = lay_out({**body, **change}).parts
    assert (
        next((i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b), 4)
        == same
    )


@pytest.mark.skipif(not FILES, reason=f"no session file in {FOLDER}")
def test_growth_is_near_what_was_billed_in_real_sessions():
    errors = list[float]()
    crude = list[float]()
    for path in FILES:
        session = sessions.load(path)
        for old, new in pairwise(session.requests):
            billed = prompt_tokens(new.usage) - prompt_tokens(old.usage)
            added = [b for m in session.history[old.seen : new.seen] for b in blocks(m)]
            if billed > 20 and new.context[: len(old.context)] == old.context:
                errors.append(abs(sum(map(block_tokens, added)) / billed - 1))
                crude.append(abs(len(json.dumps(added)) / 4 / billed - 1))
    assert len(errors) > 100
    assert median(errors) <= 0.15 < median(crude)
