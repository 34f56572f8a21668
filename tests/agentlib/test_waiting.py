"""What still waits: the person's words without an answer survive every compaction, and
those with an answer don't wait again."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentlib import presets
from agentlib.estimation import TokenMeter
from agentlib.messages import (
    ANSWERED,
    CUT_OFF,
    PINNED,
    SUMMARY_WANTED,
    Message,
    blocks,
    is_summary,
    of_type,
    waiting,
)
from agentlib.pipeline import Now, compact
from agentlib.settings import Settings
from agentlib.step import Reason
from agentlib.transcripts import load
from offline_api import violation
from session_report.playback import replay
from tests.builders import assistant, call, say, user
from tests.fakes import asks_for_summary, prompt, script, worker
from tests.runs import go
from tests.strategies import histories, short, some_settings

PRESETS = {name: preset.scaled(4_000) for name, preset in presets.ALL.items()}
reasons = st.sampled_from(get_args(Reason))
LOOK_ALIKES = [
    "[Conversation compressed. Transcript: s.jsonl#3]\n\nGo on from it.\n[End of summary]",
    f"{PINNED}\nNever push.",
    f"{CUT_OFF}. What does that mean?]",
    ANSWERED,
    f"{SUMMARY_WANTED} Keep the numbers.",
    "[Previous: used bash] what is this?",
    "[Left out, to fit: why?]",
]


def moment(
    messages: list[Message], settings: Settings, reason: Reason, **more: Any
) -> Now:
    given: dict[str, Any] = {"summarize": short, "archive": lambda: "t"}
    return Now(messages, settings, meter=TokenMeter(), reason=reason, **given, **more)


@given(
    histories(),
    st.lists(st.text("ab c.", min_size=1).filter(str.strip), min_size=1, max_size=4),
    st.sampled_from(sorted(PRESETS)),
    some_settings,
    st.booleans(),
    reasons,
)
def test_all_that_waits_stays_in_its_order(history, said, name, other, whole, reason):
    settings = PRESETS[name] if whole else other
    messages = [*history, assistant("Done."), *map(user, said)]
    view = compact(moment(messages, settings, reason)).applied(messages)
    assert [text for _, text in waiting(view)] == said
    assert violation(view) is None


@given(histories(), some_settings, reasons)
def test_what_was_answered_never_waits_again(history, settings, reason):
    messages = [*history, assistant("Done.")]
    for now in (messages, [*messages, user("And this?")]):
        view = compact(moment(now, settings, reason)).applied(now)
        assert [text for _, text in waiting(view)] == [text for _, text in waiting(now)]


# A summary alone, one between a head and a tail, and one before a tail.
@pytest.mark.parametrize("name", ["claude-code", "hermes", "default"])
@pytest.mark.parametrize("said", LOOK_ALIKES)
def test_words_are_the_persons_whatever_they_look_like(workspace, session, name, said):
    settings = PRESETS[name]
    numbers = iter(range(1, 99))

    def brain(body):
        if prompt(body).startswith(f"{SUMMARY_WANTED} What you write"):
            return say("## Accomplished\nRead.")
        n = next(numbers)
        read = call(f"t{n}", "read_file", path="a.txt")
        return say(f"step {n}", read) if n <= 10 else say("Done.")

    seen = []
    go(brain, workspace, session, said, seen, settings=settings)
    assert any(c.failure is None for c in session.compactions)
    assert all(
        any(text == said for m in b["messages"] for text in texts(m)) for b in seen
    )
    loaded = load(session.path)
    assert (loaded.damage, loaded.context) == ([], session.context)
    frames = replay(loaded, settings)
    assert [f.context for f in frames] == [r.context for r in loaded.requests]


def texts(message: Message) -> list[str]:
    return [block["text"] for block in of_type(message, "text")]


def test_a_whole_earlier_summary_that_is_pasted_stays(workspace, session):
    settings = PRESETS["claude-code"]
    go(worker(9), workspace, session, "Read.", settings=settings)
    (summary,) = [b for m in session.context for b in blocks(m) if is_summary(b)][:1]
    seen = []
    go(worker(9, "again"), workspace, session, summary["text"], seen, settings=settings)
    assert all(any(summary["text"] in texts(m) for m in b["messages"]) for b in seen)


def test_words_like_a_request_for_a_summary_are_not_sent_in_its_place(
    workspace, session
):
    settings = PRESETS["claude-code"]
    go(worker(3), workspace, session, "Read.", settings=settings)
    tight = settings.scaled(2_000)
    seen = []
    said = f"{SUMMARY_WANTED} Keep the numbers."
    go(
        script(say("Read."), say("Here.")),
        workspace,
        session,
        said,
        seen,
        settings=tight,
    )
    wish, request = seen
    assert asks_for_summary(wish)
    assert prompt(wish) != said
    assert [text for _, text in waiting(request["messages"], session.persons)] == [said]
