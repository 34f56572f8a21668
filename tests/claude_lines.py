"""Lines as Claude Code writes them, for the tests of what reads them."""

import json
from typing import Any

from agentlib.transcripts import INTERRUPTED

BILLED = {"input_tokens": 3, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 90}
Line = dict[str, Any]


def user(uuid: str, content: Any, second: int = 0, **more: Any) -> Line:
    stamp = f"2026-01-01T00:00:{second:02d}.000Z"
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "timestamp": stamp, "message": message, **more}


def reply(name: str, block: Any, second: int = 0, output: int = 1, **more: Any) -> Line:
    usage = {**BILLED, "output_tokens": output, "cache_creation": {"ephemeral_5m_input_tokens": 7}}
    content = [block] if isinstance(block, dict) else block
    message = {"id": name, "model": "m", "role": "assistant", "content": content, "usage": usage}
    line = user(f"{name}-{json.dumps(block)}", "", second, **more)
    return {**line, "type": "assistant", "message": {**message, "stop_reason": None}}


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def call(name: str) -> Line:
    return {"type": "tool_use", "id": name, "name": "bash", "input": {}}


def result(name: str, content: str = "ok") -> Line:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def lost(name: str) -> Line:
    return {**result(name, INTERRUPTED), "is_error": True}


def boundary(**metadata: Any) -> Line:
    line = user("b", "", logicalParentUuid="not in this file", compactMetadata=metadata)
    return {**line, "type": "system", "subtype": "compact_boundary"}
