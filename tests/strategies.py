"""Random valid conversations and settings, and a way to play a conversation turn by
turn.

Valid: `violation` has nothing to say, and a request with these messages could be sent
now. What is drawn is small and plain (how many calls, how long, what shape), so that a
failing example shrinks to something that can be read; `build` turns it into messages.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from agentlib.estimation import message_tokens, new_meter
from agentlib.messages import (
    Block,
    Message,
    exchanges,
    last_assistant,
    of_type,
    result_text,
)
from agentlib.pipeline import Now, compact
from agentlib.settings import Settings
from agentlib.step import Step, drop_newest_thinking
from session_report.frames import Shown
from tests.builders import (
    CHINESE,
    ENGLISH,
    IMAGE,
    SUMMARY,
    assistant,
    call,
    prose,
    result,
    text,
    thinking,
    user,
)

HIDDEN: Block = {"type": "redacted_thinking", "data": "b3BhcXVl"}


@dataclass(frozen=True)
class Call:
    tool: str
    size: int
    words: str
    shape: str


@dataclass(frozen=True)
class Exchange:
    calls: tuple[Call, ...]
    thoughts: int
    said: str
    answer: str


calls = st.builds(
    Call,
    tool=st.sampled_from(["bash", "read_file", "compact"]),
    size=st.sampled_from([0, 20, 99, 100, 101, 216, 700, 2_500]),
    words=st.sampled_from([ENGLISH, CHINESE]),
    shape=st.sampled_from(
        ["string", "string", "list", "two texts", "image", "error", "missing"]
    ),
)
exchange = st.builds(
    Exchange,
    calls=st.lists(calls, max_size=5).map(tuple),
    thoughts=st.integers(0, 4),
    said=st.sampled_from(["", "I read on.", prose(400)]),
    answer=st.sampled_from(
        ["plain", "plain", "interrupted", "then words", "split", "image"]
    ),
)
openings = st.sampled_from(
    [
        [{"role": "user", "content": "Read every file and write a report."}],
        [user("请逐个阅读文件。", "And be brief.")],
        [user(IMAGE, "What is wrong in this picture?")],
        [user(SUMMARY)],
        [user(SUMMARY, "Read every file and write a report.")],
        [user(SUMMARY), user("Now the tests.")],
    ]
)


def build(opening: list[Message], turns: Sequence[Exchange]) -> list[Message]:
    messages = copy.deepcopy(opening)
    for number, turn in enumerate(turns):
        messages += _exchange(number, turn)
    return messages


def histories(min_size: int = 0, max_size: int = 8) -> st.SearchStrategy[list[Message]]:
    """Valid conversations that end with a user message."""
    return st.builds(
        build, openings, st.lists(exchange, min_size=min_size, max_size=max_size)
    )


def _exchange(number: int, turn: Exchange) -> Iterator[Message]:
    names = [f"toolu_{number}_{n}" for n in range(len(turn.calls))]
    words = turn.said or ("" if names else "Done.")
    said = [text(words)] if words else []
    thoughts = [thinking(f"Thought {number}.{n}.") for n in range(turn.thoughts % 3)]
    thoughts += [HIDDEN] * (turn.thoughts > 2)
    used = [
        call(name, c.tool, path=f"{name}.py")
        for name, c in zip(names, turn.calls, strict=True)
    ]
    yield assistant(*thoughts, *said, *used)
    results = [
        _result(name, call) for name, call in zip(names, turn.calls, strict=True)
    ]
    yield from _answer(number, results, turn.answer)


def _answer(number: int, results: list[Block], kind: str) -> Iterator[Message]:
    words = f"Request {number}: go on."
    if not results or kind == "image":
        yield user(*results, *([IMAGE] if kind == "image" else []), words)
    elif kind == "interrupted":
        yield user(*results, words)
    elif kind == "then words":
        yield user(*results)
        yield {"role": "user", "content": words}
    elif kind == "split" and len(results) > 1:
        yield user(results[-1])
        yield user(*results[:-1])
    else:
        yield user(*results)


def _result(name: str, call: Call) -> Block:
    content = prose(call.size, call.words)
    match call.shape:
        case "list":
            return result(name, [text(content)] if content else [])
        case "two texts":
            return result(name, [text(f"{name}:"), text(content or "nothing")])
        case "image":
            return result(name, [text(f"{name}:"), IMAGE])
        case "error":
            return result(name, content, is_error=True)
        case "missing" if not call.size:
            return {"type": "tool_result", "tool_use_id": name}
        case _:
            return result(name, content)


some_settings = st.builds(
    Settings,
    threshold=st.sampled_from([None, 200, 1_000, 2_500]),
    estimator=st.sampled_from(["anchored", "chars", "blocks"]),
    micro=st.sampled_from(["clear", "clear", "truncate", "trim", "off"]),
    keep_recent=st.integers(0, 6),
    min_chars=st.sampled_from([0, 100]),
    clear_at_least=st.sampled_from([0, 0, 150, 800]),
    keep_tools=st.sampled_from([(), ("read_file",)]),
    clear_when=st.sampled_from(["always", "always", "cold"]),
    keep_messages=st.integers(0, 7),
    max_result_chars=st.sampled_from([0, 20, 200]),
    trim_over=st.sampled_from([300, 2_000]),
    trim_keep=st.sampled_from([0, 90]),
    keep_exchanges=st.integers(0, 3),
    head_tokens=st.sampled_from([0, 0, 0, 30, 400, 4_000]),
    tail_tokens=st.sampled_from([None, None, None, 0, 150, 600, 2_000]),
    recall=st.booleans(),
    auto=st.booleans(),
)


def results_of(messages: Sequence[Message]) -> dict[str, Block]:
    return {r["tool_use_id"]: r for m in messages for r in of_type(m, "tool_result")}


def unseen_of(messages: Sequence[Message]) -> dict[str, Block]:
    return results_of(messages[last_assistant(messages) + 1 :])


def requests_of(history: Sequence[Message]) -> list[int]:
    """How long the history is at each request: before each reply, and now."""
    return [*(start for start, _ in exchanges(history)), len(history)]


def length(block: Block) -> int:
    """Characters of a result, its pictures' data too."""
    pictures = [str(b) for b in block.get("content") or [] if "source" in b]
    return (
        len(result_text(block))
        + sum(map(len, pictures))
        - len("[image]") * len(pictures)
    )


def bill(messages: Sequence[Message]) -> dict[str, int]:
    """What the prompt is billed in these tests: 500 for the rest, and a fifth over the
    estimate."""
    return {"input_tokens": 500 + int(1.2 * sum(map(message_tokens, messages)))}


def short(messages: Sequence[Message], focus: str) -> str:
    return "Did it."


def seen(step: Step, messages: Sequence[Message]) -> Shown:
    """A step with the context that it makes of these messages."""
    return Shown(**vars(step), view=step.applied(messages))


def play(
    history: Sequence[Message], settings: Settings, **more: Any
) -> Iterator[Shown]:
    """The pipeline over a growing conversation, as the loop has it: each step before a
    request.

    `settled=False` starts every step from the first message; `idle` is what the steps
    are told, again and again; every fourth step is a manual compaction where `manual`
    is set.
    """
    found = new_meter(settings.estimator, 800)
    context = list[Message]()
    settled = 0
    idle = more.get("idle", (0.0, 1_000.0))
    for n, (start, stop) in enumerate(pairwise([0, *requests_of(history)])):
        now = Now(
            [*context, *history[start:stop]],
            settings,
            meter=found,
            summarize=more.get("summarize", short),
            archive=lambda: "t.jsonl",
            reason="manual" if more.get("manual") and n % 4 == 3 else "auto",
            settled=settled if more.get("settled", True) else 0,
            idle=idle[n % len(idle)],
        )
        step = seen(compact(now), now.messages)
        yield step
        found.observe(step.view, bill(step.view))
        changed = step.texts or step.summary
        context = drop_newest_thinking(step.view) if changed else step.view
        settled = step.settled
