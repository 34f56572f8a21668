"""Blocks, messages and replies as tests write them, and a conversation that reads
files."""

from typing import Any

from agentlib.messages import Block, Message

SUMMARY = (
    "[Conversation compressed. Transcript: t.jsonl]\n\nRead a.py.\n[End of summary]"
)
IMAGE: Block = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 20},
}
ENGLISH = "read the next file and note what it does; "
CHINESE = "上下文终将填满，智能体能有策略地遗忘。"


def text(value: str, **more: Any) -> Block:
    return {"type": "text", "text": value, **more}


def thinking(thought: str = "Hmm.") -> Block:
    """A thought. `fakes.client` gives it a signature of its own."""
    return {"type": "thinking", "thinking": thought, "signature": "c2ln"}


def call(name: str, tool: str = "bash", **inputs: Any) -> Block:
    """A call with this id. The offline API gives one to a call whose id is ""."""
    known = {"id": name} if name else {}
    return {"type": "tool_use", **known, "name": tool, "input": inputs}


def result(name: str, content: Any = "ok", **more: Any) -> Block:
    """The result of the call with this id."""
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def user(*content: Block | str) -> Message:
    """A message of blocks. A string is a text."""
    return {
        "role": "user",
        "content": [text(c) if isinstance(c, str) else c for c in content],
    }


def assistant(*content: Block | str) -> Message:
    return {**user(*content), "role": "assistant"}


def say(*content: Block | str, stop: str | None = None) -> dict[str, Any]:
    """A reply as the API sends it. With a call it stops for `tool_use`."""
    blocks = user(*content)["content"]
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "content": blocks,
        "stop_reason": stop or ("tool_use" if calls else "end_turn"),
    }


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


def prose(size: int, words: str = ENGLISH) -> str:
    return (words * (size // len(words) + 1))[:size]


def reading(number: int, size: int = 1_000) -> list[Message]:
    """One exchange: a call of read_file and its result of `size` characters."""
    name = f"toolu_{number}"
    called = assistant(f"File {number}.", call(name, "read_file", path=f"{number}.py"))
    return [called, user(result(name, prose(size)))]


def conversation(exchanges: int, size: int = 1_000) -> list[Message]:
    """A request, then so many files read one by one; the last result is unseen."""
    return [
        user("Read every file."),
        *(m for n in range(exchanges) for m in reading(n, size)),
    ]
