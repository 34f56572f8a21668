"""Engines side by side: what the table counts, and where an engine is said to be dominated."""

import re
from dataclasses import replace

import pandas
import pytest

from agentlib.lab import side_by_side
from agentlib.lab.side_by_side import (
    Engine,
    compare,
    dominated,
    generations,
    measures,
    play,
    rows,
    shown,
)
from agentlib.lab.spending import dollars
from agentlib.lab.tasks import generated
from agentlib.lab.tasks.scenarios import TRACE, Scenario
from agentlib.pipeline import compact
from agentlib.presets import CLAUDE_CODE, DEFAULT
from agentlib.settings import Settings
from agentlib.transcripts import Session

WINDOW = 10_000
SURVEY = generated.scenario(22)
"""A rule, seven facts and 11,000 tokens when nothing is forgotten."""
TWO = {"default": DEFAULT, "claude-code": CLAUDE_CODE}
NONE = Engine(settings=Settings(enabled=False).scaled(WINDOW))


@pytest.fixture(scope="module")
def table() -> pandas.DataFrame:
    return compare(TWO, [SURVEY, TRACE], window=WINDOW)


def test_a_row_for_each_task_and_engine_in_their_order(table: pandas.DataFrame):
    assert list(table.index) == [(s, e) for s in ("survey 22", "trace") for e in TWO]


def test_tokens_are_billed_once_each_and_dollars_are_the_models(table: pandas.DataFrame):
    row = table.loc[("survey 22", "default")]
    assert row["sent"] == row["uncached"] + row["written"] + row["read"]
    assert row["uncached"] + row["read"] / 20 < row["billed"] < row["sent"]
    run = play(SURVEY, Engine(settings=DEFAULT.scaled(WINDOW)))
    asked = sum(dollars(usage, side_by_side.PRICED_AS) for usage in run.usages)
    assert row["$"] == pytest.approx(asked, abs=1e-4)
    assert row["compactions"] == len(run.session.compactions) > 0


def test_billed_is_in_tokens_of_plain_input():
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 40, "output_tokens": 9}
    found = side_by_side._bill([{**usage, "cache_read_input_tokens": 200}], "claude-opus-5-5")
    assert found["billed"] == 100 + 40 * 5 / 4 + 200 / 20  # 5.00, 4.00 and 0.20 $ per million
    assert found["sent"] == 340


def test_a_run_that_the_api_ends_is_not_done_and_says_why():
    row = measures(SURVEY, NONE)
    assert not row["done"]
    assert "prompt is too long" in row["ended"]
    assert (row["facts"], row["of"], row["rule"]) == (0, 7, False)


def test_what_was_read_twice_or_recalled_counts_as_fetched_again():
    read = {"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}}
    recall = {"type": "tool_use", "name": "recall", "input": {"tool_use_id": "toolu_1"}}
    calls = [read, {**read, "input": {"path": "b.py"}}, read, recall]
    session = Session(session_id="s", history=[{"role": "assistant", "content": calls}])
    assert side_by_side._again(session) == 2


def test_pauses_are_kept_and_make_the_cache_cold():
    text = ("Read every Python file in this directory one by one.", "Rename a_b to c_d everywhere.")
    quick = replace(TRACE, prompts=text, pauses=(0.0, 0.0))
    slow = replace(quick, pauses=(0.0, 4_000.0))
    engine = Engine(settings=DEFAULT)
    assert measures(slow, engine)["written"] > measures(quick, engine)["written"]


def test_any_engine_of_the_type_takes_part():
    asked: list[str] = []

    def watched(*given, **known):
        asked.append(known["reason"])
        return compact(*given, **known)

    mine = Engine(settings=DEFAULT, compact=watched)
    found = compare({"default": DEFAULT, "mine": mine}, [TRACE], window=WINDOW)
    assert asked
    assert found.loc[("trace", "mine")].equals(found.loc[("trace", "default")])


def test_a_run_broken_off_loses_itself_alone():
    made: list[str] = []

    def counted(folder):
        made.append("made")
        TRACE.make_workspace(folder)

    def broken(folder):
        raise KeyboardInterrupt

    first = replace(TRACE, name="first", make_workspace=counted)
    second = replace(TRACE, name="second", make_workspace=broken)
    with pytest.raises(KeyboardInterrupt):
        compare({"default": DEFAULT}, [first, second])
    assert len(compare({"default": DEFAULT}, [first])) == len(made) == 1


def test_how_far_it_is_can_be_shown():
    passed: list[int] = []

    def track(pairs):
        for number, pair in enumerate(pairs):
            passed.append(number)
            yield pair

    list(rows(TWO, [TRACE], window=WINDOW, track=track))
    assert passed == [0, 1]


ROW = {"$": 1.0, "done": True, "rule": True, "facts": 2, "again": 1, "failures": 0}


def two(**other: object) -> pandas.DataFrame:
    rows = [{"scenario": "s", "engine": "default", **ROW}]
    rows.append({"scenario": "s", "engine": "other", **ROW, "$": 0.75, **other})
    return pandas.DataFrame(rows).set_index(["scenario", "engine"])


def test_dominated_is_cheaper_and_no_worse_in_anything():
    assert dominated(two()) == ["s: by other, 25.0% cheaper and no worse"]
    assert dominated(two(), "other") == []
    for worse in ({"$": 1.0}, {"done": False}, {"rule": False}, {"facts": 1}, {"again": 2}):
        assert dominated(two(**worse)) == [], worse
    assert dominated(two(failures=1)) == []


def test_a_task_without_a_rule_can_be_dominated_too():
    table = two(rule=None)
    table["rule"] = None
    assert dominated(table) == ["s: by other, 25.0% cheaper and no worse"]


def test_what_is_shown_fits_and_says_what_the_table_says(table: pandas.DataFrame):
    text = shown(table, "survey 22")
    assert max(map(len, text.split("\n"))) <= side_by_side.COLUMNS
    assert "claude-opus-5-5" in text
    row = table.loc[("survey 22", "default")]
    line = next(line for line in text.split("\n") if line.startswith("default"))
    assert re.split(" +", line)[1:4] == [
        f"{row['sent'] / 1000:.0f}",
        f"{row['billed'] / 1000:.0f}",
        f"{row['$']:.3f}",
    ]
    assert re.split(" +", line)[-3] == f"{row['facts']}/7"
    assert shown(table, "trace").count(" - ") == 4


def test_facts_are_counted_after_each_generation():
    task: Scenario = generated.chapters(3, count=2)
    large = replace(DEFAULT, summary_tokens=8_000)
    small = replace(DEFAULT, summary_tokens=120, keep_exchanges=0)
    kept = generations(task, Engine(settings=large))
    assert [read for _, read in kept] == [2, 4]
    assert [standing for standing, _ in kept] == [2, 4]
    lost = generations(task, Engine(settings=small))
    assert lost[-1][0] < 4
