"""Sessions: what is noted and when, what a file is worth after an accident, snapshots, recall."""

import json
from pathlib import Path

import pytest
from fakes import Clock, asks_for_summary, bare, call, client, lines_of, say, worker
from runs import READ, SMALL, a_session, a_workspace, go

from agentlib import loop
from agentlib.messages import of_type, result_text
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return a_workspace(tmp_path)


def test_every_message_is_on_disk_before_the_next_request(tmp_path, workspace):
    session = a_session(tmp_path)
    work, asked = worker(12), []

    def brain(body):
        noted = load(session.path)
        told = body["messages"][:-1] if asks_for_summary(body) else body["messages"]
        asked.append(len(told))
        if not asks_for_summary(body):
            assert bare(noted.context) == bare(told)
        assert bare(noted.history) == bare(session.history)
        return work(body)

    go(brain, workspace, session)
    assert len(asked) > 14
    assert any(c.failure is None for c in session.compactions)


def test_history_only_grows_and_holds_every_result_whole(tmp_path, workspace):
    session, before = a_session(tmp_path), []
    for _ in loop.run(client(worker(12)), "Go.", workspace, settings=SMALL, session=session):
        assert session.history[: len(before)] == before
        before = list(session.history)
    results = [r for m in session.history for r in of_type(m, "tool_result")]
    assert [result_text(r) for r in results] == [READ] * 12
    assert sum(len(of_type(m, "tool_result")) for m in session.context) < 12


def test_pending_are_the_calls_without_a_result(tmp_path):
    session = a_session(tmp_path)
    assert session.pending == ()
    session.say("Go.", at=0)
    session.reply(say(call("toolu_1"), call("toolu_2"), call("toolu_3")), at=1)
    session.answer({"type": "tool_result", "tool_use_id": "toolu_2", "content": "ok"}, at=2)
    assert session.pending == ("toolu_1", "toolu_3")
    assert load(session.path).pending == ("toolu_1", "toolu_3")


def test_an_unknown_line_changes_nothing(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(4), workspace, session)
    known = session.path.read_text(encoding="utf-8").splitlines()
    strange = [{"type": "file-history-snapshot"}, {"type": "system", "subtype": "new"}, {"a": 1}]
    mixed = [text for line in known for text in (line, *map(json.dumps, strange))]
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join(mixed), encoding="utf-8")
    loaded = load(path)
    for name in ("history", "context", "requests", "compactions", "settled", "settings", "system"):
        assert getattr(loaded, name) == getattr(session, name)
    assert loaded.skipped == []


@pytest.mark.parametrize("text", ["", "a shopping list\nmilk\n", '{"type": "user"}\n', "[1]\n"])
def test_another_file_is_refused_by_name(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"notes\.txt is not a session file: none of its \d lines"):
        load(path)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "user", "message": {"role": "user"}},
        {"type": "user", "message": None},
        {"type": "assistant", "message": {"content": "x"}},
        {"type": "system", "subtype": "agentlib_settings"},
    ],
)
def test_a_line_that_was_cut_by_hand_is_refused_by_number(tmp_path, line):
    path = tmp_path / "cut.jsonl"
    whole = {"type": "mode", "sessionId": "cut", "uuid": "1"}
    path.write_text(f"{json.dumps(whole)}\n{json.dumps({**line, 'uuid': '2'})}\n", "utf-8")
    with pytest.raises(ValueError, match=f"line 2 of the session, of type '{line['type']}', is"):
        load(path)


def test_a_compaction_takes_effect_with_its_summary(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(12), workspace, session)
    lines = lines_of(session.path)
    at = next(i for i, line in enumerate(lines) if line.get("subtype") == "compact_boundary")

    def folded(stop: int) -> Session:
        session = Session(session_id="s")
        for line in lines[:stop]:
            session.fold(line)
        return session

    old, half, new = folded(at), folded(at + 1), folded(at + 2)
    assert (half.context, half.compactions, half.settled) == (old.context, [], old.settled)
    assert new.context[0]["content"][0]["text"].startswith("[Conversation compressed. Transcript:")
    assert len(new.compactions) == 1
    assert half.history == old.history == new.history


def test_a_settings_line_opens_the_file_and_each_resume(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(1), workspace, session)
    go(worker(1, "b"), workspace, session, "The same session goes on.")
    go(worker(1, "c"), workspace, load(session.path), "Resumed.")
    kinds = [line.get("subtype") or line["type"] for line in lines_of(session.path)]
    assert kinds[0] == "agentlib_settings"
    assert [i for i, kind in enumerate(kinds) if kind == "agentlib_settings"] == [0, 1, 10]
    assert load(session.path).settings == SMALL


def test_snapshots_never_share_a_name_and_never_overwrite(tmp_path):
    (tmp_path / "transcript_x_1.jsonl").write_text("mine")
    said = [{"role": "user", "content": "é中"}]
    session = Session(session_id="x", archives=tmp_path, history=said)
    names = [session.archive() for _ in range(3)]
    assert names == [f"transcript_x_{n}.jsonl" for n in (2, 3, 4)]
    assert (tmp_path / "transcript_x_1.jsonl").read_text() == "mine"
    assert lines_of(tmp_path / names[0]) == said


def test_without_a_session_file_each_compaction_saves_the_whole_history(tmp_path, workspace):
    turns = list(loop.run(client(worker(12)), "Go.", workspace, settings=SMALL, clock=Clock()))
    made = [t.step.archive for t in turns if t.step.compaction == "auto"]
    assert len(made) >= 2
    folder = workspace.root / ".transcripts"
    assert sorted(p.name for p in folder.iterdir()) == made
    assert made == [f"transcript_1760000001_{n}.jsonl" for n in range(1, len(made) + 1)]
    results = [r for m in lines_of(folder / made[-1]) for r in of_type(m, "tool_result")]
    assert len(results) >= 8
    assert any(turn.step.cleared for turn in turns)
    assert {result_text(r) for r in results} == {READ}


def test_with_a_session_file_the_archive_is_a_place_in_it(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(12), workspace, session)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["s.jsonl"]
    lines = {line["uuid"]: line for line in lines_of(session.path)}
    for compaction in session.compactions:
        name, _, uuid = compaction.archive.partition("#")
        assert name == "s.jsonl"
        assert lines[uuid]["type"] == "user"


def test_recall_returns_what_was_cleared_and_compacted_and_loaded(tmp_path, workspace):
    session = a_session(tmp_path)
    go(worker(12), workspace, session)
    assert any(c.failure is None for c in session.compactions)
    for name in ("toolu_1", "toolu_6", "toolu_12"):
        assert session.recall(name) == load(session.path).recall(name) == READ
    with pytest.raises(KeyError, match="toolu_99"):
        session.recall("toolu_99")


def test_the_agent_recalls_a_cleared_result(tmp_path, workspace):
    settings = Settings(context_window=8_000, output_reserve=400, buffer=400, recall=True)
    session, seen, read_on = a_session(tmp_path, settings), [], worker(5)

    def brain(body):
        if len(seen) == 6:
            return say(call("toolu_r", "recall", tool_use_id="toolu_1"))
        if len(seen) == 7:
            return say(call("toolu_w", "recall", tool_use_id="toolu_wrong"))
        return read_on(body)

    options = {"settings": settings, "session": session, "clock": Clock()}
    list(loop.run(client(brain, seen), "Go.", workspace, **options))
    assert "recall" in [tool["name"] for tool in seen[0]["tools"]]
    first = of_type(seen[5]["messages"][2], "tool_result")[0]
    assert first["content"] == "[Previous: used read_file; recall toolu_1 returns it]"
    assert seen[6]["messages"][-1]["content"][0]["content"] == READ
    wrong = seen[7]["messages"][-1]["content"][0]
    assert wrong["is_error"]
    assert "toolu_wrong" in wrong["content"]
