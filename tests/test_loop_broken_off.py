"""A run that breaks off, by Ctrl-C or an error of the API: nothing is lost, and it goes on."""

from pathlib import Path

import anthropic
import pytest
from fakes import asks_for_summary, call, error, prompt, say, script, think
from runs import a_session, a_workspace, go

from agentlib.messages import of_type, violation
from agentlib.tools import Workspace
from agentlib.transcripts import INTERRUPTED, Session, load


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return a_workspace(tmp_path)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return a_session(tmp_path)


def interrupt(_: object) -> bool:
    raise KeyboardInterrupt


def broken_off(exception, brain, workspace, session, words="Read a.txt.", retries=0, **options):
    """Run into the exception; what memory and file then hold is one, and is returned."""
    with pytest.raises(exception) as caught:
        go(brain, workspace, session, words, retries=retries, **options)
    loaded = load(session.path)
    assert (loaded.history, loaded.context) == (session.history, session.context)
    assert (loaded.settled, loaded.pending) == (session.settled, session.pending)
    return caught.value


def test_ctrl_c_in_a_tool_keeps_the_results_there_are(workspace, session):
    calls = [call("toolu_1", "read_file", path="a.txt", limit=1), call("toolu_2", command="ls")]
    asking = Workspace(workspace.root, confirm=interrupt)
    broken_off(KeyboardInterrupt, script(say(*calls)), asking, session)
    assert session.pending == ("toolu_2",)
    seen = []
    go(script(say("Ah.")), workspace, session, "Go on.", seen=seen)
    first, second = of_type(seen[0]["messages"][-2], "tool_result")
    assert first["content"].startswith("line 0 of the text")
    assert (second["content"], second["is_error"]) == (INTERRUPTED, True)
    assert prompt(seen[0]) == "Go on."


def test_ctrl_c_in_a_request_keeps_all_before_it(workspace, session):
    brain = script(say(call("toolu_1", "read_file", path="a.txt")), interrupt)
    broken_off(KeyboardInterrupt, brain, workspace, session)
    assert [m["role"] for m in session.history] == ["user", "assistant", "user"]
    (turn,) = go(script(say("Done.")), workspace, load(session.path), None)
    assert turn.context == session.history


def test_ctrl_c_in_the_summary_call_changes_nothing(workspace, session):
    calls = [say(call(f"toolu_{n}", "read_file", path="a.txt", offset=n)) for n in range(4)]
    compacting = say(call("toolu_c", "compact"))
    broken_off(KeyboardInterrupt, script(*calls, compacting, interrupt), workspace, session)
    assert session.compactions == []
    assert len(session.history) == len(session.context) == 11
    seen = []
    brain = script(say("A summary."), say("Done."))
    (turn,) = go(brain, workspace, load(session.path), None, seen=seen)
    assert asks_for_summary(seen[0])
    assert turn.step.compaction == "manual"


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (529, 3)])
def test_an_api_error_passes_through_and_the_run_can_go_on(workspace, session, status, tries):
    failures = [error(status, "Nothing can be done")] * tries
    brain = script(say(think("hm"), call("toolu_1", "read_file", path="a.txt")), *failures)
    caught = broken_off(anthropic.APIStatusError, brain, workspace, session, retries=2)
    assert caught.status_code == status
    assert "Nothing can be done" in str(caught)
    assert violation(session.context) is None
    (turn,) = go(script(say("Done.")), workspace, load(session.path), None)
    assert turn.context == session.history
