"""Auto-compact: what is replaced, what stays, and when nothing changes."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib.api.refusals import excess
from agentlib.auto_compact import (
    REFERENCE_ONLY,
    SummaryFailed,
    SummaryTooLong,
    auto_compact,
    summarizer,
    summary_message,
    summary_prompt,
    summary_text,
)
from agentlib.messages import active_request, exchanges, is_summary, of_type
from agentlib.step import drop_thinking
from offline_api import violation
from tests.builders import (
    call,
    conversation,
    prose,
    reading,
    say,
    text,
    user,
)
from tests.fakes import client, error
from tests.strategies import histories, results_of, short, unseen_of

START = "[Conversation compressed. Transcript: "
END = "[End of summary]"
HEAD = f"{START}t.jsonl]\n\n{REFERENCE_ONLY}\n\nDid it.\n{END}"


def archive():
    return "t.jsonl"


def never(*unused):
    pytest.fail("called, with nothing to replace")


def compacted(messages, keep=1):
    return auto_compact(messages, short, archive, keep_exchanges=keep)


def test_all_but_the_newest_exchange_gives_way_to_the_summary_and_the_request():
    messages = conversation(4)
    view = compacted(messages)
    assert view[0] == user(HEAD, "Read every file.")
    assert view[1:] == messages[-2:]
    assert all(new is old for new, old in zip(view[1:], messages[-2:], strict=True))


def compacted_or_left(messages, keep):
    try:
        return compacted(messages, keep)
    except SummaryFailed:
        return messages


NOTHING = {
    "no message": [],
    "the request alone": conversation(0),
    "one exchange": conversation(1),
    "a summary and one exchange": [user(HEAD, "Go."), *reading(0)],
    "a summary and the next request": [user(HEAD), user("Go on.")],
}


@pytest.mark.parametrize("messages", NOTHING.values(), ids=NOTHING)
def test_where_there_is_nothing_to_replace_neither_callable_is_called(messages):
    assert auto_compact(messages, never, never) == messages


def test_the_history_is_archived_then_summarised_whole_with_the_focus():
    calls = []
    messages = conversation(3)

    def summarize(asked, focus):
        calls.append((list(asked), focus))
        return "Did it."

    auto_compact(
        messages, summarize, lambda: calls.append("archive") or "t", focus="rules"
    )
    assert calls == ["archive", (messages, "rules")]


def test_a_summary_larger_than_what_it_replaces_fails_with_both_sizes():
    messages = conversation(
        2
    )  # replaced: 39 characters, a call's 90, 1,000 of result: 447 tokens
    words = r"the summary is larger \(2,\d+ tokens\) than what it replaces \(447\)"
    with pytest.raises(SummaryFailed, match=words):
        auto_compact(messages, lambda asked, focus: prose(8_000), archive)
    assert (
        auto_compact(messages, lambda asked, focus: prose(1_000), archive)[1:]
        == messages[-2:]
    )


def test_the_text_of_a_summary_comes_back_without_its_marks():
    message = summary_message(" Two files.\n\nAnd [one] more. ", "a#b.jsonl", "Go.")
    assert summary_text(message) == "Two files.\n\nAnd [one] more."
    assert summary_text(user("Go.")) == ""


KEY = "sk-" + "ant-api03-" + "Ab1" * 30
told = st.lists(
    st.sampled_from(
        [START, END, END.upper(), "[", "]", "[ ", "\n", "t]\n\n", f" {KEY} "]
    )
    | st.text(max_size=5),
    max_size=9,
).map("".join)


@given(told, st.none() | st.just("Go."), st.booleans())
def test_nothing_in_a_summary_ends_it_or_begins_another(words, request, note):
    message = summary_message(words, "t.jsonl", request, reference_only=note)
    text = message["content"][0]["text"]
    assert text.startswith(START)
    assert text.endswith(END)
    assert (text.lower().count(START.lower()), text.lower().count(END.lower())) == (
        1,
        1,
    )
    assert KEY not in text
    assert active_request([message]) == request
    again = summary_message(
        summary_text(message), "t.jsonl", request, reference_only=note
    )
    assert summary_text(again) == summary_text(message)


def test_a_summary_says_that_it_is_reference_unless_told_otherwise():
    for note in (True, False):
        view = auto_compact(conversation(4), short, archive, reference_only=note)
        assert (REFERENCE_ONLY in str(view[0])) == note
        assert summary_text(view[0]) == "Did it."


@given(histories(min_size=1))
def test_a_compaction_keeps_the_request_the_unseen_the_pairs_and_the_rules(history):
    before = copy.deepcopy(history)
    for keep in range(4):
        view = compacted_or_left(history, keep)
        assert history == before
        assert violation(view) is None
        assert active_request(view) == active_request(history)
        assert unseen_of(view) == unseen_of(history)
        assert results_of(view).items() <= results_of(history).items()
        starts = (
            [start for start, _ in exchanges(history)][-keep:]
            if keep
            else [len(history)]
        )
        kept = history[starts[0] :]
        assert drop_thinking(view[len(view) - len(kept) :], 0) == drop_thinking(kept, 0)
        assert sum(is_summary(b) for m in view for b in of_type(m, "text")) <= 1


@given(histories(min_size=1))
def test_a_compaction_again_at_once_has_nothing_to_replace(history):
    for keep in range(4):
        view = compacted_or_left(history, keep)
        if view is not history:
            assert auto_compact(view, never, never, keep_exchanges=keep) == view


# -- the summary call, over the wire ---------------------------------------------------

TOOLS = [
    {"name": "read_file", "description": "Read.", "input_schema": {"type": "object"}}
]


def asking(brain, sent=None, bills=None, **more):
    return summarizer(
        client(brain, sent),
        model="claude-haiku-5-5",
        system="Be brief.",
        tools=TOOLS,
        summary_tokens=500,
        on_usage=None if bills is None else bills.append,
        **more,
    )


def test_the_summary_is_asked_for_on_the_live_prefix():
    sent = []
    bills = []
    messages = conversation(2)
    assert asking(lambda body: say("Did it."), sent, bills)(messages, "") == "Did it."
    [body] = sent
    assert body["messages"] == [
        *messages,
        {"role": "user", "content": summary_prompt(500)},
    ]
    assert body["tools"] == TOOLS
    assert [block["text"] for block in body["system"]] == ["Be brief."]
    assert body["max_tokens"] == 2_000
    assert [bill["output_tokens"] for bill in bills] == [
        len(str([text("Did it.")])) // 4
    ]


FAILURES = {
    "cut off": (
        say("Did", stop="max_tokens"),
        "the summary stopped with max_tokens after",
    ),
    "refused": (say("I can't.", stop="refusal"), "the summary stopped with refusal"),
    "a call": (say("First:", call("a")), "the summary stopped with tool_use"),
    "empty": (say(stop="end_turn"), "the summary is empty"),
    "blank": (say("\n\n"), "the summary is empty"),
    "over its limit": (say("word " * 9_000), r"the summary has 11,\d+ tokens of"),
    "overloaded": (error(529), "the summary call failed: .*Overloaded"),
    "a bad request": (
        error(400, "messages: nonsense"),
        "the summary call failed: .*nonsense",
    ),
}


@pytest.mark.parametrize(("reply", "words"), FAILURES.values(), ids=FAILURES)
def test_an_answer_that_is_no_summary_fails_with_its_reason(reply, words):
    with pytest.raises(SummaryFailed, match=words):
        asking(lambda body: reply)(conversation(2), "")


SIZES = {
    "the API": ("prompt is too long: 210000 tokens > 200000 maximum", 1.05),
    "the API, with the reply": (
        "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000, decrease "
        "input length or `max_tokens` and try again",
        1.035,
    ),
    "OpenAI": (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "160000 tokens. Please reduce the length of the messages.",
        1.25,
    ),
    "OpenAI, GPT-5": (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
        "289650 tokens. Please reduce the length of the messages.",
        289_650 / 272_000,
    ),
    "vLLM": (
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
        "(112946 in the messages, 10000 in the completion). Please reduce the length",
        122_946 / 16_384,
    ),
    "llama.cpp": (
        "request (14429 tokens) exceeds the available context size (8192 tokens), try increasing",
        14_429 / 8_192,
    ),
    "llama.cpp, older": (
        "the request exceeds the available context size, try increasing it",
        1.5,
    ),
    "Bedrock": ("Input is too long for requested model.", 1.5),
    "Gemini": (
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        1_200_293 / 1_048_576,
    ),
    "Kimi": (
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 280680)",
        280_680 / 262_144,
    ),
    "LM Studio": (
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is "
        "loaded with context length of only 32768 tokens, which is not enough.",
        111_490 / 32_768,
    ),
    "LM Studio, newer": (
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 10247 >= n_ctx: 4096). Try to load the model with a larger context length",
        10_247 / 4_096,
    ),
    "Cohere": (
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - "
        "received 6354. Try using a shorter prompt or a smaller max_tokens value.",
        6_354 / 2_048,
    ),
    "xAI": (
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        136_973 / 131_072,
    ),
    "TGI": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 "
        "`inputs` tokens and 1000 `max_new_tokens`",
        2_244 / 2_048,
    ),
    "TGI, the prompt alone": (
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168.",
        1_168 / 1_024,
    ),
}
"""Words and numbers as in the issues that `auto_compact` links to."""


@pytest.mark.parametrize(("words", "times"), SIZES.values(), ids=SIZES)
def test_a_refusal_for_size_is_told_from_other_failures(words, times):
    with pytest.raises(SummaryTooLong, match="the summary call failed") as failure:
        asking(lambda body: error(400, words))(conversation(2), "")
    assert excess(failure.value.__cause__) == pytest.approx(times)


def test_a_request_of_too_many_bytes_is_one_too():
    with pytest.raises(SummaryTooLong) as failure:
        asking(lambda body: error(413, "Request exceeds the maximum size"))(
            conversation(2), ""
        )
    assert excess(failure.value.__cause__) == 1.5


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens",
        "messages.1: `tool_use` ids must be unique",
        "This request would exceed the rate limit of 50,000 input tokens per minute.",
    ],
)
def test_no_other_refusal_is_taken_for_one(words):
    with pytest.raises(SummaryFailed) as failure:
        asking(lambda body: error(400, words))(conversation(2), "")
    assert not isinstance(failure.value, SummaryTooLong)
    assert (
        excess(failure.value.__cause__) == excess(ValueError("prompt is too long")) == 0
    )
