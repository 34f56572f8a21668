"""Session files of other agents: each told by its content, read whatever stands in it,
and counted the same by a parser of its own."""

import json
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import session_report as sessions
from agentlib.settings import Settings
from agentlib.transcripts import Session
from offline_api import violation
from session_report.playback import replay
from tests.benchmarks import count_sessions
from tests.builders import call, result
from tests.real_sessions import FILES
from tests.session_report.session_files import JUNK, Line, load, places, spoiled
from tests.session_report.test_codex import CODEX
from tests.session_report.test_gemini import WHOLE, in_lines
from tests.session_report.test_pi import PI

EXAMPLES: dict[str, list[Line]] = {
    "pi": PI,
    "Codex": CODEX,
    "gemini-cli": [*in_lines()],
    "gemini-cli, whole": [WHOLE],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_parser_of_its_own_counts_the_same(tmp_path: Path, name: str) -> None:
    load(tmp_path, *EXAMPLES[name])
    path = tmp_path / "theirs.jsonl"
    assert count_sessions.by_reader(path) == count_sessions.by_hand(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_parser_of_its_own_counts_the_same_in_a_real_file(path: Path) -> None:
    assert count_sessions.by_reader(path) == count_sessions.by_hand(path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_session_of_another_agent_replays_and_its_contexts_break_no_rule(
    tmp_path: Path, name: str
) -> None:
    session = load(tmp_path, *EXAMPLES[name])
    assert {violation(request.context) for request in session.requests} == {None}
    assert len(replay(session, Settings())) == len(session.requests)
    assert (session.path, session.damage, session.skipped) == (None, [], [])


def test_a_file_that_nobody_knows_is_refused_with_what_was_looked_for(
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match=r"theirs\.jsonl.*no conversation") as told:
        load(tmp_path, {"type": "event", "action": "run"}, {"messages": []})
    assert all(name in str(told.value) for name in sessions.FORMATS)


def test_each_byte_of_a_file_is_told_to_progress(tmp_path: Path) -> None:
    for name, lines in EXAMPLES.items():
        load(tmp_path, *lines)
        told = list[int]()
        sessions.load(tmp_path / "theirs.jsonl", told.append)
        assert sum(told) == (tmp_path / "theirs.jsonl").stat().st_size, name
    ours = Session.create(tmp_path, settings=Settings(), session_id="s")
    told = list[int]()
    ours.say("Fix it.", at=1)
    assert sessions.load(tmp_path / "s.jsonl", told.append).history == ours.history
    assert sum(told) == (tmp_path / "s.jsonl").stat().st_size


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
def test_whatever_stands_in_a_field_the_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    lines = EXAMPLES[name]
    folder = tmp_path_factory.mktemp("spoiled")
    number = data.draw(st.integers(0, len(lines) - 1))
    path = data.draw(st.sampled_from([*places(lines[number])]))
    junk = data.draw(st.sampled_from(JUNK))
    changed = spoiled(lines[number], path, junk)
    with suppress(ValueError):  # and nothing else
        session = load(folder, *lines[:number], changed, *lines[number + 1 :])
        assert {violation(request.context) for request in session.requests} <= {None}
        assert len(replay(session, Settings())) == len(session.requests)


def test_memory_is_bounded_by_what_is_different_in_a_file(tmp_path: Path) -> None:
    def line(uuid: str, role: str, content: Any, **more: Any) -> str:
        message = {"role": role, "content": content, "id": f"msg_{uuid}"}
        return json.dumps({"type": role, "uuid": uuid, "message": message, **more})

    once = [line("u", "user", "Fix it."), line("a", "assistant", [call("t1")])]
    once.append(
        line("r", "user", [result("t1", "x" * 9_000)], toolUseResult="x" * 9_000)
    )
    once.append(json.dumps({"type": "progress", "uuid": "p", "data": "x" * 9_000}))
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(once * 200))
    tracemalloc.start()
    session = sessions.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(session.history), path.stat().st_size > 5_000_000) == (3, True)
    assert peak < 500_000
