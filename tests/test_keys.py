"""Keys as one property: nothing that leaves the history has the shape of a key."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.api.masks import masked
from agentlib.auto_compact import SummaryFailed, auto_compact
from agentlib.cli import render
from agentlib.cli.program import engine_named
from agentlib.compaction.around import Hooks, hooked
from agentlib.compaction.hooks import recent_files
from agentlib.estimation import TokenMeter
from agentlib.head_and_tail import head_and_tail
from agentlib.pipeline import Now, compact
from agentlib.settings import Settings
from agentlib.step import Step
from session_report.report import shareable
from tests.builders import assistant, call, result, user
from tests.key_shapes import shapes
from tools.my_agent import FILE

PLAIN = sorted(key.replace("{", "").replace("}", "") for _, key in shapes())
KEYS = [key for key in PLAIN if masked(key) != key]
WORDS = st.text(st.characters(codec="ascii", exclude_characters="\x00"), max_size=30)


def history(text: str) -> list[Any]:
    """A conversation in which everybody says the text: person, model, tool."""
    used = call("toolu_1", "read_file", path="a.py", offset=text)
    turns = [assistant(text, used), user(result("toolu_1", text * 20))]
    other = json.loads(json.dumps(turns).replace("toolu_1", "toolu_2"))
    return [{"role": "user", "content": "Go on with the work. " * 40}, *turns, *other]


def now(text: str, **more: Any) -> Now:
    given = {
        "meter": TokenMeter(),
        "summarize": lambda messages, focus: text,
        "archive": lambda: "t.jsonl",
        "reason": "manual",
    }
    plain = replace(Settings(), keep_exchanges=0).scaled(32_000)
    return Now(history(text), plain, **(given | more))


def fails(messages: Any, focus: str) -> str:
    raise SummaryFailed("not today")


def summary_of(step: Step) -> Any:
    assert step.summary is not None
    return step.summary


def by_auto_compact(text: str) -> Any:
    new = auto_compact(history(text), lambda m, f: text, lambda: "t", keep_exchanges=0)
    return new[0]


def by_head_and_tail(text: str) -> Any:
    settings = Settings(head_tokens=100, tail_tokens=10)
    view = head_and_tail(history(text), lambda m, f: text, lambda: "t", settings)
    known = history(text)
    return [message for message in view if message not in known][:1]


def with_files_put_back(text: str) -> Any:
    files = recent_files(lambda path: text, 1)
    restoring = Hooks(restore=(files,))
    asks = hooked(lambda m, f: "Notes.", hooks=restoring, tokens=500, most=500)
    return summary_of(compact(now("Notes.", summarize=asks)))


def of_ones_own_engine(text: str) -> Any:
    return summary_of(engine_named(f"{FILE}:compact")(now(text)))


def without_a_model(text: str) -> Any:
    step = compact(now(text, summarize=fails, reason="reactive"))
    return summary_of(step)


def lines_of_a_turn(text: str) -> Any:
    [_, call, answer, *_] = history(text)
    block = call["content"][1]
    result = answer["content"][0]
    return render.call_line(block, {**result, "is_error": True})


def lines_of_a_step(text: str) -> Any:
    return list(render.step_lines(Step(failure=text, archive="t", focus=text)))


def the_report(text: str) -> Any:
    return shareable(
        {"losses": [{"quote": text, "turn": 3}], text: [{"session": text}]}
    )["losses"]


WAYS: dict[str, Callable[[str], Any]] = {
    "a summary": by_auto_compact,
    "a hand-off": by_head_and_tail,
    "a summary without a model": without_a_model,
    "a summary of one's own engine": of_ones_own_engine,
    "a summary with files put back": with_files_put_back,
    "the terminal's line of a call": lines_of_a_turn,
    "the terminal's lines of a compaction": lines_of_a_step,
    "the terminal's plain text": render.plain,
    "the report's tables": the_report,
}


@pytest.mark.parametrize("way", WAYS)
@given(key=st.sampled_from(KEYS), before=WORDS, after=WORDS)
def test_what_leaves_the_history_has_no_key_in_it(
    way: str, key: str, before: str, after: str
):
    text = f"{before} {key} {after}"
    shown = WAYS[way](text)
    texts = json.dumps(shown, ensure_ascii=False)
    assert key not in texts
    for line in [shown] if isinstance(shown, str) else [texts]:
        assert masked(line) == line


def test_the_property_would_notice_a_key():
    assert len(KEYS) > 85
    key = next(each for each in KEYS if each.isalnum())
    assert key in str(replace(Step(), failure=key))
