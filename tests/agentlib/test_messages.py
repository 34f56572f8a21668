"""Messages: what the layers ask of them, and the API's rules in the API's words."""

import copy

import pytest
from hypothesis import given

from agentlib.messages import (
    ANSWERED,
    CUT_OFF,
    PINNED,
    active_request,
    exchanges,
    is_summary,
    last_assistant,
    result_text,
    tool_names,
    waiting,
    with_results,
    words,
)
from offline_api import violation
from tests.builders import (
    IMAGE,
    SUMMARY,
    assistant,
    call,
    result,
    thinking,
    user,
)
from tests.strategies import histories, results_of

ASK = user("Go.")
CUT = f"{CUT_OFF}.]"
QUOTED = "[Conversation compressed. Transcript: t.jsonl] - what does this line say?"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (result("a", "one"), "one"),
        (result("a", ""), ""),
        (result("a", None), ""),
        ({"type": "tool_result", "tool_use_id": "a"}, ""),
        (result("a", user("one", "two")["content"]), "one\ntwo"),
        (result("a", user("shot", IMAGE)["content"]), "shot\n[image]"),
    ],
)
def test_the_text_of_a_result_whatever_its_shape(block, text):
    assert result_text(block) == text


def test_an_input_is_replaced_by_the_calls_id():
    messages = [user("Go."), assistant(call("a", path="a.py")), user(result("a"))]
    new = with_results(messages, {}, {"a": {"path": "b.py"}})
    assert new[1]["content"][0] == call("a", path="b.py")
    assert (new[0], new[2]) == (messages[0], messages[2])
    assert messages[1]["content"][0]["input"] == {"path": "a.py"}


def test_one_result_of_a_batch_is_replaced_and_all_else_is_shared():
    messages = [ASK, user(result("a", "1"), result("b", "2", is_error=True)), user("c")]
    new = with_results(messages, {"b": "gone"})
    assert new[1] == user(result("a", "1"), result("b", "gone", is_error=True))
    assert new[0] is messages[0]
    assert new[2] is messages[2]
    assert new[1]["content"][0] is messages[1]["content"][0]
    assert messages[1]["content"][1]["content"] == "2"


def test_exchanges_begin_with_an_assistant_and_take_every_answer():
    a = assistant("a")
    u = user("u")
    assert exchanges([]) == []
    assert exchanges([u, u]) == []
    assert exchanges([u, a, u, u, a]) == [(1, 4), (4, 5)]
    assert exchanges([a, u, a, a, u]) == [(0, 2), (2, 5)]


@given(histories())
def test_exchanges_cover_all_that_follows_the_opening_and_part_no_call_from_its_result(
    history,
):
    found = exchanges(history)
    assert [i for start, stop in found for i in range(start, stop)] == list(
        range(found[0][0] if found else len(history), len(history))
    )
    for start, stop in found:
        assert set(tool_names(history[start:stop])) == set(
            results_of(history[start:stop])
        )


def test_a_summary_is_known_by_its_header():
    assert is_summary(user(SUMMARY)["content"][0])
    assert not is_summary(user("See: " + SUMMARY)["content"][0])
    assert not is_summary(result("a", SUMMARY))


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([ASK], "Go."),
        ([{"role": "user", "content": "Go."}], "Go."),
        ([user("Go.", "Quickly.")], "Go.\n\nQuickly."),
        ([user("Go."), assistant("I go."), user(result("a", "Stop."))], "Go."),
        (
            [user("Go."), assistant(call("a")), user(result("a"), "Stop.")],
            "Go.\n\nStop.",
        ),
        ([user("Go."), user("Stop.")], "Go.\n\nStop."),
        ([user("Go."), assistant("Done."), user("Again.")], "Again."),
        ([user("Go."), assistant("Done.")], None),
        ([user("Go."), assistant("Do"), user(CUT), assistant(call("a"))], "Go."),
        ([user("Go."), assistant("Do"), user(CUT), assistant("ne.")], None),
        ([user("Go."), assistant("Done."), user(IMAGE)], None),
        (
            [user("Go."), user(SUMMARY, ANSWERED, "Stop."), assistant(call("a"))],
            "Stop.",
        ),
        ([user("Go."), user(SUMMARY)], "Go."),
        ([user(SUMMARY, "Go.")], "Go."),
        ([user(SUMMARY)], None),
        ([user(QUOTED)], QUOTED),
        ([user(IMAGE)], None),
        ([], None),
    ],
)
def test_the_active_request_is_all_that_waits_for_an_answer(messages, words):
    assert active_request(messages) == words


@pytest.mark.parametrize("mark", [SUMMARY, CUT, ANSWERED, f"{PINNED}\nBe kind."])
def test_a_text_of_the_person_is_theirs_whatever_it_looks_like(mark):
    said = user("Go.", mark)
    assert words(said) == ["Go."]
    assert words(said, {mark}) == ["Go.", mark]
    assert waiting([ASK, said], [mark]) == [(0, "Go."), (1, "Go."), (1, mark)]


@given(histories())
def test_what_waits_is_what_was_said_since_the_last_answer(history):
    left = waiting(history)
    start = min((i for i, _ in left), default=len(history))
    assert [
        text for m in history[start:] if m["role"] == "user" for text in words(m)
    ] == [text for _, text in left]
    assert waiting([*history, assistant("Done.")]) == []
    assert waiting([*history, assistant("Done."), ASK]) == [(len(history) + 1, "Go.")]


PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a "
    "user message."
)
UNANSWERED = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
UNEXPECTED = (
    "messages.{}.content.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each "
    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
)
TWICE = (
    "messages.{}.content.{}: each tool_use must have a single result. Found multiple "
    "`tool_result` blocks with id: {}"
)
EMPTY = (
    "messages.{}: all messages must have non-empty content except for the optional final "
    "assistant message"
)
BLANK = "messages: text content blocks must contain non-whitespace text"
CALLED = assistant(call("a"), call("b"))
ONE = result("a")
TWO = result("b")

BROKEN = {
    "nothing": ([], "messages: at least one message is required"),
    "prefill": ([ASK, assistant("Once")], PREFILL),
    "an empty final assistant message": (
        [ASK, {**assistant(), "content": []}],
        PREFILL,
    ),
    "a call at the end": ([ASK, CALLED], PREFILL),
    "no answer": ([ASK, CALLED, ASK], UNANSWERED.format(1, "a, b")),
    "half an answer": ([ASK, CALLED, user(TWO)], UNANSWERED.format(1, "a")),
    "an answer too late": (
        [ASK, CALLED, user(ONE), assistant("Hm."), user(TWO)],
        UNANSWERED.format(1, "b"),
    ),
    "an answer after text": (
        [ASK, CALLED, user(ONE, "So:", TWO)],
        UNANSWERED.format(1, "b"),
    ),
    "an answer after a message of text": (
        [ASK, CALLED, user(ONE), user("So:"), user(TWO)],
        UNANSWERED.format(1, "b"),
    ),
    "a result of nothing": ([user(ONE)], UNEXPECTED.format(0, 0, "a")),
    "a result of another turn": (
        [ASK, CALLED, user(ONE, TWO), assistant("Hm."), user("x", ONE)],
        UNEXPECTED.format(4, 1, "a"),
    ),
    "a result before its call": (
        [ASK, user(ONE), CALLED, user(TWO)],
        UNEXPECTED.format(1, 0, "a"),
    ),
    "two results": ([ASK, CALLED, user(ONE, ONE, TWO)], TWICE.format(2, 1, "a")),
    "two results in two messages": (
        [ASK, CALLED, user(ONE, TWO), user(ONE)],
        TWICE.format(3, 0, "a"),
    ),
    "two results, one after text": (
        [ASK, CALLED, user(ONE, TWO, "x", TWO)],
        TWICE.format(2, 3, "b"),
    ),
    "an id used again": (
        [ASK, CALLED, user(ONE, TWO), assistant("x", call("b")), user(TWO)],
        "messages.3.content.1: `tool_use` ids must be unique",
    ),
    "a result by the assistant": (
        [ASK, assistant(ONE), ASK],
        "`tool_result` blocks can only be in `user` messages",
    ),
    "a call by the user": (
        [user(call("a")), ASK],
        "`tool_use` blocks can only be in `assistant` messages",
    ),
    "no content": ([ASK, {"role": "user", "content": []}], EMPTY.format(1)),
    "an empty string": ([{"role": "user", "content": ""}, ASK], EMPTY.format(0)),
    "an empty assistant message before the end": (
        [ASK, {"role": "assistant", "content": []}, ASK],
        EMPTY.format(1),
    ),
    "empty text": ([user("x", "")], "messages: text content blocks must be non-empty"),
    "blank text": ([ASK, assistant("\n\n"), ASK], BLANK),
    "a blank string": ([{"role": "user", "content": " "}], BLANK),
}


@pytest.mark.parametrize(("messages", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_named_in_the_apis_words(messages, words):
    assert violation(messages) == words


ALLOWED = {
    "two user messages in a row": [ASK, user("Quickly.")],
    "results over two messages": [ASK, CALLED, user(TWO), user(ONE)],
    "text after the results": [ASK, CALLED, user(ONE, TWO, "And now?")],
    "text in a message after the results": [ASK, CALLED, user(ONE, TWO), ASK],
    "results in another order": [ASK, CALLED, user(TWO, ONE)],
    "one turn in two messages": [
        ASK,
        assistant(call("a")),
        assistant(call("b")),
        user(ONE, TWO),
    ],
    "an empty result": [ASK, assistant(call("a")), user(result("a", ""))],
    "thinking and pictures": [
        user(IMAGE, "Look."),
        assistant(thinking(), "I do."),
        ASK,
    ],
    "an assistant who begins": [assistant("Hello."), ASK],
}


@pytest.mark.parametrize("messages", ALLOWED.values(), ids=ALLOWED)
def test_what_the_api_accepts_is_no_violation(messages):
    assert violation(messages) is None


@given(histories())
def test_a_valid_history_has_no_violation_and_is_left_as_it_is(history):
    before = copy.deepcopy(history)
    assert violation(history) is None
    assert history == before


@given(histories(min_size=1))
def test_a_valid_history_without_its_newest_results_has_one(history):
    newest = last_assistant(history)
    names = list(tool_names(history[newest:]))
    without = [*history[: newest + 1], ASK]
    assert violation(without) == (
        UNANSWERED.format(newest, ", ".join(names)) if names else None
    )
