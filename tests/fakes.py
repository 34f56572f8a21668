"""A Messages API of a few lines behind the real SDK: what it answers is a function of
the request.

`client(brain)` hands each request body to `brain`, after holding it to the rules that
the agent must keep. A request that breaks one fails the test at once. `offline_api` knows
every rule and counts tokens.
"""

import hashlib
import itertools
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import anthropic
import httpcore2
import httpx2
import pytest

from agentlib.messages import blocks, last_assistant
from agentlib.session.file import Line
from offline_api import violation
from tests.builders import call, say, thinking

Body = dict[str, Any]
Brain = Callable[[Body], Any]

# Each live client would read all authorities of the web again, in 30 ms, and no test
# meets one.
httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)


def client(
    brain: Brain, seen: list[Body] | None = None, retries: int = 0
) -> anthropic.Anthropic:
    """The SDK over `brain(body) -> reply | error`; what it was sent is added to
    `seen`."""
    numbers = itertools.count(1)

    def answer(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        if seen is not None:
            seen.append(body)
        if problem := broken_rule(body):
            pytest.fail(f"the API would refuse this request: {problem}")
        try:
            said = brain(body)
        except (
            Exception
        ) as error:  # the SDK would take it for a lost connection, and retry
            pytest.fail(f"the brain failed: {error!r}")
        return (
            said
            if isinstance(said, httpx2.Response)
            else accepted(body, said, next(numbers))
        )

    transport = httpx2.Client(transport=httpx2.MockTransport(answer))
    return anthropic.Anthropic(
        api_key="none", http_client=transport, max_retries=retries
    )


def accepted(body: Body, said: dict[str, Any], number: int) -> httpx2.Response:
    """The reply as the API sends it: thinking signed, the prompt billed by its
    length."""
    for block in said["content"]:
        if block["type"] == "thinking":
            block["signature"] = f"{digest(block['thinking'])}.{places(body)[-1]}"
    size = len(json.dumps(bare(body["messages"]))) // 4 + len(str(body["system"])) // 4
    usage = {
        "input_tokens": size % 100,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": size - size % 100,
        "output_tokens": len(str(said["content"])) // 4,
    }
    reply = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
    }
    return httpx2.Response(
        200, json={**reply, "stop_sequence": None, "usage": usage} | said
    )


def error(status: int, message: str = "Overloaded") -> httpx2.Response:
    """A refusal; the SDK's next try, if it has one left, comes at once."""
    kind = "invalid_request_error" if status == 400 else "api_error"
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return httpx2.Response(status, json=body, headers={"retry-after-ms": "1"})


def good(body: Body) -> dict[str, Any]:
    """A brain that has one answer."""
    return say("Good.")


def script(*replies: Any) -> Brain:
    """Answer with these replies in order; a function among them is asked with the
    body."""
    left = iter(replies)

    def brain(body: Body) -> Any:
        said = next(left)
        return said(body) if callable(said) else said

    return brain


def worker(turns: int, name: str = "toolu", summary: Any = None) -> Brain:
    """Read a.txt in each turn, then be done; `summary` is what it answers to the
    summary call."""
    numbers = itertools.count(1)
    summaries = itertools.count(1)

    def brain(body: Body) -> Any:
        if asks_for_summary(body):
            n = next(summaries)
            return summary or say(
                f"Summary {n} begins.\n## Accomplished\nRead.\nIt ends, {n}."
            )
        n = next(numbers)
        if n > turns:
            return say("Done.")
        return say(
            thinking(f"thought {n}"),
            f"step {n}",
            call(f"{name}_{n}", "read_file", path="a.txt"),
        )

    return brain


def asks_for_summary(body: Body) -> bool:
    return prompt(body).startswith("Summarize this conversation for continuity.")


def prompt(body: Body) -> str:
    """The text of the newest message, "" where it is a result."""
    return blocks(body["messages"][-1])[-1].get("text", "")


def bare(messages: list[Line]) -> list[Line]:
    """Messages in one form: content as blocks, without cache markers."""
    return [
        {
            "role": m["role"],
            "content": [
                {k: v for k, v in b.items() if k != "cache_control"} for b in blocks(m)
            ],
        }
        for m in messages
    ]


def broken_rule(body: Body) -> str | None:
    """The first rule that the request breaks."""
    marks = json.dumps(body).count('"cache_control"')
    return (
        violation(body["messages"])
        or (f"{marks} cache markers" if marks > 4 else None)
        or broken_thinking(body)
    )


def broken_thinking(body: Body) -> str | None:
    """Thinking must be unmodified, and stand where it was thought or in the latest
    turn."""
    latest = last_assistant(body["messages"])
    bound = places(body)
    for i, message in enumerate(body["messages"]):
        for block in blocks(message):
            if block["type"] == "thinking":
                thought, _, place = block["signature"].partition(".")
                if thought != digest(block["thinking"]):
                    return f"messages.{i}: thinking cannot be modified"
                if i != latest and place != bound[i]:
                    return (
                        f"messages.{i}: thinking is bound to a different conversation"
                    )
    return None


def places(body: Body) -> list[str]:
    """What thinking at each message is bound to, and at the reply to come: system,
    tools, and the messages before it without older thinking."""
    start = json.dumps([body["system"][0]["text"], body["tools"]], sort_keys=True)
    told = hashlib.sha256(start.encode())
    found = [told.hexdigest()[:12]]
    for message in bare(body["messages"]):
        for block in message["content"]:
            if block["type"] != "thinking":
                line = json.dumps([message["role"], block], sort_keys=True)
                told.update(line.encode())
        found.append(told.hexdigest()[:12])
    return found


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Clock:
    """Seconds since the epoch, one more at each look."""

    def __init__(self, now: float = 1_760_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def lines_of(path: Path) -> list[Line]:
    """The lines of a session file, read without agentlib."""
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
