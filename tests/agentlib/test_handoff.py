"""The hand-off: what it is asked for on, in which words, how long, by whom, and who
obeys it."""

import contextlib
import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.auto_compact import SummaryFailed, summary_message
from agentlib.compaction.around import Hooks, hooked
from agentlib.estimation import message_tokens
from agentlib.head_and_tail import handoff_prompt, head_and_tail, summary_budget
from agentlib.loop import run
from agentlib.messages import asks_for_summary, is_summary, of_type
from agentlib.presets import HERMES
from agentlib.recovery import truncating
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from offline_api import client, violation
from offline_api.model import Habits, reply
from tests.builders import assistant, conversation, reading, thinking, user
from tests.fakes import asks_for_summary as is_summary_call
from tests.fakes import worker
from tests.runs import SMALL, a_session, a_workspace, go
from tests.strategies import histories, results_of, short
from windtunnel.tasks.scenarios import REVIEW, Clock

ENDS = Settings(head_tokens=500, tail_tokens=900, summary_tokens=5_000)
EACH = sum(map(message_tokens, reading(0)))


def asked_for(messages, focus="", **more):
    """What the summary was written from."""
    asked = []

    def summarize(shown, focus):
        asked.extend([list(shown), focus])
        return "Did it."

    head_and_tail(
        messages, summarize, lambda: "t.jsonl", replace(ENDS, **more), focus=focus
    )
    return asked


def test_the_summary_is_asked_for_on_the_head_and_the_trimmed_middle():
    messages = conversation(8, size=3_000)
    shown, focus = asked_for(
        messages, focus="rules", head_tokens=1_200, tail_tokens=1_200
    )
    assert focus == "rules"
    assert asks_for_summary(shown)
    assert shown[:3] == messages[:3]
    assert [m["role"] for m in shown[3:]] == ["assistant", "user"] * 6 + ["user"]
    texts = [r["content"] for r in results_of(shown[3:]).values()]
    assert {len(t) for t in texts} == {
        1_600 + len("\n\n[... 1400 characters trimmed ...]\n\n")
    }
    assert violation(shown) is None


def test_thinking_after_a_trimmed_result_is_not_shown():
    thought = [
        m
        for n in range(8)
        for called, answer in [reading(n, size=3_000)]
        for m in (assistant(thinking(), *called["content"]), answer)
    ]
    shown, _ = asked_for([user("Go."), *thought], head_tokens=1_300, tail_tokens=1_200)
    assert [len(of_type(m, "thinking")) for m in shown if m["role"] == "assistant"] == [
        1,
        1,
        *[0] * 5,
    ]


def test_the_first_summary_is_written_and_the_next_ones_are_updated():
    first = head_and_tail(conversation(8), short, lambda: "t.jsonl", ENDS)
    shown, _ = asked_for([*first, *(m for n in range(8, 14) for m in reading(n))])
    assert is_summary(shown[3]["content"][0])
    assert "Update it" in shown[-1]["content"]
    assert "Update it" not in asked_for(conversation(8))[0][-1]["content"]


def test_the_length_asked_for_is_in_proportion_to_what_is_replaced():
    def asked(exchanges):
        prompt = asked_for(conversation(exchanges))[0][-1]["content"]
        return int(re.findall(r"at most ([\d,]+) tokens", prompt)[0].replace(",", ""))

    assert asked(8) == int(5 * EACH / 5)  # 8, less one in the head and two in the tail
    assert asked(13) == int(10 * EACH / 5)


@given(st.floats(0, 2e6), st.floats(0, 2e6), st.integers(1, 20_000))
def test_the_budget_never_falls_and_is_at_most_what_was_set(one, other, most):
    less, more = sorted([one, other])
    assert summary_budget(less, most) <= summary_budget(more, most) <= most
    assert summary_budget(more, most) <= max(1, more / 5)


@given(
    histories(min_size=1),
    st.sampled_from([0, 30, 400]),
    st.sampled_from([None, 0, 600, 16_000]),
)
def test_what_the_summary_is_written_from_breaks_no_rule(history, head, tail):
    def summarize(shown, focus):
        assert violation(shown) is None
        assert asks_for_summary(shown)
        return "Did it."

    before = copy.deepcopy(history)
    with contextlib.suppress(SummaryFailed):
        ends = replace(
            ENDS, head_tokens=head, tail_tokens=tail, trim_over=300, trim_keep=90
        )
        head_and_tail(history, summarize, lambda: "t", ends)
    assert history == before


# -- who is asked ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("summary_model", "models"),
    [
        ("same", ["claude-one", "claude-two"]),
        ("auto", ["claude-one", "claude-two"]),
        ("claude-small", ["claude-small", "claude-small"]),
    ],
)
def test_the_model_that_the_session_runs_with_now_is_asked_or_the_one_set(
    summary_model, models, tmp_path
):
    settings = replace(
        SMALL, head_tokens=200, tail_tokens=800, summary_model=summary_model
    )
    session = a_session(tmp_path, settings)
    asked = []
    for n, model in enumerate(["claude-one", "claude-two"]):
        seen = []
        workspace = a_workspace(tmp_path / str(n))
        brain = worker(6, name=f"toolu_{n}")
        go(brain, workspace, session, seen=seen, settings=settings, model=model)
        asked += {body["model"] for body in seen if is_summary_call(body)}
        assert {body["model"] for body in seen if not is_summary_call(body)} == {model}
    assert asked == models


def test_if_the_model_for_summaries_gives_none_the_sessions_own_is_asked(tmp_path):
    settings = replace(SMALL, summary_model="claude-small")
    seen = []
    brain = worker(6)

    def silent(body):
        gives_none = is_summary_call(body) and body["model"] == "claude-small"
        return brain(body) | ({"content": []} if gives_none else {})

    session = a_session(tmp_path, settings)
    go(
        silent,
        a_workspace(tmp_path),
        session,
        seen=seen,
        settings=settings,
        model="claude-one",
    )
    asked = [body["model"] for body in seen if is_summary_call(body)]
    assert asked == ["claude-small", "claude-one"] * len(session.compactions)
    assert session.compactions
    assert {each.failure for each in session.compactions} == {None}


# -- who obeys it ----------------------------------------------------------------------

QUESTION = "Where is `LIMIT` set? Follow it through the files."
HANDED_OVER = f"""\
## Task context
- [task] Read every Python file one by one
## Pending questions
- [request] {QUESTION}
## Remaining work
- [progress] 1 files done | 0 repeats"""
READS = user("Read every Python file one by one")
TOOLS = [{"name": name} for name in ("bash", "read_file", "write_file", "edit_file")]


def first_call(*messages: Any) -> str:
    said = reply({"messages": list(messages), "tools": TOOLS})
    return str(next(b["input"] for b in said["content"] if b["type"] == "tool_use"))


def handed(
    reference_only: bool, text: str = HANDED_OVER, carried: str | None = None
) -> Any:
    return summary_message(text, "t", carried, reference_only=reference_only)


def test_the_offline_model_obeys_a_question_in_a_summary_that_does_not_say_it_is_none():
    assert "LIMIT" in first_call(READS, handed(False))
    assert "LIMIT" in first_call(
        handed(False, carried="Read every Python file one by one")
    )
    assert "LIMIT" not in first_call(READS, handed(True))


def test_only_a_list_of_pending_questions_is_obeyed():
    told = HANDED_OVER.replace("## Pending questions\n", "")
    assert "LIMIT" not in first_call(READS, handed(False, told))


@pytest.mark.parametrize(
    ("heading", "obeyed"),
    [
        ("Open questions", True),
        ("Earlier questions", False),
        ("Historical Pending User Asks", False),
    ],
)
def test_a_question_is_obeyed_only_under_a_heading_that_reads_like_a_command(
    heading, obeyed
):
    told = HANDED_OVER.replace("Pending questions", heading)
    told = told.replace("## Remaining work", "## Progress notes")
    assert ("LIMIT" in first_call(READS, handed(False, told))) == obeyed


def test_a_model_that_overlooks_the_note_obeys_the_heading():
    body = {"messages": [READS, handed(True)], "tools": TOOLS}
    assert "LIMIT" in str(reply(body, Habits(heeds_notes=False))["content"])
    assert "LIMIT" not in str(reply(body)["content"])


def test_a_question_that_was_answered_since_is_not_answered_again():
    answer = assistant(
        "- [set] LIMIT | a.py | 3 | 12\n`LIMIT` is 12, set through 1 files."
    )
    assert "LIMIT" not in first_call(READS, handed(False), answer, READS)


def summed_up(
    *messages: Any, update: bool = False, tokens: int = 400, focus: str = ""
) -> str:
    prompt = user(handoff_prompt(tokens, focus, update=update))
    body = {"messages": [*messages, prompt], "tools": TOOLS, "max_tokens": 4_000}
    return reply(body)["content"][0]["text"]


def section(summary: str, heading: str) -> str:
    return summary.partition(f"## {heading}\n")[2].partition("\n\n")[0]


def test_a_question_left_open_is_handed_over_as_one_and_an_answered_one_is_not():
    left = summed_up(user(QUESTION), READS, *reading(0), *reading(1, size=9_000))
    assert QUESTION in section(left, "Earlier questions")
    assert QUESTION not in section(left, "Task context")
    told = [user(QUESTION), assistant("`LIMIT` is 12."), READS, *reading(1, size=9_000)]
    assert QUESTION in section(summed_up(*told), "Task context")
    assert QUESTION not in section(summed_up(*told), "Earlier questions")


def noted(first: int, last: int) -> Any:
    facts = "\n".join(
        f"- [fact] FACT: number {n} is value {n * n}." for n in range(first, last)
    )
    return assistant(f"- [file] f{first}.py | 9 lines | Values.\n{facts}")


def test_an_update_carries_over_the_facts_of_before_and_a_new_summary_the_newest():
    before = handed(
        True,
        "## Decisions resolved\n- [fact] FACT: the first is 1.\n- [fact] FACT: so is 2.",
    )
    told = [READS, before, noted(0, 60), user("Go on.")]
    for update in (True, False):
        text = section(
            summed_up(*told, update=update, tokens=200), "Decisions resolved"
        )
        assert ("FACT: the first is 1." in text) == update
        assert "number 59" in text


def test_the_focus_gets_its_share_and_leaves_the_rest_its_own():
    told = [READS, noted(0, 60), user("Go on.")]
    focused = summed_up(*told, tokens=300, focus="value")
    assert 5 <= focused.count("FACT") < 20
    assert len(focused) / 3.5 <= 300
    assert "[file] f0.py" in focused


@pytest.mark.parametrize(
    ("reference_only", "kind"),
    [(True, "Pending"), (False, "Pending"), (False, "Earlier")],
)
def test_a_stale_question_is_answered_if_neither_note_nor_heading_makes_it_harmless(
    reference_only, kind, tmp_path: Path, monkeypatch
):
    def prompt(*given: Any, **more: Any) -> str:
        return handoff_prompt(*given, **more).replace("Earlier", kind)

    monkeypatch.setattr("agentlib.head_and_tail.handoff_prompt", prompt)
    harmless = reference_only or kind == "Earlier"
    settings = replace(HERMES.scaled(32_000), reference_only=reference_only)
    work = tmp_path / "work"
    clock = Clock()
    work.mkdir()
    REVIEW.make_workspace(work)
    session = Session.create(tmp_path, settings=settings, session_id="s", clock=clock)
    api = client(window=32_000, clock=clock)
    same: dict[str, Any] = {"settings": settings, "session": session, "clock": clock}
    asked = "Where is `EF_ARM_ABIMASK` set? Follow it through the files."
    list(
        run(api, asked, Workspace(work), max_turns=1, **same)
    )  # broken off: never answered
    turns = list(run(api, REVIEW.prompts[1], Workspace(work), max_turns=60, **same))
    assert (work / "REPORT.md").is_file() == harmless
    assert ("`EF_ARM_ABIMASK` is" in str(turns[-1].messages)) != harmless
    assert any(turn.step.compaction for turn in turns)


# -- what stands beside a summary ------------------------------------------------------


def test_neither_a_hook_nor_a_stand_in_repeats_what_stays_beside_the_summary():
    plan = [assistant(f"Step {n:02} done. {'x' * 900}") for n in range(12)]
    messages = [m for each in plan for m in (user("Go on."), each)]
    ends = replace(ENDS, head_tokens=0, tail_tokens=1_500)
    given = list[Any]()
    restored = Hooks(restore=(lambda replaced: given.append(replaced) or [],))
    for summarize in (hooked(short, restored, 100), truncating("no model", 5_000)):
        view = head_and_tail([*messages, user("Go on.")], summarize, lambda: "t", ends)
        summary, *tail = view
        assert 4 < len(tail) < len(messages)
        last = next(m for m in tail if m["role"] == "assistant")["content"][0]["text"][
            :12
        ]
        assert last not in str(summary)
    assert given[0] == messages[: len(messages) + 1 - len(tail)]
