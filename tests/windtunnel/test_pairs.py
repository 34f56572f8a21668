"""Each pair of a learner's parts works together, or is refused with a sentence."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from agentlib.estimation import estimate_tokens
from agentlib.messages import of_type
from agentlib.pipeline import compact as finished
from agentlib.settings import Settings
from agentlib.tools import result
from windtunnel import layer_of, play
from windtunnel.tasks.scenarios import SURVEY

SETTINGS = replace(Settings(manual=False).scaled(32_000), threshold=6_000)
"""In SURVEY it compacts."""
READING = replace(SURVEY, prompts=SURVEY.prompts[1:2], pauses=())
"""The middle of SURVEY: a folder is read, and eight requests need every part."""
OUTLINE = {
    "name": "outline",
    "description": "List the definitions of a Python file.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
}


def parts(seen: Counter[str]) -> dict[str, dict[str, Any]]:
    """Each part as `play` takes it. `seen` counts how often its function runs."""

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            seen[name] += 1
            return function(*given)

        return call

    def loop(messages, ask, workspace):
        seen["loop"] += 1
        while True:
            reply = ask(messages)
            messages.append({"role": "assistant", "content": reply["content"]})
            calls = of_type(messages[-1], "tool_use")
            if not calls:
                return
            results = [result(call, workspace) for call in calls]
            messages.append({"role": "user", "content": results})

    def with_summary(messages, summary):
        seen["a layer with a summary"] += 1
        return [{"role": "user", "content": f"{messages[0]['content']}\n{summary}"}]

    def asking(messages, summarize):
        seen["a layer that asks"] += 1
        return [{"role": "user", "content": f"Go on.\n{summarize(messages)}"}]

    def with_top(messages, top):
        seen["a layer with a message"] += 1
        return [top]

    def save(messages, folder, now):
        path = folder / "own.json"
        path.write_text(json.dumps(messages), encoding="utf-8")
        return path

    def focus_at_eight(messages):
        return "files" if len(messages) == 9 else None

    return {
        "loop": {"loop": loop},
        "tools": {"tools": [(OUTLINE, noted("tools", lambda source: source))]},
        "estimate": {"estimate": noted("estimate", lambda m: 2 * estimate_tokens(m))},
        "a layer": {"layers": [layer_of(noted("a layer", lambda messages: messages))]},
        "a layer with a summary": {"layers": [layer_of(with_summary, given="summary")]},
        "a layer that asks": {"layers": [layer_of(asking, given="summarize")]},
        "a layer with a message": {"layers": [layer_of(with_top, given="message")]},
        "on_compact_call": {
            "on_compact_call": noted("on_compact_call", focus_at_eight)
        },
        "save and load": {
            "save": noted("save and load", save),
            "load": lambda path: json.loads(path.read_text("utf-8")),
            "resume_after": 3,
        },
        "summarize": {"summarize": noted("summarize", lambda m, focus, ask: "Notes.")},
        "engine": {"engine": noted("engine", finished)},
    }


REFUSED = {
    ("loop", "save and load"),
    ("estimate", "a layer"),
    ("a layer", "on_compact_call"),
    ("a layer", "summarize"),
    ("a layer", "engine"),
    ("a layer with a summary", "engine"),
    ("a layer that asks", "engine"),
    ("a layer with a message", "engine"),
}
SUMMARISE = {name for name in parts(Counter()) if name.startswith("a layer ")}
"""In a list of layers only the first of them compacts."""
PAIRS = [pair for pair in combinations(parts(Counter()), 2) if not {*pair} <= SUMMARISE]


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_two_parts_both_run_or_are_refused(pair: tuple[str, str]):
    seen = Counter[str]()
    both = parts(seen)
    given = {**both[pair[0]], **both[pair[1]]}
    if "layers" in given:
        given["layers"] = [
            layer for name in pair for layer in both[name].get("layers", ())
        ]
    if pair in REFUSED:
        with pytest.raises(TypeError, match=r"go|never|stacked"):
            play(READING, SETTINGS, **given)
        assert not seen
        return
    run = play(READING, SETTINGS, **given, max_turns=8)
    assert {*pair} <= {*seen}, run.ended


def test_what_only_the_agents_own_loop_can_serve_is_refused():
    own = parts(Counter())["loop"]
    with pytest.raises(TypeError, match="compact_after"):
        play(SURVEY, SETTINGS, **own, compact_after=3)
    with pytest.raises(TypeError, match="stop"):
        play(SURVEY, SETTINGS, **own, stop=lambda session: "")


def test_a_loop_with_layers_sends_what_they_leave():
    seen = Counter[str]()
    run = play(SURVEY, SETTINGS, **parts(seen)["loop"], engine=finished)
    assert run.session.compactions
    assert len(run.session.context) < len(run.session.history)
    assert run.checks["done"]
