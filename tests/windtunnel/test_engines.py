"""The field's mechanisms as engines: each does what its name says, and keeps the
protocol."""

from dataclasses import replace

import pytest

from agentlib.auto_compact import SummaryFailed, summary_text
from agentlib.estimation import TokenMeter
from agentlib.messages import active_request, asks_for_summary, blocks
from agentlib.pipeline import Now
from agentlib.presets import DEFAULT
from agentlib.settings import Settings
from agentlib.transcripts import Session, load
from tests.builders import (
    assistant,
    call,
    conversation,
    prose,
    reading,
    result,
    thinking,
    user,
)
from tests.strategies import results_of, seen
from windtunnel import engines
from windtunnel.judge.protocol import broken

SETTINGS = DEFAULT.scaled(20_000)
FULL = replace(SETTINGS, threshold=1_500)


def step(name, messages, settings=SETTINGS, **more):
    """Run one engine once. `asked` gets what the model is asked."""
    asked = more.pop("asked", [])
    answers = iter(more.pop("answers", ()))

    def summarize(shown, focus):
        asked.append((list(shown), focus))
        return next(answers, "Did it.")

    given = {
        "meter": TokenMeter(),
        "summarize": summarize,
        "archive": lambda: "t.jsonl",
    }
    engine = more.pop("engine", None) or engines.ALL[name]
    return seen(engine(Now(messages, settings, **{**given, **more})), messages)


def wish(shown):
    return blocks(shown[-1])[0]["text"]


@pytest.mark.parametrize("name", engines.ALL)
def test_every_engine_keeps_the_protocol(name):
    assert broken(engines.ALL[name], cases=5) == {}


@pytest.mark.parametrize("name", engines.ALL)
def test_an_engine_says_whose_it_is(name):
    for part in ("Who:", "Source:", "Good for:"):
        assert part in " ".join(engines.ALL[name].__doc__.split()), part


# -- results ---------------------------------------------------------------------------


def test_results_are_cleared_by_their_tokens_and_only_if_that_is_enough():
    small = conversation(20, size=300)
    large = conversation(9, size=6_000)
    assert step("cleared_by_tokens", small).texts == {}  # 20 results, 2,000 tokens
    assert [*step("cleared_by_tokens", large, FULL).texts][:2] == [
        "toolu_0",
        "toolu_1",
    ]
    assert (
        step("cleared_by_tokens", conversation(3, size=5_000)).texts == {}
    )  # too little
    newest = results_of(large)["toolu_8"]
    assert results_of(step("cleared_by_tokens", large).view)["toolu_8"] == newest


def test_results_are_cleared_oldest_first_down_to_a_share_of_the_threshold():
    messages = conversation(20, size=2_000)
    meter = TokenMeter()
    weight = meter.estimate(messages)
    roomy, full = (replace(SETTINGS, threshold=n) for n in (weight + 1, weight - 1))
    assert step("cleared_to_a_target", messages, roomy).texts == {}
    done = step("cleared_to_a_target", messages, full)
    assert [*done.texts] == [f"toolu_{n}" for n in range(len(done.texts))]
    left = meter.estimate(done.view)
    assert 0.7 * weight < left <= 0.8 * weight
    assert done.compaction is None
    tight = step("cleared_to_a_target", messages, replace(SETTINGS, threshold=1_500))
    assert len(tight.texts) == 16  # the unseen one and three seen ones stay
    assert tight.compaction == "auto"


def test_the_older_of_two_identical_results_names_the_newer_and_goes():
    messages = [*conversation(2), *reading(7, 400)]
    messages[2] = user(result("toolu_0", results_of(messages)["toolu_1"]["content"]))
    done = step("identical_once", messages)
    assert [*done.texts] == ["toolu_0"]
    assert "toolu_1" in done.texts["toolu_0"]
    assert step("identical_once", done.view).texts == {}


def test_positional_clears_whole_blocks_and_rarely():
    counts = [len(step("positional", conversation(n)).texts) for n in range(8, 34)]
    assert counts == [8 * max(0, n // 8 - 1) for n in range(8, 34)]


def test_a_large_result_leaves_a_preview_once_it_was_seen():
    messages = [user("Read."), *reading(0, 9_000), *reading(1, 9_000)]
    done = step("spilled", messages)
    assert [*done.texts] == ["toolu_0"]  # the other one hasn't been seen
    text = done.texts["toolu_0"]
    assert text.startswith(prose(250))
    assert "recall toolu_0" in text
    assert step("spilled", done.view).texts == {}


def test_long_arguments_lose_their_end_and_stay_valid():
    text = prose(2_000)
    edits = [{"old": "a", "new": "b"}]
    calls = [
        call("a", "write_file", path="a.py", content=text),
        call("b", "edit", edits=edits),
    ]
    rounds = [
        m
        for each in calls
        for m in (assistant(thinking(), each), user(result(each["id"])))
    ]
    messages = [user("Go."), *rounds, assistant("Hm."), user("On.")]
    done = step("short_arguments", messages, replace(SETTINGS, keep_recent=0))
    [(name, new)] = done.inputs.items()
    assert name == "a"
    assert new == done.view[1]["content"][0]["input"]
    assert new["path"] == "a.py"
    assert new["content"].startswith(prose(200))
    assert "1800 characters of this argument" in new["content"]
    again = step("short_arguments", done.view, replace(SETTINGS, keep_recent=0))
    assert again.cleared == ()
    assert (
        step("short_arguments", messages, replace(SETTINGS, keep_recent=3)).texts == {}
    )


def test_a_session_that_is_loaded_again_has_the_short_arguments(tmp_path):
    session = Session.create(tmp_path, settings=DEFAULT)
    session.say("Write a.py.", at=0.0)
    write = call("a", "write_file", path="a.py", content=prose(2_000))
    session.reply(assistant(thinking(), write), at=1.0)
    session.answer(result("a"), at=2.0)
    session.reply(assistant("Done."), at=3.0)
    session.say("Now b.py.", at=4.0)
    done = step("short_arguments", session.context, replace(SETTINGS, keep_recent=0))
    session.take(done, at=5.0)
    assert session.context == done.view == load(session.path).context
    assert session.history[1]["content"][1] == write


def test_a_placeholder_tells_the_command_its_end_and_the_path_with_its_first_line():
    calls = [
        call("a", "bash", command="make test"),
        call("b", "read_file", path="a.py"),
    ]
    log = "\n".join(["collecting"] * 20 + ["3 failed"])
    source = "import os\n" + prose(400)
    results = (result("a", log, is_error=True), result("b", source))
    messages = [
        user("Go."),
        assistant(*calls),
        user(*results),
        assistant("Hm."),
        user("On."),
    ]
    told = step(
        "telling_placeholders", messages, replace(SETTINGS, keep_recent=0)
    ).texts
    assert told["a"] == "[Previous: used bash make test: error, 3 failed]"
    assert "read_file a.py" in told["b"]
    assert "import os" in told["b"]


# -- what is kept ----------------------------------------------------------------------


def test_without_a_summary_no_model_is_asked():
    messages = conversation(12)
    for name in ("fresh_window", "sliding_window"):
        asked = []
        done = step(name, messages, FULL, asked=asked)
        assert (done.compaction, asked) == ("auto", [])
        assert active_request(done.view) == "Read every file."
        assert done.view[-1] == messages[-1]
    assert (
        len(step("fresh_window", messages, FULL).kept) == 2
    )  # the unseen result and its call
    wide = replace(SETTINGS, threshold=4_000)
    kept = TokenMeter().estimate(step("sliding_window", messages, wide).view[1:])
    assert 1_500 < kept <= 2_000


def test_a_third_of_the_threshold_stays():
    messages = conversation(30)
    full = replace(SETTINGS, threshold=9_000)
    kept = step("newest_third", messages, full).view[1:]
    assert 0.22 * 9_000 < TokenMeter().estimate(kept) <= 0.3 * 9_000


def test_the_persons_words_stay_word_for_word_and_nothing_else():
    first = user("Begin each file with '# Ada'.")
    second = user("Now the tests.")
    work = [m for n in range(9) for m in reading(n)]
    messages = [
        first,
        *work[:8],
        assistant("Done."),
        second,
        *work[8:],
        assistant("Well."),
        user("Go on."),
    ]
    done = step("persons_words", messages, FULL)
    assert [m for m in done.view if m in messages] == [
        first,
        second,
        user("Go on."),
    ]
    assert done.kept == (0, messages.index(second), len(messages) - 1)
    long = [user(prose(9_000)), *messages[1:]]
    assert long[0] not in step("persons_words", long, FULL).view  # beyond 2,000 tokens


# -- the summary -----------------------------------------------------------------------


def test_the_second_request_shows_the_first_answer_and_its_answer_stays():
    asked = []
    done = step(
        "asked_twice", conversation(12), FULL, asked=asked, answers=["One.", "Two."]
    )
    assert len(asked) == 2
    assert any(m["content"] == "One." for m in asked[1][0])
    assert asks_for_summary(asked[1][0])
    assert summary_text(done.view[0]) == "Two."


@pytest.mark.parametrize("answer", ["", "One."])
def test_an_answer_that_is_shown_ends_the_thinking_before_it(answer):
    """The API takes thinking of a view that was cleared in the newest reply alone."""
    asked = []
    ask = engines.wishing(
        lambda shown, focus: str(asked.append(shown)), FULL, "", answer
    )
    ask([user("Read."), assistant(thinking(), call("a", "read_file", path="a"))], "")
    assert (thinking() in blocks(asked[0][1])) == (answer == "")


def test_thoughts_are_taken_off():
    answer = "<analysis>Hm, a lot.</analysis>\nRead a.py."
    done = step("scratchpad", conversation(12), FULL, answers=[answer])
    assert summary_text(done.view[0]) == "Read a.py."
    done = step(
        "scratchpad", conversation(12), FULL, answers=["<analysis>It never ends"]
    )
    assert done.compaction == "failed"


def test_the_focus_is_the_persons_last_words_unless_they_gave_one():
    asked = []
    step("own_focus", conversation(12), FULL, asked=asked)
    step("own_focus", conversation(12), FULL, asked=asked, focus="rules")
    long = [user("word " * 400), *conversation(12)[1:]]
    step("own_focus", long, FULL, asked=asked)
    *focuses, last = [focus for _, focus in asked]
    assert focuses == ["Read every file.", "rules"]
    assert len(last) == 700


def test_only_another_language_is_asked_for():
    asked = []
    for words in ("Read every file.", "请逐个阅读文件。"):
        step("same_language", [user(words), *conversation(12)[1:]], FULL, asked=asked)
    english, chinese = (wish(shown) for shown, _ in asked)
    assert "请逐个阅读文件。" in chinese
    assert len(english) < len(chinese)


def test_a_second_model_writes_the_summary_if_the_first_fails():
    def fails(messages, focus):
        raise SummaryFailed("overloaded")

    second = engines.falling_back(lambda m, f: "By the second.")
    done = step("", conversation(12), FULL, engine=second, summarize=fails)
    assert summary_text(done.view[0]) == "By the second."
    assert (
        step("second_model", conversation(12), FULL, summarize=fails).compaction
        == "auto"
    )


def test_the_newest_plan_comes_back_as_it_was_written():
    plans = [
        call(f"p{n}", "write_file", path="PLAN.md", content=f"step {n}") for n in (1, 2)
    ]
    written = [m for plan in plans for m in (assistant(plan), user(result(plan["id"])))]
    messages = [user("Go."), *written, *conversation(12)[1:]]
    text = summary_text(step("plan_put_back", messages, FULL).view[0])
    assert "step 2" in text
    assert "step 1" not in text


# -- the moment ------------------------------------------------------------------------


def test_the_summary_is_asked_for_ahead_and_put_in_at_the_threshold():
    meter = TokenMeter()
    asked = []
    settings = replace(SETTINGS, threshold=4_000)
    messages = conversation(1)
    outcomes = []
    for n in range(1, 16):
        done = step("prepared", messages, settings, meter=meter, asked=asked)
        outcomes.append((len(asked), done.compaction))
        messages = [*done.view, *reading(n)]
    ahead = outcomes.index((1, None))
    assert (
        outcomes.index((1, "auto")) > ahead
    )  # asked once, and not again at the threshold
    put_in = step("prepared", conversation(2), settings, meter=TokenMeter())
    assert put_in.compaction is None


def test_after_three_refills_it_stops_and_says_so():
    meter = TokenMeter()
    outcomes = []
    messages = conversation(2, size=4_000)
    for n in range(2, 8):
        done = step("stops_refilling", messages, FULL, meter=meter)
        outcomes.append(done.compaction)
        messages = [*done.view, *reading(n, 4_000)]
    assert outcomes[:3] == ["auto"] * 3
    assert outcomes[3:] == ["failed"] * 3
    assert "full again" in done.failure


def test_a_cold_cache_halves_the_threshold():
    messages = conversation(12)
    settings = replace(SETTINGS, threshold=6_000)
    assert step("when_cold", messages, settings, idle=10.0).compaction is None
    assert step("when_cold", messages, settings, idle=9_999.0).compaction == "auto"


def test_rates_are_learned_from_bills_in_small_steps():
    meter = TokenMeter()
    messages = conversation(12)
    meter.observe(messages[:1], {"input_tokens": 10})
    meter.observe(messages, {"input_tokens": 10_000})  # about twice the guess
    sizes = [
        step("learned_rates", messages, meter=meter).tokens_before for _ in range(12)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < 1.16 * TokenMeter().estimate(messages)
    assert sizes[-1] > 1.5 * TokenMeter().estimate(messages)
    assert sizes[-1] < 10_000


def test_an_engine_shares_the_messages_that_it_does_not_change():
    messages = conversation(6)
    for name, engine in engines.ALL.items():
        given = {"meter": TokenMeter(), "summarize": None, "archive": None}
        now = Now(messages, Settings(micro="off"), **given)
        done = seen(engine(now), messages)
        if not done.texts:
            assert all(a is b for a, b in zip(messages, done.view, strict=True)), name
