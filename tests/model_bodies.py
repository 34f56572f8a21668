"""Requests for tests of the offline model, and what a reply says and does."""

from typing import Any

from offline_api.model import Habits, reply
from offline_api.model.view import View, conversation_of, view
from tests.builders import assistant, call, result, user

Message = dict[str, Any]
NAMES = ("bash", "read_file", "write_file", "edit_file", "compact")
TOOLS: list[Any] = [{"name": name} for name in NAMES]
SYSTEM = "The context window is 32,000 tokens; the conversation is compacted at 20,000 tokens."
ADDS = '"""Adds numbers."""\n\ndef add(a, b):\n    """Return the sum."""'
NOTED = "- [file] a.py | 4 lines | Adds numbers. | add: Return the sum."


def calls(
    text: str, *made: tuple[str, dict[str, Any], str], error: bool = False
) -> list[Message]:
    """An assistant message with calls (tool, input, result), and the results."""
    uses: list[Any] = [text] if text else []
    results: list[Any] = []
    for i, (name, inputs, content) in enumerate(made):
        use_id = f"toolu_{abs(hash((text, i, name, str(inputs), content)))}"
        uses.append(call(use_id, name, **inputs))
        results.append(result(use_id, content, is_error=error))
    return [assistant(*uses), user(*results)]


def body(*messages: Message, **more: Any) -> dict[str, Any]:
    same = {"tools": TOOLS, "system": SYSTEM, "max_tokens": 4_000}
    return {**same, "messages": list(messages), **more}


def answer(
    *messages: Message, habits: Habits | None = None, **more: Any
) -> dict[str, Any]:
    return reply(body(*messages, **more), habits or Habits())


def seen(*messages: Message, **more: Any) -> View:
    request = body(*messages, **more)
    return view(request, Habits(), conversation_of(request)[1])


def used(said: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(b["name"], b["input"]) for b in said["content"] if b["type"] == "tool_use"]


def words(said: dict[str, Any]) -> str:
    return "\n".join(b["text"] for b in said["content"] if b["type"] == "text")
