"""The judge: bad engines are named with their line and case, good ones compared with
care."""

import csv
import json
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given

from agentlib import pipeline, presets
from agentlib.settings import MODEL, Settings
from agentlib.transcripts import Session
from offline_api import violation
from tests import bad_engines as bad
from tests.strategies import histories
from windtunnel import engines, judge
from windtunnel.__main__ import main
from windtunnel.judge import MINE, WHOLE, Verdict, field_of, stored
from windtunnel.judge.protocol import broken, conversation, fault, refusal
from windtunnel.judge.shown import lines, page
from windtunnel.judge.spreads import (
    EQUAL,
    Spread,
    alike,
    beats,
    compared,
    front,
    spread,
)
from windtunnel.tasks.generated import FIELD, NARROW, generated

CHEAPER_ONLY = "cheaper; kept not to be told apart"

# -- the protocol ----------------------------------------------------------------------


@given(histories())
def test_the_rules_read_once_more_agree_with_the_agents(history):
    for messages in (history, history[1:], history[:-1], [*history, *history[1:2]]):
        assert bool(refusal(messages)) == bool(violation(messages)), refusal(messages)


def first_fault(engine):
    """What `broken` finds, before the case is shrunk."""
    faults = (fault(engine, conversation(seed), 0.2) for seed in range(8))
    return next(filter(None, faults))


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (bad.last_ten, "call and result are not together: toolu_"),
        (bad.clears_in_place, "`clears_in_place` edits the messages"),
        (bad.clears_everything, "hasn't seen is lost or changed: toolu_"),
        (bad.keeps_too_much, "raised IndexError"),
        (bad.of_the_old_protocol, "`def of_the_old_protocol(now):`"),
        (bad.loops, "took more than 0.2 s in line"),
        (bad.divides, "raised ZeroDivisionError('division by zero') in line"),
        (bad.a_list, "`a_list` returned ["),
        (bad.leaves, "`leaves` raised SystemExit(0) in line"),
        (max, "<built-in function max> raised TypeError"),
    ],
)
def test_a_bad_engine_is_named_with_what_it_breaks(engine, words):
    assert words in first_fault(engine)


def test_an_engine_that_ignores_the_persons_wish_is_named():
    what = broken(lambda now: replace(now, reason="auto").compact(), cases=2)["what"]
    assert what.startswith("it ignores now.reason")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"micro": "off"},
        {"clear_when": "always"},
        {"keep_exchanges": 9, "tail_tokens": None},
    ],
    ids=str,
)
def test_a_rule_of_its_own_ignores_nothing(changes):
    assert broken(lambda now: now.compact(**changes), cases=2) == {}


class Counted:
    """An engine that is an object."""

    def __call__(self, now):
        return len(now.messages)


def test_an_engine_may_be_any_callable():
    def changed(now, keep):
        return now.compact(keep_recent=keep)

    assert broken(partial(changed, keep=1), cases=2) == {}
    assert (
        "`changed` raised ValueError"
        in broken(partial(changed, keep="1"), cases=2)["what"]
    )
    words = "`Counted` returned 1 (return a Step, as now.compact() does) in line"
    assert words in broken(Counted(), cases=1)["what"]


def test_a_case_is_shrunk_to_what_breaks_it():
    case = broken(bad.clears_everything)
    assert case["what"].startswith("request 2:")
    assert len(case["case"]) == 1
    assert len(conversation(case["seed"])) >= 8
    dropped = broken(bad.last_ten)
    assert 4 <= len(dropped["case"]) <= 9


def test_a_summary_without_the_persons_request_is_noticed():
    def without_words(now):
        step = now.compact()
        if step.summary is None:
            return step
        summary = {**step.summary, "content": step.summary["content"][:1]}
        return replace(step, summary=summary)

    assert "last words are lost: " in first_fault(without_words)


def test_the_conversations_are_compacted_several_times_and_the_pipeline_passes():
    counts = []

    def counted(now):
        step = now.compact()
        counts.append(step.compaction is not None)
        return step

    assert all(fault(counted, conversation(seed)) == "" for seed in range(6))
    assert sum(counts) >= 12


# -- the whole -------------------------------------------------------------------------

SEEDS = (100, 103)


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return judge.judge(pipeline.compact, seeds=SEEDS, cases=3)


def test_the_pipeline_passes_and_stands_where_default_stands(verdict):
    assert verdict.protocol == verdict.faults == {}
    assert verdict.passes()
    assert verdict.passes("hermes")
    table = verdict.standing
    assert table.loc[MINE, "cost"] == table.loc["default", "cost"]
    assert table.loc["default", "yours is"] == EQUAL
    assert table.loc[WHOLE, "cost"] == 100
    assert {*engines.ALL} < {*table.index}


def test_its_rows_are_the_stored_ones(verdict):
    rows = [
        row for row in stored() if row["engine"] == "default" and row["seed"] in SEEDS
    ]
    assert [{**row, "engine": MINE} for row in rows] == verdict.rows


def test_json_page_and_picture_hold_it(verdict, tmp_path):
    record = json.loads(json.dumps(verdict.as_dict()))
    assert [row["seed"] for row in record["rows"]] == [*SEEDS]
    assert verdict.passes(record["rows"])
    text = page(verdict, True)
    assert "<script" not in text
    assert "data:image/png;base64," in text
    assert EQUAL.capitalize() in text


def test_a_dearer_engine_does_not_pass_against_an_earlier_verdict(verdict):
    worse = [{**row, "dollars": 2 * row["dollars"]} for row in verdict.rows]
    assert not replace(verdict, rows=worse).passes(verdict.rows)
    assert verdict.passes(worse)
    with pytest.raises(ValueError, match="other tasks"):
        verdict.passes(verdict.rows[:1])


def test_what_breaks_in_a_task_is_named_and_the_rest_goes_on():
    def sometimes(now):
        if generated(102).rule in str(now.messages[:1]):
            raise KeyError("rule")
        return now.compact()

    verdict = judge.judge(sometimes, seeds=[102, 103], cases=3)
    assert verdict.protocol == {}
    assert "raised KeyError('rule') in line" in verdict.faults["task 102"]
    assert [row["seed"] for row in verdict.rows] == [103]
    assert not verdict.passes()


def test_an_engine_that_never_compacts_fails_its_tasks():
    found = judge.judge(bad.compacts_never, seeds=[101], cases=3)
    assert "now.reason" in found.protocol["what"]
    assert "prompt is too long" in found.faults["task 101"]


def test_recorded_sessions_are_replayed_beside_the_default(tmp_path):
    needs, faults = judge.replayed(
        bad.compacts_never, [a_recording(tmp_path)], MODEL, 1.0
    )
    assert faults == {}
    assert [row["engine"] for row in needs] == [MINE, "default"]
    assert needs[0]["need"] == 0
    assert all(row["dollars"] > 0 for row in needs)
    _, faults = judge.replayed(
        bad.a_list, [a_recording(tmp_path), tmp_path / "none"], MODEL, 1.0
    )
    assert len(faults) == 2


def a_recording(folder):
    path = folder / "s.jsonl"
    if not path.exists():
        session = Session.create(folder, settings=Settings(), session_id="s")
        for number, words in enumerate(("Read a.py.", "And b.py.")):
            session.say(words, at=float(number))
            reply = {
                "content": [{"type": "text", "text": "Read."}],
                "usage": {"input_tokens": 900},
            }
            session.reply(reply, at=float(number))
    return path


# -- spreads ---------------------------------------------------------------------------


def at(cost: float, kept: float, wide: float = 2.0) -> Spread:
    return Spread(
        {}, (cost, cost - wide, cost + wide), (kept, kept - wide, kept + wide)
    )


def test_overlapping_spreads_are_called_equal_and_beat_nobody():
    a = at(50, 90)
    b = at(53, 88)
    assert compared(a, b) == EQUAL
    assert not beats(a, b)
    assert compared(a, at(60, 90)) == CHEAPER_ONLY
    assert compared(at(60, 99), a) == "more expensive; keeps more"
    assert beats(a, at(60, 90))
    assert not beats(at(40, 50), a)


def test_in_another_window_it_stands_beside_the_presets():
    verdict = judge.judge("spilled", seeds=[114], window=24_000, cases=3, jobs=1)
    assert {*verdict.standing.index} == {WHOLE, "spilled", *presets.ALL}
    assert verdict.rows[0]["compactions"] == 0


def test_the_front_is_what_nobody_beats_in_both_means():
    field = {"a": at(50, 80), "b": at(60, 70), "c": at(70, 90), "d": at(70, 85)}
    assert front(field) == ["a", "c"]


def test_a_spread_is_wider_with_fewer_tasks():
    rows = [dict.fromkeys(judge.spreads.MEASURES, n % 2) for n in range(40)]
    few = spread(rows[:4]).kept
    many = spread(rows).kept
    assert few[0] == many[0] == 0.5
    assert few[2] - few[1] > 2 * (many[2] - many[1])


# -- the terminal ----------------------------------------------------------------------


def run(engine, *arguments):
    with pytest.raises(SystemExit) as end:
        main([engine, "--seeds", "100", "--jobs", "1", *arguments])
    return end.value.code


def test_it_is_a_gate_for_ci_and_keeps_what_an_engine_prints_out_of_the_verdict(
    tmp_path, capsys
):
    prints = "tests.bad_engines:prints"
    assert run(prints, "--at-least", "hermes", "--json") == 0
    printed = capsys.readouterr()
    assert "Here I am." in printed.err
    record = json.loads(printed.out)
    assert record["name"] == prints
    assert record["passes"]
    for row in record["rows"]:
        row["dollars"] /= 2
    before = tmp_path / "before.json"
    before.write_text(json.dumps(record), encoding="utf-8")
    html = tmp_path / "v.html"
    assert run(prints, "--at-least", str(before), "--html", str(html)) == 1
    assert "does not pass" in capsys.readouterr().out
    assert html.is_file()


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere:compact"],
        ["os:nothing"],
        ["os:sep"],
        ["a:b", "--seeds", "x"],
        ["a:b", "--seeds", "5-1"],
        ["a", "--jobs", "-1"],
        [
            "tests.bad_engines:prints",
            "--at-least",
            str(FIELD.parents[3] / "agentlib/api/prices.json"),
        ],
    ],
)
def test_a_wrong_argument_is_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_stored_field_is_clear_about_the_ends():
    """Evidence for what lessons say: a bare window loses the rule, the tail's update
    keeps it."""
    spreads = field_of().spreads
    assert beats(spreads["default"], spreads["learn-claude-code"])
    assert beats(spreads["default"], spreads["fresh_window"])
    assert front(spreads)[-1] == WHOLE
    assert compared(spreads["spilled"], spreads["default"]) == CHEAPER_ONLY
    equal = [
        name
        for name in engines.ALL
        if compared(spreads[name], spreads["default"]) == EQUAL
    ]
    assert len(equal) > len(engines.ALL) / 2


def test_a_narrow_window_turns_the_order_round():
    rows = list(csv.DictReader(NARROW.read_text(encoding="utf-8").splitlines()))
    rules = {
        engine: [int(row["rule"]) for row in rows if row["engine"] == engine]
        for engine in ("default", "spilled")
    }
    assert (sum(rules["default"]), sum(rules["spilled"])) == (20, 5)


def test_engines_that_no_task_tells_from_default_have_no_dot_but_a_name_below():
    verdict = field_of("default")
    silent = alike(verdict.spreads)
    assert {"plan_put_back", "second_model"} <= {*silent}
    assert "spilled" not in silent
    chart = verdict.picture()
    [axes] = chart.figure.axes
    dots = " ".join(text.get_text() for text in axes.texts)
    below = " ".join(text.get_text() for text in chart.figure.texts)
    assert "plan put back" not in dots
    assert "plan put back" in " ".join(below.split())


def test_a_name_given_to_at_least_is_compared_task_by_task():
    verdict = field_of("cleared_by_tokens")
    words = [line for line in lines(verdict, True, "hermes") if "task by task" in line]
    assert len(words) == 2
    assert all("of 20" in line for line in words)
    earlier = [{**row, "kept": 0.0} for row in verdict.rows]
    [kept] = [line for line in lines(verdict, True, earlier) if ": kept" in line]
    assert "less in 0" in kept
    assert not any("task by task" in line for line in lines(verdict, True))
