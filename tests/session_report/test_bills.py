"""Bills of a replay: the recorded ones as long as it is as recorded, else by the
cache's rules."""

import re
from dataclasses import replace
from random import Random

import pytest
from pandas import DataFrame

from agentlib.api.spending import dollars
from agentlib.estimation import prompt_tokens
from agentlib.presets import CLAUDE_CODE, DEFAULT, HERMES
from agentlib.settings import MODEL, Settings
from course.figures import bills as bills_figure
from offline_api.cache import Bill
from session_report import bills
from session_report.playback import replay
from session_report.policies import KEEPS_ALL
from windtunnel.runner import Run, play
from windtunnel.tasks.generated import generated
from windtunnel.tasks.scenarios import SURVEY, Scenario
from windtunnel.tasks.varied import rename

START = Settings().scaled(32_000)


def run() -> Run:
    return play(SURVEY, replace(START, threshold=12_000))


def simulated(made: Run, settings: Settings) -> list[bills.Billed]:
    """What the rules alone say, the recorded bills left aside."""
    return bills.bills(made.session, replay(made.session, settings))


def sent(billed: list[bills.Billed]) -> float:
    return sum(prompt_tokens(usage) for each in billed for usage in each.usages)


def spent(billed: list[bills.Billed]) -> float:
    return sum(dollars(usage, MODEL) for each in billed for usage in each.usages)


RENAME = rename(Random(2), "rename")
SMALL = replace(CLAUDE_CODE, keep_exchanges=1).scaled(24_000)  # it puts files back
RUNS = {
    "survey": (SURVEY, replace(START, threshold=12_000)),
    "rename": (RENAME, START),
    "a tail": (SURVEY, DEFAULT.scaled(24_000)),
    "a head": (SURVEY, HERMES.scaled(24_000)),
    "files": (SURVEY, SMALL),
}


@pytest.mark.parametrize(("task", "settings"), RUNS.values(), ids=RUNS)
def test_the_rules_alone_come_within_four_percent_of_the_bills(
    task: Scenario, settings: Settings
):
    made = play(task, settings)
    found = simulated(made, made.settings)
    assert spent(found) == pytest.approx(made.dollars(MODEL), rel=0.04)
    assert sent(found) == pytest.approx(made.sent, rel=0.02)


def test_the_recorded_bills_are_left_aside():
    session = run().session
    settings = run().settings
    late = replace(settings, threshold=settings.threshold_tokens + 700)
    frames = replay(session, late)
    assert {frame.billed_from for frame in frames} == {"recorded", "weighed"}
    assert bills.bills(session, frames)[0].usage != session.requests[0].usage


def test_each_prompt_is_billed_whole():
    frames = replay(run().session, replace(START, keep_recent=1))
    for frame, billed in zip(frames, bills.bills(run().session, frames), strict=True):
        assert prompt_tokens(billed.usage) == frame.prompt_tokens
        assert min(n for n in billed.usage.values() if isinstance(n, int)) >= 0


def test_clearing_old_results_costs_what_the_cache_had():
    session = play(RENAME, START).session
    always = bills.bills(session, replay(session, START))
    never = bills.bills(
        session, replay(session, replace(START, micro="off", auto=False))
    )
    assert sent(always) < sent(never)
    assert _read(always) < _read(never)


def _read(billed: list[bills.Billed]) -> float:
    return sum(
        usage["cache_read_input_tokens"] for each in billed for usage in each.usages
    )


def test_an_expired_cache_is_written_again():
    made = play(RENAME, START)
    frames = replay(made.session, replace(START, keep_recent=9))
    warm = bills.bills(made.session, frames)
    cold = bills.bills(
        made.session, frames, ttl=0.5
    )  # a second passes between two requests
    assert _read(cold) < 0.1 * _read(warm)


def test_a_session_that_wrote_for_an_hour_is_billed_so_under_other_settings():
    session = play(RENAME, START).session
    hour = {"cache_creation": {"ephemeral_1h_input_tokens": 1}}
    sent = [replace(each, usage={**each.usage, **hour}) for each in session.requests]
    long = replace(session, requests=sent)
    other = replace(START, keep_recent=9)
    short_bill = bills.bills(session, replay(session, other))[-1].usage
    long_bill = bills.bills(long, replay(long, other))[-1].usage
    assert short_bill["cache_creation"]["ephemeral_1h_input_tokens"] == 0
    written = long_bill["cache_creation_input_tokens"]
    assert long_bill["cache_creation"]["ephemeral_1h_input_tokens"] == written
    assert written == 5_739


def test_each_request_is_drawn_with_its_tokens_and_its_cents():
    usages = [Bill(0, 600, 0).usage(100), Bill(600, 2_000, 0).usage(50)]
    runs = {"one": usages, "two": usages[:1]}
    chart = bills_figure.requests(runs, "claude-opus-5-5", title="Two requests")
    tokens, _, cents, _ = chart.figure.axes
    written = tokens.containers[1]
    assert [round(bar.get_y(), 3) for bar in written] == [0, 0.6]
    assert [round(bar.get_height(), 3) for bar in written] == [0.6, 2]
    assert [text.get_text() for text in cents.texts] == ["0.5", "1.1"]
    [legend] = chart.figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert [re.findall(r"^\w+|\$[\d.]+", label) for label in labels] == [
        ["read", "$0.20"],
        ["written", "$5.00"],
        ["answers", "$20.00"],
    ]


def test_requests_that_only_one_run_has_are_drawn_and_that_none_has_are_refused():
    runs = {
        "short": [Bill(0, 600, 0).usage(100)],
        "long": [Bill(0, 600, 0).usage(100)] * 3,
    }
    chart = bills_figure.requests(
        runs, "claude-opus-5-5", title="Late ones", span=range(2, 9)
    )
    assert chart.figure.axes[0].get_ylim() == chart.figure.axes[1].get_ylim()
    assert chart.figure.axes[0].get_ylim()[1] > 0.6
    with pytest.raises(ValueError, match="the last one is 3"):
        bills_figure.requests(
            runs, "claude-opus-5-5", title="Too late", span=range(9, 12)
        )


def test_the_spread_is_drawn_as_multiples_of_each_tasks_lowest_value():
    rows = [(1, 0, 400, 0.9, False), (3, 0, 100, 0.3, True), (1, 1, 80, 0.1, True)]
    names = ("keep_recent", "seed", "tokens", "dollars", "done")
    table = DataFrame([*rows, (3, 1, 40, 0.2, True)], columns=names)
    chart = bills_figure.spread(table, title="A U", tokens="Tokens", dollars="Dollars")
    one, two, median, failed, *_ = chart.figure.axes[0].lines
    assert [list(line.get_ydata()) for line in (one, two, median)] == [
        [4, 1],
        [2, 1],
        [3, 1],
    ]
    assert failed.get_ydata()[0] == 4


def test_a_summary_reads_the_last_prompt_also_where_the_tail_is_split_after_it():
    session = play(generated(1), KEEPS_ALL).session
    frames = replay(session, DEFAULT.scaled(32_000))
    billed = bills.bills(session, frames)
    pairs = zip(frames, frames[1:], billed[1:], strict=False)
    split = [
        (last, bill)
        for last, frame, bill in pairs
        if bill.summaries and frame.step.texts
    ]
    assert split
    for last, bill in split:
        (usage,) = bill.summaries
        assert usage["cache_creation_input_tokens"] < 200
        assert usage["cache_read_input_tokens"] == pytest.approx(
            last.prompt_tokens, abs=5
        )
