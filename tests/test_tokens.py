"""The offline model's own token count: deterministic, plausible, and near what was billed."""

import base64
import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from agentlib.lab.api.tokens import (
    CALL,
    RESULT,
    TEXT,
    TOOL,
    block_tokens,
    lay_out,
    text_tokens,
)
from agentlib.lab.cache import LONG, SHORT
from agentlib.messages import Block, blocks

ENGLISH = "Every morning the keeper climbed the stairs, cleaned the great lamp, and wrote it down. "
CHINESE = "压缩之后，模型只记得摘要里写下的内容。"
BASE64 = base64.b64encode(bytes((7 * i * i + 3 * i) % 256 for i in range(6_000))).decode()


@pytest.mark.parametrize(
    ("text", "least", "most"),
    # Tokens per character, from an older tokenizer to what is known of the newest.
    [
        (inspect.getsource(json) + inspect.getsource(inspect), 1 / 4.1, 1 / 3.1),
        (ENGLISH * 50, 1 / 4.3, 1 / 2.7),
        (json.dumps([{"title": ENGLISH, "number": i} for i in range(300)]), 1 / 3.9, 1 / 2.7),
        (CHINESE * 100, 1 / 1.3, 1 / 1.08),
        (BASE64, 1 / 1.5, 1 / 1.3),
    ],
    ids=["python", "english", "json", "chinese", "base64"],
)
def test_each_class_of_text_is_as_dense_as_tokenizers_find_it(text: str, least: float, most: float):
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


def test_chinese_is_not_counted_as_words_nor_as_blanks():
    assert text_tokens("中" * 1_000) == 900
    assert text_tokens("中 " * 1_000) < 2_000


def test_each_block_costs_more_than_its_text():
    call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    assert block_tokens({"type": "text", "text": "ok"}) == TEXT + 2
    assert block_tokens({"type": "thinking", "thinking": "ok", "signature": "s" * 99}) == TEXT + 2
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
    longer = lay_out({**body, "tools": [{**tool, "description": "Run it. " * 100}]}).tokens
    assert longer > layout.tokens + 300


def test_marks_stand_where_cache_control_does_and_the_automatic_one_at_the_end():
    mark = {"type": "ephemeral"}
    body: dict[str, Any] = {
        "model": "m",
        "system": [{"type": "text", "text": "s", "cache_control": {**mark, "ttl": "1h"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
        ],
        "cache_control": mark,
    }
    assert lay_out(body).marks == {1: LONG, 3: SHORT, 5: SHORT}


def test_a_marker_changes_no_key_and_a_string_is_one_text_block():
    mark = {"type": "ephemeral"}
    plain: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
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
def test_a_setting_that_loses_the_cache_shows_in_the_parts(change: dict[str, Any], same: int):
    body: dict[str, Any] = {
        "model": "m",
        "system": "s",
        "messages": [{"role": "user", "content": "hi"}],
    }
    old, new = lay_out(body).parts, lay_out({**body, **change}).parts
    assert next((i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b), 4) == same


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """Every JSON object of a session file, two on one line and torn lines too."""
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").splitlines():
        rest = line.strip()
        while rest:
            try:
                found, end = decoder.raw_decode(rest)
            except ValueError:
                break
            yield found
            rest = rest[end:].strip()


def growths(path: Path) -> Iterator[tuple[int, list[Block]]]:
    """For each response but the first: by how much its prompt was larger, and what was new."""
    new: list[Block] = []
    reply, before = "", 0
    for entry in objects(path):
        message = entry.get("message") or {}
        if entry.get("subtype") in ("compact_boundary", "microcompact_boundary"):
            before = 0
        if entry.get("type") == "assistant" and message["model"] != "<synthetic>":
            usage = message["usage"]
            kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            prompt = sum(usage.get(kind) or 0 for kind in kinds)
            if message["id"] != reply:
                if before:
                    yield prompt - before, new
                reply, before, new = message["id"], prompt, []
        if entry.get("type") in ("user", "assistant") and message:
            new += blocks(message)


@pytest.mark.skipif("REAL_SESSIONS" not in os.environ, reason="REAL_SESSIONS=DIR is not set")
def test_growth_is_near_what_was_billed_in_real_sessions():
    files = sorted(Path(os.environ["REAL_SESSIONS"]).glob("*.jsonl"))
    found = [(billed, new) for path in files for billed, new in growths(path) if billed > 20]
    ours = [abs(sum(map(block_tokens, new)) / billed - 1) for billed, new in found]
    crude = [abs(len(json.dumps(new)) / 4 / billed - 1) for billed, new in found]
    assert len(found) > 100
    assert median(ours) <= 0.15 < median(crude)
