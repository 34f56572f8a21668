"""What an engine is given, what it returns, and who says that a function is none."""

from typing import Any, cast

import pytest

from agentlib.auto_compact import auto_compact
from agentlib.cli.main import main
from agentlib.compaction.around import preview
from agentlib.compaction.engine_check import NoEngine, standing_in
from agentlib.estimation import TokenMeter
from agentlib.loop import Agent, run
from agentlib.messages import Message, changes
from agentlib.micro_compact import micro_compact
from agentlib.pipeline import ContextEngine, Now, run_engine
from agentlib.settings import Settings
from agentlib.step import Step
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from session_report.playback import replay
from tests.builders import conversation, reading, thinking, user
from tests.fakes import client, worker
from tests.strategies import short
from windtunnel.runner import play
from windtunnel.tasks.scenarios import RENAME


def at(messages: list[Message], **more: Any) -> Now:
    needed: Any = {"meter": TokenMeter(), "summarize": short, "archive": lambda: "t"}
    return Now(messages, more.pop("settings", Settings()), **{**needed, **more})


def of_the_protocol_before(messages: Any, settings: Settings, **given: Any) -> Step:
    return Step()


OLD = cast(ContextEngine, of_the_protocol_before)


# -- one line for an engine of the protocol before -------------------------------------


def test_the_loop_and_a_preview_name_the_line_to_change(
    workspace: Workspace, session: Session
):
    with pytest.raises(NoEngine, match=r"`def of_the_protocol_before\(now\):`"):
        list(run(client(worker(1)), "Read.", workspace, session=session, engine=OLD))
    with pytest.raises(NoEngine):
        preview(Agent(client(worker(0)), workspace, session, engine=OLD))


def test_play_and_a_replay_name_it_too(workspace: Workspace, session: Session):
    with pytest.raises(NoEngine):
        play(RENAME, Settings().scaled(32_000), engine=OLD)
    list(run(client(worker(1)), "Read.", workspace, session=session))
    with pytest.raises(NoEngine):
        replay(session, Settings(), engine=OLD)


def test_the_terminal_refuses_it_in_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["hi", "--engine", "tests.agentlib.test_now:OLD"]) == 2
    assert "def of_the_protocol_before(now):" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_function_that_returns_no_step_is_named():
    with pytest.raises(NoEngine, match=r"`<lambda>` returned 7"):
        run_engine(cast(ContextEngine, lambda now: 7), at(conversation(1)))


# -- the verbs -------------------------------------------------------------------------


def test_an_unknown_setting_or_a_wrong_value_is_an_error_of_the_engine():
    with pytest.raises(TypeError):
        at(conversation(1)).compact(keep_recents=9)
    with pytest.raises(ValueError, match="keep_recent"):
        at(conversation(1)).compact(keep_recent=-1)


def test_what_a_layer_made_is_noted_as_a_clearing_or_as_a_compaction():
    messages = conversation(6)
    now = at(messages, reason="manual", focus="rules")
    cleared = now.cleared(micro_compact(messages, keep_recent=2))
    assert cleared.cleared == ("toolu_0", "toolu_1", "toolu_2", "toolu_3")
    # A result has 345 tokens, and its placeholder 26 characters.
    assert cleared.tokens_cleared == round(4 * (345 - 26 * 0.345))
    assert cleared.tokens_after == cleared.tokens_before - cleared.tokens_cleared
    view = auto_compact(messages, short, lambda: "t")
    compacted = now.compacted(view, "t")
    assert compacted.applied(messages) == view
    assert (compacted.compaction, compacted.focus) == ("manual", "rules")
    assert compacted.settled == 1
    with pytest.raises(ValueError, match="clearing"):
        now.cleared(view)
    with pytest.raises(ValueError, match="compaction"):
        now.compacted(messages[::-1], "t")


def test_thinking_that_goes_with_a_clearing_settles_nothing():
    messages = conversation(6)
    for reply in messages[1::2]:
        reply["content"] = [thinking(), *reply["content"]]
    view = micro_compact(messages, keep_recent=4)
    step = at(messages).cleared(view)
    newest = max(changes(messages, view))
    assert newest < max(changes(messages, step.applied(messages)))
    assert step.settled == newest + 1


def test_the_same_words_said_twice_are_found_where_they_stand():
    again = user("Go on.")
    messages = [again, *reading(0), user("Go on."), *reading(1), user("Go on.")]
    summary = user("Read two files.")
    step = standing_in(messages, [summary, messages[-1]])
    assert step is not None
    assert step.kept == (len(messages) - 1,)
    assert step.applied(messages) == [summary, messages[-1]]


def test_the_bill_covers_the_messages_before_the_first_change():
    meter = TokenMeter(base_chars=1_000)
    messages = conversation(4)
    assert meter.billed(messages) == (0, 0)
    meter.observe(messages[:5], {"input_tokens": 900})
    assert meter.billed(messages) == (900, 5)
    changed = [*messages[:2], user("shorter"), *messages[3:]]
    tokens, known = meter.billed(changed)
    assert known == 2
    assert meter.base < tokens < 900


# -- who wrote which words -------------------------------------------------------------
