"""What session files say was paid: cases from public reports of readers of such files,
with values worked out by hand. All content is invented."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import session_report as sessions
from agentlib.api.spending import dollars
from session_report.one import responses
from session_report.overview import ESTIMATED, STATED, UNCOUNTED, overview
from session_report.report import of_overview
from session_report.usages import calls_of
from session_report.what_if import SMALL, window_of
from tests.session_report.session_files import (
    OPUS,
    Line,
    at,
    counts,
    replied,
    said,
    written,
)


def sums(path: Path, **options: Any) -> Line:
    """Responses, tokens, dollars and notes of the report."""
    report = of_overview(overview([path], jobs=1, **options))
    row = {
        column: sum(each[column] or 0 for each in report["kinds"])
        for column in ("sessions", "responses", "tokens", "dollars")
    }
    notes = [*report["not counted"], *report["not priced"]]
    row["notes"] = {each["what"]: each["number"] for each in notes}
    row["where"] = {each["where"]: each["tokens"] for each in report["where"]}
    row["report"] = report
    return row


def test_counts_that_a_relay_sends_as_text_are_counts(tmp_path: Path) -> None:
    usage = {name: str(count) for name, count in counts(1_000, 100).items()}
    row = sums(written(tmp_path, said(0), replied(5, usage)))
    assert (row["tokens"], row["dollars"]) == (1_100, pytest.approx(0.006))
    assert UNCOUNTED not in row["notes"]


# -- calls beside a response -----------------------------------------------------------


def rolled(*steps: Line, **top: int) -> Line:
    """A usage whose counts are the sum of its messages, and its calls."""
    own = [step for step in steps if step.get("type", "message") == "message"]
    whole = {name: sum(step[name] for step in own) for name in counts()}
    return {**whole, **top, "iterations": list(steps)}


def test_an_advisor_is_paid_beside_the_model_that_answers(tmp_path: Path) -> None:
    one = {"type": "message", **counts(1, 40, 100_000, 7_000)}
    two = {"type": "message", **counts(1, 400, 107_000, 600)}
    other = {
        "type": "advisor_message",
        "model": "claude-opus-4-7",
        **counts(50_000, 900),
    }
    path = written(tmp_path, said(0), replied(5, rolled(one, other, two)))
    row = sums(path)
    own = (2 * 4 + 440 * 20 + 207_000 * 0.2 + 7_600 * 5) / 1e6
    assert row["dollars"] == pytest.approx(own + (50_000 * 5 + 900 * 25) / 1e6)
    assert row["responses"] == 1
    assert row["where"]["answers"] == 440 + 900
    assert row["where"]["other calls"] == 50_000
    (request,) = sessions.load(path).requests
    assert request.usage["output_tokens"] == 440, "the reply's own"
    models = {each["model"]: each["tokens"] for each in row["report"]["models"]}
    assert models["claude-opus-4-7"] == 50_900


PARTS = st.lists(st.tuples(*[st.integers(0, 90_000)] * 4), min_size=1, max_size=4)


@given(parts=PARTS, is_hour=st.booleans())
def test_the_calls_of_a_response_cost_what_its_counts_cost(
    parts: list[tuple[int, int, int, int]], is_hour: bool
) -> None:
    steps = [{"type": "message", **counts(*part)} for part in parts]
    whole: Line = counts(*map(sum, zip(*parts, strict=True)))
    written_for = "1h" if is_hour else "5m"
    count = whole["cache_creation_input_tokens"]
    whole["cache_creation"] = {f"ephemeral_{written_for}_input_tokens": count}
    last, earlier, beside = calls_of({**whole, "iterations": steps}, OPUS)
    assert beside == []
    paid = sum(dollars(call, OPUS) for call in (last, *earlier))
    assert paid == pytest.approx(dollars(whole, OPUS))


def test_a_prompt_is_that_of_the_last_call_and_not_their_sum(tmp_path: Path) -> None:
    usage = rolled(
        {"type": "message", **counts(2, 100, 148_000, 2_000)},
        {"type": "advisor_message", "model": OPUS, **counts()},
        {"type": "message", **counts(2, 200, 151_000, 1_000)},
    )
    lines = [
        said(0),
        replied(5, counts(2, 9, 0, 148_000)),
        said(20),
        replied(25, usage),
    ]
    path = written(
        tmp_path, *lines, said(40), replied(45, counts(2, 9, 152_000, 1_000))
    )
    rows = responses(session := sessions.load(path))
    assert [row["prompt"] for row in rows] == [148_002, 152_002, 153_002]
    assert [row["gone"] for row in rows] == [0, 0, 0]
    assert {row["why"] for row in rows[1:]} == {"new in the prompt"}
    assert window_of(session) == SMALL


def test_two_short_prompts_of_one_response_are_no_long_one(tmp_path: Path) -> None:
    step = {"type": "message", **counts(60_000, 100)}
    usage = rolled(step, step)
    path = written(tmp_path, said(0), replied(5, usage, model="claude-haiku-5-5"))
    assert sums(path)["dollars"] == pytest.approx((120_000 * 0.1 + 200 * 0.5) / 1e6)


@pytest.mark.parametrize("kind", ["compaction", "fallback_message", "of_next_year"])
def test_a_call_of_any_type_that_the_counts_leave_out_is_paid(
    tmp_path: Path, kind: str
) -> None:
    last = {"type": "message", **counts(20, 500, 30_000)}
    usage = rolled({"type": kind, **counts(180_000, 3_500)}, last)
    row = sums(written(tmp_path, said(0), replied(5, usage)))
    own = (20 * 4 + 500 * 20 + 30_000 * 0.2) / 1e6
    assert row["dollars"] == pytest.approx(own + (180_000 * 4 + 3_500 * 20) / 1e6)


def test_a_fallback_that_the_counts_are_of_is_paid_once(tmp_path: Path) -> None:
    refused = {"type": "message", "model": "claude-opus-5", **counts(1_000, 100)}
    served = {"type": "fallback_message", "model": OPUS, **counts(1_000, 400)}
    usage = {**counts(1_000, 400), "iterations": [refused, served]}
    row = sums(written(tmp_path, said(0), replied(5, usage)))
    first = (1_000 * 5 + 100 * 25) / 1e6
    assert row["dollars"] == pytest.approx(first + (1_000 * 4 + 400 * 20) / 1e6)


def test_calls_of_two_models_that_the_counts_sum_up_have_their_own_prices(
    tmp_path: Path,
) -> None:
    refused = {"type": "message", "model": "claude-opus-5", **counts(1_000, 100)}
    served = {"type": "fallback_message", "model": OPUS, **counts(2_000, 400)}
    usage = {**counts(3_000, 500), "iterations": [refused, served]}
    row = sums(written(tmp_path, said(0), replied(5, usage)))
    first = (1_000 * 5 + 100 * 25) / 1e6
    assert row["dollars"] == pytest.approx(first + (2_000 * 4 + 400 * 20) / 1e6)
    assert row["tokens"] == 3_500


@pytest.mark.parametrize(
    "listed",
    [[], None, "?", [None, 7], [{}], [{"type": "message"}], [{"input_tokens": "x"}]],
)
def test_iterations_of_any_form_leave_the_counts_as_they_are(
    tmp_path: Path, listed: Any
) -> None:
    usage = {**counts(1_000, 100), "iterations": listed}
    row = sums(written(tmp_path, said(0), replied(5, usage)))
    assert row["dollars"] == pytest.approx(0.006)


def test_the_split_of_the_call_that_was_billed_counts(tmp_path: Path) -> None:
    hours = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 500}
    old = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 800}
    steps = [
        {**counts(1, 5, 20, 800), "cache_creation": old},
        {**counts(2, 10, 30, 600), "cache_creation": hours},
    ]
    usage = {**counts(2, 10, 30, 600), "cache_creation": old, "iterations": steps}
    row = sums(written(tmp_path, said(0), replied(5, usage)))
    paid = 2 * 4 + 10 * 20 + 30 * 0.2 + 500 * 8 + 100 * 5
    assert row["dollars"] == pytest.approx(paid / 1e6)


# -- which lines are one response ------------------------------------------------------


def relayed(session: str, turns: int, **more: Any) -> list[Line]:
    """A session whose relay gives every response the same id."""
    lines = list[Line]()
    for turn in range(turns):
        usage = counts(1_000 + 100 * turn, 50)
        lines += [
            said(100 * turn),
            replied(100 * turn + 5, usage, name="relay", **more),
        ]
    return [{**line, "uuid": f"{session} {line['uuid']}"} for line in lines]


def test_a_relays_one_id_for_all_makes_no_response_of_a_session(tmp_path: Path) -> None:
    written(tmp_path, *relayed("one", 3), name="one")
    assert (sums(tmp_path)["responses"], sums(tmp_path)["tokens"]) == (3, 3_450)
    written(tmp_path, *relayed("two", 3), name="two")
    assert (sums(tmp_path)["responses"], sums(tmp_path)["tokens"]) == (6, 6_900)


def test_equal_replies_of_two_requests_are_two_responses(tmp_path: Path) -> None:
    lines = [
        line
        for second, request in ((0, "r1"), (2, "r2"))
        for line in (
            said(second),
            replied(second + 1, counts(100, 10), name="x", requestId=request),
        )
    ]
    assert sums(written(tmp_path, *lines))["responses"] == 2


def test_lines_of_one_request_are_one_response_without_a_message_id(
    tmp_path: Path,
) -> None:
    first = replied(5, counts(100, 1), "a", name=None, stop=None, requestId="r1")
    second = replied(6, counts(100, 9), "b", name=None, requestId="r1")
    third = replied(25, counts(200, 9), "c", name=None, requestId="r2")
    row = sums(written(tmp_path, said(0), first, second, said(20), third))
    assert (row["responses"], row["tokens"]) == (2, 318)


def test_a_last_line_with_nothing_takes_nothing_away(tmp_path: Path) -> None:
    first = replied(5, counts(5_000, 1), "a", name="m", stop=None)
    last = replied(6, counts(0, 30), "b", name="m")
    row = sums(written(tmp_path, said(0), first, last))
    assert row["tokens"] == 5_030


def test_of_two_copies_the_fuller_one_counts(tmp_path: Path) -> None:
    torn = [
        said(0),
        replied(5, counts(100, 1), "a", name="m", stop=None, requestId="r"),
    ]
    rest = replied(9, counts(100, 900), "b", name="m", requestId="r")
    written(tmp_path, *torn, name="a")
    written(tmp_path, *torn, rest, name="b")
    row = sums(tmp_path)
    assert (row["responses"], row["where"]["answers"]) == (1, 900)


def without(*fields: str) -> Any:
    """Return a function that copies lines without these fields."""
    return lambda lines: [
        {name: value for name, value in line.items() if name not in fields}
        for line in lines
    ]


def audited(lines: list[Line]) -> list[Line]:
    """Copy lines as Cowork's audit.jsonl has them."""
    names = {"timestamp": "_audit_timestamp", "requestId": "request_id"}
    return [
        {names.get(name, name): value for name, value in line.items()} for line in lines
    ]


def streamed(lines: list[Line]) -> list[Line]:
    """Copy lines as stream-json has them."""
    marked = [{**line, "parent_tool_use_id": None} for line in lines]
    return without("timestamp", "requestId", "uuid")(marked)


def unthought(lines: list[Line]) -> list[Line]:
    """Copy lines but for those that think."""
    return [line for line in lines if "thinking" not in str(line)]


@pytest.mark.parametrize(
    "copy", [without("requestId"), audited, streamed, unthought, list]
)
def test_a_copy_counts_once_whatever_it_lacks(copy: Any, tmp_path: Path) -> None:
    thought = [{"type": "thinking", "thinking": "Hm.", "signature": "x"}]
    lines = [
        said(0),
        replied(2, counts(1_000, 9), thought, name="m1", stop=None, requestId="r1"),
        replied(3, counts(1_000, 200), "Yes.", name="m1", requestId="r1"),
        said(10, "And then?"),
        replied(12, counts(300, 100, 1_000), "No.", name="m2", requestId="r2"),
    ]
    alone = sums(written(tmp_path, *lines, name="z"))
    more = replied(22, counts(50, 5, 1_300), name="m3", requestId="r3")
    written(tmp_path, *copy(lines), said(20), more, name="a")
    both = sums(tmp_path)
    assert both["responses"] == alone["responses"] + 1 == 3
    assert both["tokens"] == alone["tokens"] + 1_355
    assert [row["day"] for row in both["report"]["days"]] == ["2026-01-01"]


def test_a_session_keeps_what_a_subagent_begins_with(tmp_path: Path) -> None:
    lines = [said(0), replied(2, counts(1_000, 200), name="m1", requestId="r1")]
    written(tmp_path, *lines)
    aside = [said(9), replied(10, counts(50, 30), name="m2", requestId="r2")]
    copied = [{**line, "isSidechain": True} for line in (*lines, *aside)]
    written(tmp_path / "s" / "subagents", *copied, name="agent-1")
    kinds = sums(tmp_path)["report"]["kinds"]
    tokens = {row["kind"]: row["tokens"] for row in kinds}
    assert tokens == {"session": 1_200, "subagent": 80}


def test_a_subagent_in_a_saved_stream_is_a_conversation_beside_it(
    tmp_path: Path,
) -> None:
    lines = streamed([
        said(0), replied(2, counts(20_000, 200)),
        said(3), replied(4, counts(5_000, 50)),
        said(5), replied(6, counts(300, 100, 20_000)),
    ])  # fmt: skip
    for line in lines[2:4]:
        line["parent_tool_use_id"] = "T1"
    row = sums(written(tmp_path, *lines))
    kinds = {each["kind"]: each["responses"] for each in row["report"]["kinds"]}
    assert kinds == {"session": 2, "subagent": 1}
    assert not row["report"].get("events")
    assert [each["day"] for each in row["report"]["days"]] == [""]


# -- counts ----------------------------------------------------------------------------


@pytest.mark.parametrize("usage", [None, {}, counts(), {"input_tokens": None}])
def test_a_session_without_counts_is_there_and_says_so(
    tmp_path: Path, usage: Line | None
) -> None:
    written(tmp_path, said(0), replied(5, usage), name="bare")
    alone = sums(tmp_path)
    assert (alone["sessions"], alone["responses"], alone["tokens"]) == (1, 1, 0)
    assert alone["notes"] == {UNCOUNTED: 1}
    written(tmp_path, said(0), replied(6, counts(1_000, 100)), name="good")
    both = sums(tmp_path)
    assert (both["sessions"], both["responses"]) == (2, 2)
    assert both["dollars"] == pytest.approx(0.006)


def test_what_the_model_did_not_write_is_no_answer_of_its(tmp_path: Path) -> None:
    advice = {"type": "advisor_tool_result", "content": {"text": "word " * 9_000}}
    found = {"type": "web_search_tool_result", "content": [{"text": "x" * 9_000}]}
    own = {"type": "text", "text": "word " * 400}
    final = replied(5, counts(10, 491), [own, advice, found])
    begun = replied(25, counts(10, 1), [own, advice, found], stop=None)
    row = sums(written(tmp_path, said(0), final, said(20), begun))
    assert row["where"]["answers"] == 491 + 570  # 2,000 characters x 0.285
    assert row["notes"] == {ESTIMATED: 1}


def test_a_final_count_stays_however_small(tmp_path: Path) -> None:
    row = sums(written(tmp_path, said(0), replied(5, counts(10, 60), "=" * 2_000)))
    assert row["where"]["answers"] == 60


# -- prices ----------------------------------------------------------------------------


def test_dollars_of_a_file_count_where_the_list_has_none(tmp_path: Path) -> None:
    stated = replied(5, counts(1_000, 100), model="house-model", costUSD=0.0045)
    listed = replied(25, counts(1_000, 100), costUSD=7.0)
    row = sums(written(tmp_path, said(0), stated, said(20), listed))
    assert row["dollars"] == pytest.approx(0.0045 + 0.006)
    assert row["notes"] == {STATED: 1}


def test_what_is_not_priced_is_counted_where_the_copies_are_not(tmp_path: Path) -> None:
    odd = {**counts(1_000, 100), "service_tier": "priority", "speed": "fast"}
    odd |= {"server_tool_use": {"web_search_requests": 4}}
    lines = [said(0), replied(5, odd, model="claude-haiku-4-5", requestId="r")]
    written(tmp_path, *lines, name="a")
    written(tmp_path, *lines, name="b")
    numbers = {
        each["what"]: each["number"] for each in sums(tmp_path)["report"]["not priced"]
    }
    assert sorted(numbers.values()) == [1, 1, 4]


def test_a_price_of_ones_own_counts_in_place_of_the_lists(tmp_path: Path) -> None:
    other = replied(25, counts(1_000, 100), model="house-model")
    path = written(tmp_path, said(0), replied(5, counts(1_000, 100)), said(20), other)
    prices = [("house-model", "1,10"), (OPUS, "2,10")]
    assert sums(path, prices=prices)["dollars"] == pytest.approx(0.002 + 0.003)
    assert sums(path)["dollars"] == pytest.approx(0.006)


# -- the tree --------------------------------------------------------------------------


def test_a_second_compaction_that_copies_the_old_lines_is_no_rewind(
    tmp_path: Path,
) -> None:
    first = [said(0), replied(5, counts(9, 9)), said(10), replied(15, counts(9, 9))]
    for line, parent in zip(first, (None, "u0", "a5", "u10"), strict=True):
        line["parentUuid"] = parent

    def compacted(second: int, before: str) -> list[Line]:
        line = {"type": "system", "subtype": "compact_boundary", "uuid": f"b{second}"}
        line |= {"timestamp": at(second), "compactMetadata": {"trigger": "manual"}}
        line |= {"parentUuid": None, "logicalParentUuid": before}
        summary = said(second + 1, "Short.", isCompactSummary=True)
        return [line, {**summary, "parentUuid": line["uuid"]}]

    second = [
        *compacted(20, "a15"),
        said(30, parentUuid="u21"),
        replied(35, counts(9, 9), parentUuid="u30"),
    ]
    hook: Line = {"type": "system", "subtype": "stop_hook_summary", "uuid": "h"}
    hook |= {"parentUuid": "a15", "timestamp": at(36)}
    third = [*compacted(40, "h"), said(50, parentUuid="u41")]
    third.append(replied(55, counts(9, 9), parentUuid="u50"))
    path = written(tmp_path, *first, *second, *first, hook, *third)
    assert (sums(path)["responses"], sums(path)["notes"]) == (4, {})
    assert len(sessions.load(path).compactions) == 2


def test_a_boundary_whose_summary_is_missing_is_a_compaction(tmp_path: Path) -> None:
    bare = {"type": "system", "subtype": "compact_boundary", "uuid": "b"}
    bare |= {"timestamp": at(10), "compactMetadata": {"preTokens": 20_010}}
    lines = [said(0), replied(5, counts(20_000, 9)), bare]
    path = written(tmp_path, *lines, said(20), replied(25, counts(9_000, 9)))
    assert len(sessions.load(path).compactions) == 1
    assert [row["gone"] for row in responses(sessions.load(path))] == [0, 0]


# -- other places of conversations -----------------------------------------------------


def test_a_subagent_in_the_sessions_own_file_is_paid_and_named(tmp_path: Path) -> None:
    side = [
        said(2, isSidechain=True),
        replied(3, counts(9_000, 900), isSidechain=True, requestId="r"),
    ]
    path = written(tmp_path, said(0), replied(1, counts(100, 10)), *side)
    row = sums(path)
    assert (row["responses"], row["tokens"]) == (2, 10_010)
    kinds = {each["kind"]: each["responses"] for each in row["report"]["kinds"]}
    assert kinds == {"session": 1, "subagent": 1}
    written(tmp_path, *side, name="s/subagents/agent-1")
    assert sums(tmp_path)["responses"] == 2


def test_files_of_a_workflow_belong_to_the_project_and_its_journal_is_no_session(
    tmp_path: Path,
) -> None:
    shop = tmp_path / "-shop"
    written(shop, said(0), replied(5, counts(100, 10)), name="s")
    lines = [
        said(1, isSidechain=True),
        replied(6, counts(100, 10), isSidechain=True),
    ]
    written(shop, *lines, name="s/subagents/workflows/wf_1/agent-1")
    written(shop, {"step": 1}, name="s/subagents/workflows/wf_1/journal")
    report = sums(tmp_path)["report"]
    assert report["unread"] == []
    assert [each["project"] for each in report["projects"]] == ["-shop"]
