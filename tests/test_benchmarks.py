"""The benchmarks in small: estimators beside bills, summaries that fail, presets
compared."""

import json
import re
import runpy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

import session_report as sessions
from agentlib import presets
from agentlib.api.spending import PRICED_AS
from agentlib.presets import CLAUDE_CODE, DEFAULT
from agentlib.settings import Settings
from tests.benchmarks import faults as bench
from tests.benchmarks import fuzz, stress
from tests.benchmarks.compare import (
    as_table,
    compare,
    dominated,
    falls_short,
    measures,
    rows,
    shown,
)
from tests.real_sessions import FILES
from windtunnel.runner import play
from windtunnel.tasks import varied as generated
from windtunnel.tasks.scenarios import TRACE

# -- estimator.py ----------------------------------------------------------------------

COMPACTED = [path for path in FILES if path.stem == "cli-2.1.39-auto-compaction"]
SCRIPT = runpy.run_path(str(Path(__file__).parent / "benchmarks" / "estimator.py"))


def line(kind: str, number: int, content: str, billed: int = 0, **more: object) -> str:
    message = {"id": number, "content": content, "usage": {"input_tokens": billed}}
    return (
        json.dumps({"type": kind, "uuid": f"{number}", "message": message, **more})
        + "\n"
    )


def test_the_table_has_the_error_of_every_response_but_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = line("user", 1, "go") + line("assistant", 2, "x" * 100, 100)
    then = line("user", 3, "y" * 100) + line("assistant", 4, "ok", 160)
    (tmp_path / "a.jsonl").write_text(first + then, encoding="utf-8")
    assert SCRIPT["main"]([str(tmp_path)]) == 0
    *_, row, growth = capsys.readouterr().out.splitlines()
    assert row.split()[:4] == [
        "a",
        "1",
        "1.250",
        "1.250",
    ]  # 100 + 28.5 + 30 are 158 of 160
    assert growth == (
        "The median of 1 turns added 60 tokens, the largest 60. More than 13,000 came 0 times."
    )


def test_the_first_response_after_a_compaction_does_not_count(tmp_path: Path) -> None:
    lines = line("user", 1, "go") + line("assistant", 2, "x" * 100, 100)
    lines += line(
        "system", 3, "", subtype="compact_boundary", compactMetadata={"trigger": "auto"}
    )
    lines += line("user", 4, "what was done", isCompactSummary=True)
    lines += line("assistant", 5, "x" * 100, 900) + line("user", 6, "y" * 100)
    (tmp_path / "a.jsonl").write_text(
        lines + line("assistant", 7, "ok", 960), encoding="utf-8"
    )
    session = sessions.load(tmp_path / "a.jsonl")
    assert [bool(each.message) for each in session.compactions] == [True]
    assert SCRIPT["errors"](session, "anchored") == [
        pytest.approx(2 / 9.6)
    ]  # 900 + 28.5 + 30


@pytest.mark.parametrize("path", COMPACTED, ids=lambda path: path.stem)
def test_the_anchored_estimate_is_within_its_limits_on_the_real_compaction(
    path: Path,
) -> None:
    session = sessions.load(path)
    percents = SCRIPT["errors"](session, "anchored")
    assert SCRIPT["percentile"](percents, 0.5) <= 0.05
    assert SCRIPT["percentile"](percents, 0.95) <= 0.7


# -- faults.py -------------------------------------------------------------------------

SMALL = presets.DEFAULT.scaled(bench.WINDOW)


@pytest.mark.parametrize("kind", bench.KINDS)
def test_whatever_becomes_of_the_summary_a_session_ends_well_and_loses_nothing(kind):
    (played,) = bench.cell(SMALL, kind, 1.0, 1)
    assert (played.completed, played.lost) == (True, 0)
    assert played.outcomes["failed"]
    assert played.outcomes["cut to size"]
    assert not played.outcomes["done"]


def test_a_summary_that_fails_now_and_then_is_made_the_next_time():
    played = bench.cell(SMALL, "empty", 0.5, 3)
    assert all(one.completed and not one.lost for one in played)
    assert sum(one.outcomes["done"] for one in played) >= 3


def test_without_recovery_a_session_would_not_have_ended():
    """That the measure can fail: nothing is compacted, and the window's end is the
    session's."""
    off = replace(SMALL, auto=False)
    (played,) = bench.cell(off, "empty", 1.0, 1)
    assert not played.completed
    assert played.lost == 0


@pytest.mark.parametrize(
    ("name", "completed", "lost", "breaks"),
    [
        ("default", True, 0, False),
        ("default", False, 0, True),
        ("s24", False, 0, False),
        ("s24", True, 1, True),
    ],
)
def test_a_lost_message_breaks_the_promise_and_so_does_defaults_end(
    name, completed, lost, breaks
):
    played = [
        bench.Played(True, 0, Counter()),
        bench.Played(completed, lost, Counter()),
    ]
    assert bench.broken(name, played) == breaks


# -- stress.py -------------------------------------------------------------------------


def ten_blocks(last: float, tokens: int = 20_000) -> list[stress.Block]:
    """The first is slow, because the window fills."""
    seconds = [0.03, *[0.01] * 4, *[last] * 5]
    return [stress.Block(n, each, 30, tokens) for n, each in enumerate(seconds)]


def test_turns_that_take_half_again_as_long_or_do_not_fit_are_a_fault():
    assert stress.faults(ten_blocks(0.0149)) == []
    assert stress.faults(ten_blocks(0.016)) == ["a turn takes 1.6 times as long"]
    [fault] = stress.faults(ten_blocks(0.01, tokens=stress.WINDOW + 1))
    assert "32,001" in fault


# -- compare.py ------------------------------------------------------------------------

NARROW = 10_000
SURVEY = generated.scenario(22)
"""A rule, seven facts and 11,000 tokens when nothing is forgotten."""
TWO = {"default": DEFAULT, "claude-code": CLAUDE_CODE}


@pytest.fixture(scope="module")
def table() -> pandas.DataFrame:
    return compare(TWO, [SURVEY, TRACE], window=NARROW)


def test_tokens_are_billed_once_each_and_dollars_are_the_models(
    table: pandas.DataFrame,
):
    assert list(table.index) == [(s, e) for s in ("survey 22", "trace") for e in TWO]
    row = table.loc[("survey 22", "default")]
    assert row["sent"] == row["uncached"] + row["written"] + row["read"]
    assert row["uncached"] + row["read"] / 20 < row["billed"] < row["sent"]
    run = play(SURVEY, DEFAULT.scaled(NARROW))
    assert row["$"] == pytest.approx(run.dollars(PRICED_AS), abs=1e-4)
    assert row["compactions"] == len(run.session.compactions) == 1


def test_a_run_that_the_api_ends_is_not_done_and_says_why():
    row = measures(SURVEY, Settings(enabled=False).scaled(NARROW))
    assert not row["done"]
    assert "prompt is too long" in row["ended"]
    assert (row["facts"], row["of"], row["rule"]) == (0, 7, False)


def test_pauses_are_kept_and_make_the_cache_cold():
    text = (
        "Read every Python file in this directory one by one.",
        "Rename a_b to c_d everywhere.",
    )
    quick = replace(TRACE, prompts=text, pauses=(0.0, 0.0))
    slow = replace(quick, pauses=(0.0, 4_000.0))
    assert measures(slow, DEFAULT)["written"] > measures(quick, DEFAULT)["written"]


def test_a_comparison_broken_off_loses_one_run_alone():
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
    assert len(list(rows({"default": DEFAULT}, [first]))) == len(made) == 1


ROW = {
    "$": 1.0,
    "done": True,
    "rule": True,
    "facts": 2,
    "described": 3,
    "again": 1,
    "failures": 0,
}


def two(**other: object) -> pandas.DataFrame:
    return as_table(
        [
            {"scenario": "s", "engine": "default", **ROW},
            {"scenario": "s", "engine": "other", **ROW, "$": 0.75, **other},
        ]
    )


def test_dominated_is_cheaper_and_no_worse_in_anything():
    assert dominated(two()) == ["s: by other, 25.0% cheaper and no worse"]
    assert dominated(two(), "other") == []
    for worse in (
        {"$": 1.0},
        {"done": False},
        {"rule": False},
        {"facts": 1},
        {"again": 2},
    ):
        assert dominated(two(**worse)) == [], worse
    for worse in ({"failures": 1}, {"described": 2}):
        assert dominated(two(**worse)) == [], worse


def test_default_falls_short_if_it_keeps_less_than_two_thirds():
    whole = {"files": 3, "of": 2, "rule": True}
    assert falls_short(two().assign(**whole)) == []
    for less in (
        {"described": 1},
        {"facts": 1},
        {"rule": False},
        {"done": False},
    ):
        assert len(falls_short(two().assign(**{**whole, **less}))) == 1, less


def test_what_is_shown_fits_and_says_what_the_table_says(table: pandas.DataFrame):
    text = shown(table, "survey 22")
    assert max(map(len, text.split("\n"))) <= 79
    assert PRICED_AS in text
    row = table.loc[("survey 22", "default")]
    line = next(line for line in text.split("\n") if line.startswith("default"))
    thousands = [f"{row[name] / 1000:.0f}" for name in ("sent",)]
    assert re.split(" +", line)[1:3] == [*thousands, f"{row['$']:.3f}"]
    assert re.split(" +", line)[-3] == f"{row['facts']}/7"
    assert shown(table, "trace").count(" - ") == 4


# -- fuzz.py (test_transcripts runs kills.py) ------------------------------------------


def test_damaged_files_are_read_and_gone_on_with() -> None:
    outcomes = list(fuzz.fuzz(60, seed=1))
    assert [each for each in outcomes if "BROKEN" in each[2]] == []
    assert {outcome for *_, outcome in outcomes} >= {"read", "repaired"}
