"""Money as one table: what a usage costs, by hand, on every way to a sum of dollars."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest

import session_report as sessions
from agentlib.api.spending import Cap, NoPrice, dollars, own_prices, priced
from agentlib.cli.render import bill_line
from agentlib.session.file import summed
from agentlib.settings import Settings
from agentlib.transcripts import Session
from session_report.overview import overview
from session_report.policies import judge
from session_report.report import of_overview
from session_report.what_if import window_of
from tests.session_report.session_files import counts
from windtunnel.runner import Run

OPUS = "claude-opus-5-5"
HAIKU = "claude-haiku-5-5"
OWN = "a-model-of-ones-own"
M = 1_000_000
HOUR = {"ephemeral_1h_input_tokens": M, "ephemeral_5m_input_tokens": 0}
PART = {"ephemeral_1h_input_tokens": M // 4, "ephemeral_5m_input_tokens": 3 * M // 4}


TABLE = {
    # Opus 5.5, a million tokens: 4 in, 20 out, 0.20 read, 5 and 8 written
    "the prompt": (OPUS, counts(new=M), 4.0),
    "the answer": (OPUS, counts(out=M), 20.0),
    "read from the cache": (OPUS, counts(read=M), 0.2),
    "written for five minutes": (OPUS, counts(written=M), 5.0),
    "written for an hour": (OPUS, counts(written=M, cache_creation=HOUR), 8.0),
    "a quarter for an hour": (OPUS, counts(written=M, cache_creation=PART), 5.75),
    "everything": (OPUS, counts(M, M, M, M, cache_creation=PART), 29.95),
    "nothing": (OPUS, counts(), 0.0),
    "in fast mode": (OPUS, counts(new=M, out=M, speed="fast"), 48.0),
    "in the US": (OPUS, counts(new=M, inference_geo="us"), 4.4),
    "with web searches": (
        OPUS,
        counts(new=M, server_tool_use={"web_search_requests": 7}),
        4.07,
    ),
    # a model whose price the person names: 1 in, 2 out, 0.10 read, 3 and 4.80 written
    "an own price": (OWN, counts(M, M, M, M), 6.1),
    "an hour at an own price": (OWN, counts(written=M, cache_creation=HOUR), 4.8),
    # Haiku 5.5: 0.10 in, 0.50 out; above 100,000 tokens of prompt five times that
    "a short prompt": (HAIKU, counts(new=50_000, out=10_000), 0.01),
    "a long prompt": (HAIKU, counts(new=200_000, out=10_000), 0.125),
    "a prompt that is long by its cache": (
        HAIKU,
        counts(new=1_000, read=100_000),
        0.0055,
    ),
}
"""A name -> the model, what the API counted, and its price in dollars by hand."""


def by_cap(bill: Any, model: str, folder: Path) -> float:
    cap = Cap(1_000)
    cap.add(bill, model)
    return cap.spent


def by_run(bill: Any, model: str, folder: Path) -> float:
    session = Session(session_id="s")
    return Run(settings=Settings(), session=session, usages=[bill]).dollars(model)


def by_the_terminals_line(bill: Any, model: str, folder: Path) -> float:
    line = bill_line("turns: 1", [bill], model, live=True)
    [cost] = re.findall(r"cost \$([\d.]+)", line)
    return float(cost)


def written(bill: Any, model: str, folder: Path) -> Path:
    """Write a session of one reply, as Claude Code does."""
    ask = {"role": "user", "content": "Go on."}
    said = {"role": "assistant", "id": "m1", "model": model, "usage": bill}
    said |= {"content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"}
    lines = [
        {"type": "user", "uuid": "u1", "timestamp": "2026-03-02T10:00:00Z"},
        {"type": "assistant", "uuid": "a1", "timestamp": "2026-03-02T10:00:05Z"},
    ]
    path = folder / "s.jsonl"
    both = zip(lines, (ask, said), strict=True)
    texts = [json.dumps(summed({**line, "message": each})) for line, each in both]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def by_the_report(bill: Any, model: str, folder: Path) -> float:
    report = of_overview(overview([written(bill, model, folder)], jobs=1))
    return sum(row["dollars"] or 0 for row in report["kinds"])


def by_models_in_the_report(bill: Any, model: str, folder: Path) -> float:
    report = of_overview(overview([written(bill, model, folder)], jobs=1))
    return sum(row["dollars"] or 0 for row in report["models"])


def by_a_loaded_file(bill: Any, model: str, folder: Path) -> float:
    session = sessions.load(written(bill, model, folder))
    return sum(dollars(request.usage, model) for request in session.requests)


WAYS: dict[str, Callable[[Any, str, Path], float]] = {
    "dollars": lambda bill, model, folder: dollars(bill, model),
    "priced": lambda bill, model, folder: sum(
        d for _, d in priced(bill, model).values()
    ),
    "the cap of a live run": by_cap,
    "a run of the lessons": by_run,
    "the terminal's last line": by_the_terminals_line,
    "a loaded file": by_a_loaded_file,
    "the report's kinds": by_the_report,
    "the report's models": by_models_in_the_report,
}


@pytest.fixture(autouse=True)
def _own_price() -> Iterator[None]:
    with own_prices([(OWN, "1,2,0.1,3")]):
        yield


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", TABLE)
def test_a_usage_costs_the_same_on_every_way(case: str, way: str, tmp_path: Path):
    model, bill, price = TABLE[case]
    assert WAYS[way](bill, model, tmp_path) == pytest.approx(price, abs=1e-4)


STEP = {"type": "message"}
ADVICE = {"type": "advisor_message", "model": "claude-opus-4-7"}
CALLS = {
    "two calls": (counts(2 * M), [{**STEP, **counts(M)}] * 2, 8.0),
    "two calls that write for an hour": (
        counts(written=2 * M, cache_creation={"ephemeral_1h_input_tokens": 2 * M}),
        [{**STEP, **counts(written=M)}] * 2,
        16.0,
    ),
    "an adviser beside": (
        counts(M),
        [{**STEP, **counts(M)}, {**ADVICE, **counts(M)}],
        9.0,
    ),
}
"""A name -> the counts of a response, the calls that it bills, and their price."""


@pytest.mark.parametrize("way", [by_the_report, by_models_in_the_report])
@pytest.mark.parametrize("case", CALLS)
def test_all_calls_of_a_response_are_paid(case: str, way: Any, tmp_path: Path):
    counted, steps, price = CALLS[case]
    bill = {**counted, "iterations": steps}
    assert way(bill, OPUS, tmp_path) == pytest.approx(price, abs=1e-4)


def test_a_policy_is_judged_by_the_same_prices(tmp_path: Path):
    """A replay bills by the rules of the cache. With nothing cached before, it writes
    the prompt."""
    session = sessions.load(written(counts(new=1_000, out=M), OPUS, tmp_path))
    frame = judge([session], Settings(context_window=window_of(session)), OPUS)
    assert frame["answers"].sum() == M
    sizes = frame[["read", "written", "uncached"]].sum()
    low = (sizes["written"] * 5 + sizes["uncached"] * 4 + sizes["read"] * 0.2) / M + 20
    assert frame["dollars"].sum() == pytest.approx(low, abs=0.01)


@pytest.mark.parametrize("model", ["my-claude-opus-5-5", "not claude-opus-5-5", "x"])
def test_another_model_has_no_price_anywhere(model: str, tmp_path: Path):
    bill = counts(new=M, out=M)
    for name in ("dollars", "priced", "the cap of a live run", "a run of the lessons"):
        with pytest.raises(NoPrice):
            WAYS[name](bill, model, tmp_path)
    report = of_overview(overview([written(bill, model, tmp_path)], jobs=1))
    [row] = report["models"]
    assert pandas.isna(row["dollars"])
