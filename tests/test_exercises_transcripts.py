"""The checkers of lesson 05 tell a right answer from each of the usual wrong ones, and say why."""

import json
from pathlib import Path

import pytest

from agentlib.lab.lessons import check, transcripts
from agentlib.lab.play import play
from agentlib.lab.sessions.table import rows
from agentlib.lab.tasks.scenarios import REVIEW
from agentlib.messages import blocks
from agentlib.transcripts import INTERRUPTED


def one_array(messages, folder, now):
    (folder / f"transcript_{int(now)}.jsonl").write_text(json.dumps(messages, default=str))


def exact_time(messages, folder, now):
    (folder / f"transcript_{now}.jsonl").write_text("")


def texts(messages, folder, now):
    lines = "\n".join(str(message) for message in messages)
    (folder / f"transcript_{int(now)}.jsonl").write_text(lines, encoding="utf-8")


def contents(messages, folder, now):
    lines = "\n".join(json.dumps(m["content"], default=str) for m in messages)
    (folder / f"transcript_{int(now)}.jsonl").write_text(lines, encoding="utf-8")


def emptied(folder: Path, second: int) -> Path:
    number = len(list(folder.iterdir())) + 1
    for path in folder.iterdir():
        path.write_text("")
    path = folder / f"transcript_{second}_{number}.jsonl"
    path.touch()
    return path


def not_made(folder: Path, second: int) -> Path:
    return folder / f"transcript_{second}_{len(list(folder.iterdir()))}.jsonl"


def other_name(folder: Path, second: int) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.jsonl"
    path.touch()
    return path


def used(folder: Path, second: int) -> Path:
    (folder / "transcript_x").write_text("not new")
    return folder / "transcript_x"


def edited(message):
    if not isinstance(message["content"], str):
        message["content"] = [b if isinstance(b, dict) else b.to_dict() for b in message["content"]]
    return message


def as_strings(message):
    return json.loads(json.dumps(message, default=str))


def as_model_dumps(message):
    content = message["content"]
    if not isinstance(content, str):
        content = [b if isinstance(b, dict) else b.model_dump() for b in content]
    return {**message, "content": content}


def as_blocks(message):
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return {**message, "content": [b if isinstance(b, dict) else b.to_dict() for b in content]}


def answers(names, **more):
    return [{"type": "tool_result", "tool_use_id": n, "content": "lost", **more} for n in names]


@pytest.mark.parametrize(
    ("name", "answer", "why"),
    [
        ("05.1", lambda *_: None, "holds nothing"),
        ("05.1", exact_time, "it should hold transcript_1760000000.jsonl"),
        ("05.1", one_array, "3 messages became 1 lines"),
        ("05.1", texts, "is no JSON"),
        ("05.1", contents, "is no message"),
        ("05.2", lambda message: None, "returned None"),
        ("05.2", edited, "edited the message"),
        ("05.2", as_strings, "a block is a string now"),
        ("05.2", as_model_dumps, "the API knows only"),
        ("05.2", as_blocks, "should stay as it is"),
        ("05.2", lambda message: message, "json.dumps still refuses"),
        ("05.3", lambda folder, second: None, "return the path"),
        ("05.3", lambda folder, second: folder / "transcript_1", "is not there yet"),
        ("05.3", not_made, "is not there yet"),
        ("05.3", used, "is not empty"),
        ("05.3", other_name, "0.jsonl does not begin with transcript_"),
        ("05.3", emptied, "emptied the file of an earlier one"),
        ("05.4", {"history": 5, "context": 3}, "give a dict with history, context, whole"),
        ("05.4", {"history": None, "context": 3, "whole": 3}, "history is None"),
        ("05.4", {"history": 6, "context": 3, "whole": 3}, "results of one turn are one message"),
        ("05.4", {"history": 5, "context": 2, "whole": 3}, "context is not 2: it is the summary"),
        ("05.4", {"history": 5, "context": 3, "whole": 2}, "changes the view, never the history"),
        ("05.5", lambda session: None, "return a list"),
        ("05.5", lambda s: answers(["toolu_1", "toolu_2", "toolu_3"]), "toolu_2 has its result"),
        ("05.5", lambda session: answers(session.pending), "is_error"),
        ("05.5", lambda s: [{"tool_use_id": n} for n in s.pending], "is no tool_result"),
        ("05.5", lambda s: s.say("x", at=3) or [], "it changed the session"),
        ("05.6", None, "is no turn"),
        ("05.6", 14, "go back"),
        ("05.6", 12, "at turn 13 it is in view still"),
        ("05.6", 1, "not read yet"),
    ],
)
def test_a_usual_mistake_is_told_what_it_is(name, answer, why):
    verdict = check(name, answer)
    assert not verdict.passed
    assert why in verdict.says


def test_the_loops_own_words_are_recognised():
    said = check("05.5", lambda s: [{**a, "content": INTERRUPTED} for a in right(s)])
    assert said.passed
    assert "in the loop's own words" in said.says
    assert check("05.5", right).says == "each call has one result now."


def right(session):
    return answers(session.pending, is_error=True)


def test_the_fact_is_in_view_up_to_one_turn_and_never_after():
    seen = transcripts.turns_in_view()
    assert seen == list(range(seen[0], 14))
    assert check("05.6", 13).passed


def test_every_block_of_a_long_session_has_one_row():
    session = play(REVIEW, transcripts.START).session  # the run that exercise 05.6 asks about
    found = rows(session)
    said = sum(len(blocks(message)) for message in session.history)
    assert len(found) == said + len(session.compactions)
    turns = [row.turn for row in found]
    assert turns == sorted(turns)
    assert {row.state for row in found} == {"in view", "summarised", "the answer"}
    held = sum(len(blocks(m)) for m in session.requests[-1].context)
    assert sum(row.state == "in view" for row in found) == held
