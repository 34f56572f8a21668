"""The panels of the lessons: any position of their controls, and what each is there to show."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from positions import any_position_is_as_if_first

from agentlib.auto_compact import summary_message, summary_prompt
from agentlib.lab.panels import lessons
from agentlib.lab.panels.panel import Panel
from agentlib.lab.play import play
from agentlib.lab.spending import rates
from agentlib.lab.tasks.scenarios import REVIEW, SURVEY
from agentlib.messages import active_request, exchanges
from agentlib.settings import MODEL, Settings

START = replace(
    Settings(micro="off", manual=False).scaled(32_000), threshold=20_800, summary_tokens=1_000
)
WHOLE = play(REVIEW, Settings(enabled=False)).session
TURNS = 14
SESSION = replace(
    WHOLE, requests=WHOLE.requests[:TURNS], history=WHOLE.history[: WHOLE.requests[TURNS].seen]
)
PANELS: dict[str, Callable[[], Panel]] = {
    "browser": lambda: lessons.session_browser(SESSION),
    "compacting": lambda: lessons.compacting_panel("claude-opus-5-5", lambda left, *_: 50 * left),
    "alive": lambda: lessons.alive_panel("claude-opus-5-5", lambda p, r, w: 900 - p, [700.0]),
}


@pytest.mark.parametrize("name", PANELS)
def test_any_position_shows_what_it_would_show_if_it_were_the_first(name: str):
    any_position_is_as_if_first(PANELS[name]())


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-haiku-4-5"])
@pytest.mark.parametrize("left", [0.02, 0.1, 0.2])
def test_a_compaction_pays_when_the_formula_says_so_whatever_its_size(model: str, left: float):
    rate = rates(model)
    read, write, answer = (rate[name] for name in ("cache_read", "cache_write_5m", "output"))
    right = (read + (answer + write - read) * left) / (read * (1 - left))
    for size in (50_000, 400_000):
        saved = lessons.saved_by_compacting(size, left, model, 60)
        pays = next(n for n, cents in enumerate(saved, 1) if cents > -1e-9)
        assert abs(pays - right) <= 1.01  # system prompt and tools are read once more
        assert saved[-1] > 0


def test_the_panel_of_a_compaction_shows_both_and_says_if_it_never_pays():
    panel = lessons.compacting_panel("claude-opus-5-5", lambda left, *prices: 100 * left)
    assert "pays from request 15 on; the formula says 10.0" in panel.text.replace("\n", " ")
    panel.left.value = 40
    assert "not within 60 requests; the formula says 40.0" in panel.text.replace("\n", " ")


@pytest.mark.parametrize(
    ("pause", "most", "cents"),
    [
        (200, 40, 0),  # the cache is still alive
        (280, 40, -2),  # it is, and a repeat was sent
        (300, 40, 46),  # it has just expired
        (400, 40, 46),
        (545, 40, 44),  # the agent didn't know that the person was about to return
        (1_200, 40, 40),
        (6_700, 40, 0),  # 24 repeats cost what one writing costs
        (7_200, 40, -4),
        (1_200, 3, -6),  # given up too early
        (1_100, 3, 42),
    ],
)
def test_repeats_save_a_writing_for_a_few_readings(pause: float, most: int, cents: float):
    assert lessons.saved_by_repeats(pause, most, "claude-opus-5-5") == pytest.approx(cents)


def test_the_panel_of_repeats_compares_the_cache_with_a_learners_formula():
    def formula(pause: float, read: float, write: float) -> float:
        return 3_000 - pause

    panel = lessons.alive_panel("claude-opus-5-5", formula, [400.0, 7_200.0])
    said = panel.text.replace("\n", " ")
    assert "pay up to 112 minutes" in said
    assert "up to 50 by the formula" in said
    assert "In the 2 pauses of the sessions they save -2 cents" in said
    for most, minutes in ((1, 9), (9, 45)):
        panel.most.value = most
        assert f"pay up to {minutes} minutes" in panel.text.replace("\n", " ")


@pytest.mark.parametrize("pause", [*range(7, 9_000, 410), 299, 300, 301, 539, 541, 6_749, 6_751])
def test_a_pause_has_a_repeat_for_each_270_seconds_whenever_the_person_returns(pause: int):
    cents = 480 * (pause >= 300) - 20 * (pause // 270)
    saved = lessons.saved_by_repeats(pause, 99, "claude-opus-5-5")
    assert saved == pytest.approx(cents / 10, abs=1e-9)


def test_the_numbers_in_the_folds_of_lesson_02_hold():
    roomy, model = Settings(auto=False, manual=False), "claude-opus-5-5"
    whole = play(REVIEW, replace(roomy, micro="off")).dollars(model)
    for more, times in (({}, 2.1), ({"clear_at_least": 20_000}, 1.1)):
        assert round(play(REVIEW, replace(roomy, **more)).dollars(model) / whole, 1) == times


def keeps(messages, summary):
    newest = messages[exchanges(messages)[-1][0] :]
    return [summary_message(summary, "t", active_request(messages)), *newest]


def test_two_numbers_of_a_compaction_run_the_task_again_with_the_learners_function():
    def forgets(messages, summary):
        return [summary_message("Nothing.", "t", active_request(messages))]

    panel = lessons.compaction_panel(REVIEW, START, keeps, MODEL)
    run = panel.run(20_800, 1_000)
    assert panel.text.startswith(f"{run.turns} turns")
    assert (panel.threshold.min, panel.threshold.max) == (4_000, 27_360)
    assert "; 5 compactions; " in panel.text.replace("\n", " ")
    panel.summary_tokens.value = 100
    assert panel.run(20_800, 100).checks["facts"] == 0
    assert "facts 0." in panel.text.replace("\n", " ")
    other = lessons.compaction_panel(REVIEW, replace(START, threshold=8_000), forgets, MODEL)
    assert other.run(8_000, 1_000).turns != panel.run(8_000, 1_000).turns


def test_the_parts_of_a_hand_off_and_its_length_run_the_task_again():
    def forgetting(messages, summarize, *, summary_tokens, head):
        asked = {"role": "user", "content": summary_prompt(summary_tokens)}
        told = summary_message(summarize([*messages, asked]), "t", active_request(messages))
        return [*messages[:head], told, *messages[exchanges(messages)[-1][0] :]]

    layers = {name: partial(forgetting, head=n) for n, name in enumerate(("neither", "head"))}
    panel = lessons.parts_panel(REVIEW, replace(START, summary_tokens=450), layers)
    assert panel.values == {"parts": "neither", "summary_tokens": 450}
    assert "rule kept no, facts 2." in panel.text.replace("\n", " ")
    panel.parts.value = "head"
    assert "rule kept yes, facts 2." in panel.text.replace("\n", " ")
    panel.move(parts="neither", summary_tokens=1_600)
    assert "rule kept yes, facts 4." in panel.text.replace("\n", " ")


def test_faults_change_the_fate_of_the_session():
    start = Settings(micro="off", manual=False, threshold=10_000, summary_tokens=12_500)
    panel = lessons.fault_panel(SURVEY, start.scaled(32_000))
    assert panel.values == {"rate": 50, "length": 2_000, "how": "tool_use"}
    assert "timeout" not in lessons.FAULTS
    texts = {}
    for rate in (0, 100):
        panel.move(rate=rate, how="529")
        texts[rate] = panel.text.replace("\n", " ")
    assert "0 cut to size, 0 failed" in texts[0]
    assert "compactions: 0 done, 1 cut to size" in texts[100]


def test_without_any_summary_a_short_stand_in_never_finishes_the_report():
    panel = lessons.fault_panel(REVIEW, replace(START, threshold_pct=65, threshold=None))
    for length, done in ((1_250, "no"), (1_500, "yes")):
        panel.move(rate=100, length=length)
        assert f"done {done}" in panel.text.replace("\n", " ")
