"""Session files of other agents: each told by its content, and read into what it sent
and paid.

The fixtures are written here, by the formats that each agent's own source publishes.
"""

import copy
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import session_report as sessions
from agentlib.auto_compact import summary_text
from agentlib.messages import of_type, result_text
from agentlib.settings import Settings
from agentlib.transcripts import Session
from offline_api import violation
from session_report.playback import replay
from tests.benchmarks import count_sessions
from tests.real_sessions import FILES
from tests.strategies import result, text, use

Line = dict[str, Any]


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}.000Z"


def load(folder: Path, *lines: Line, name: str = "theirs.jsonl") -> Session:
    path = folder / name
    path.write_text(
        "".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8"
    )
    return sessions.load(path)


def paid(session: Session) -> list[tuple[int, ...]]:
    """Tokens of each request: uncached, written, read, answered."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return [
        tuple(r.usage.get(n, 0) for n in (*names, "output_tokens"))
        for r in session.requests
    ]


def contexts(session: Session) -> list[list[Any]]:
    return [
        [brief(message) for message in request.context] for request in session.requests
    ]


def brief(message: Line) -> Any:
    content = message["content"]
    blocks = [text(content)] if isinstance(content, str) else content
    if message["role"] == "user" and "[Conversation compressed" in str(
        blocks[0].get("text")
    ):
        return f"summary: {summary_text(message)}"
    return [
        block.get("text") or block.get("id") or block.get("tool_use_id")
        for block in blocks
    ]


# -- pi --------------------------------------------------------------------------------


def pi(name: str, second: int, **entry: Any) -> Line:
    kind = {"type": "message"} if "message" in entry else {}
    return {**kind, "id": name, "parentId": None, "timestamp": at(second), **entry}


def pi_reply(name: str, second: int, *content: Line, stop: str = "toolUse") -> Line:
    usage = {
        "input": 3,
        "output": 5,
        "cacheRead": 90,
        "cacheWrite": 7,
        "totalTokens": 105,
    }
    message = {
        "role": "assistant",
        "content": list(content),
        "model": "m",
        "usage": usage,
    }
    return pi(name, second, message={**message, "stopReason": stop})


def pi_call(name: str) -> Line:
    return {
        "type": "toolCall",
        "id": name,
        "name": "read",
        "arguments": {"path": "a.py"},
    }


def pi_result(name: str, second: int, call: str) -> Line:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    message = {
        "role": "toolResult",
        "toolCallId": call,
        "content": [text("x = 1"), image],
    }
    return pi(name, second, message={**message, "isError": False})


HEADER = {
    "type": "session",
    "version": 3,
    "id": "s",
    "timestamp": at(0),
    "cwd": "/repo",
}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "abc"}
PI = [
    HEADER,
    pi("u1", 1, message={"role": "user", "content": "Fix it."}),
    pi_reply("a1", 3, THOUGHT, text("Look."), pi_call("t1")),
    pi_result("r1", 4, "t1"),
    pi("b1", 5, message={"role": "bashExecution", "command": "ls", "output": "a.py"}),
    pi("x1", 6, type="model_change", provider="p", modelId="n"),
    pi_reply("a2", 8, pi_call("t2"), stop="aborted"),
    pi_reply("a3", 9, pi_call("t3")),
    pi_result("r3", 10, "t3"),
    pi(
        "c1",
        11,
        type="compaction",
        summary="Short.",
        firstKeptEntryId="x1",
        tokensBefore=99,
    ),
    pi_reply("a4", 12, text("Done."), stop="stop"),
]


def test_pi_says_what_it_sent_and_paid(tmp_path: Path) -> None:
    session = load(tmp_path, *PI)
    assert contexts(session) == [
        [["Fix it."]],
        *[[["Fix it."], [None, "Look.", "t1"], ["t1"], ["Ran `ls`\na.py"]]] * 2,
        ["summary: Short.", ["t3"], ["t3"]],
    ]
    assert paid(session) == [(3, 7, 90, 5)] * 4
    assert [request.stop_reason for request in session.requests] == [
        "tool_use",
        "aborted",
        "tool_use",
        "end_turn",
    ]
    assert session.requests[0].usage["model"] == "m"
    thinking, *_ = session.history[1]["content"]
    assert thinking == {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
    (kept,) = of_type(session.history[2], "tool_result")
    assert result_text(kept) == "x = 1\n[image]"
    assert session.compactions[0].tokens_before == 99
    assert [request.at % 60 for request in session.requests] == [1, 5, 8, 11]


def test_pi_version_1_names_what_it_kept_by_a_number(tmp_path: Path) -> None:
    entries: list[Line] = [{k: v for k, v in line.items() if k != "id"} for line in PI]
    entries[9] = {**entries[9], "firstKeptEntryIndex": 7}
    del entries[9]["firstKeptEntryId"]
    assert contexts(load(tmp_path, *entries)) == contexts(load(tmp_path, *PI))


def test_pi_keeps_from_the_model_what_the_person_kept_from_it(tmp_path: Path) -> None:
    ran = {
        "role": "bashExecution",
        "command": "ls",
        "output": "a",
        "excludeFromContext": True,
    }
    custom = pi(
        "x",
        3,
        type="custom_message",
        content="A reminder.",
        customType="y",
        display=False,
    )
    branch = pi("y", 4, type="branch_summary", fromId="u1", summary="Tried it.")
    state = pi("z", 5, type="custom", customType="y", data={"content": "no"})
    first = pi("u1", 1, message={"role": "user", "content": [text("Go.")]})
    last = pi_reply("a1", 6, text("Done."), stop="stop")
    session = load(
        tmp_path, HEADER, first, pi("b", 2, message=ran), custom, branch, state, last
    )
    assert contexts(session) == [[["Go."], ["A reminder."], ["Tried it."]]]


# -- Codex -----------------------------------------------------------------------------


def codex(second: int, kind: str, **payload: Any) -> Line:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def item(second: int, kind: str, **payload: Any) -> Line:
    return codex(second, "response_item", **{"type": kind, **payload})


def said(second: int, role: str, words: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(second, "message", role=role, content=[{"type": kind, "text": words}])


def called(second: int, name: str) -> Line:
    given = json.dumps({"cmd": "cat a.py"})
    return item(
        second, "function_call", name="exec_command", arguments=given, call_id=name
    )


def output(second: int, name: str, kind: str = "function_call_output") -> Line:
    return item(second, kind, call_id=name, output="x = 1")


def count(second: int, total: int, prompt: int, cached: int = 0, read: int = 0) -> Line:
    """A count of tokens. `total`, `read`: the sums of all prompts so far."""
    last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": 5}
    sums = {"input_tokens": total, "cached_input_tokens": read}
    info = {"total_token_usage": sums, "last_token_usage": last}
    return codex(second, "event_msg", type="token_count", info=info, rate_limits={})


META = codex(0, "session_meta", id="s", cwd="/repo", cli_version="0.104.0")
TURN = codex(1, "turn_context", model="gpt-x", cwd="/repo")
REASONING = item(3, "reasoning", summary=[{"text": "Hm."}], encrypted_content="gAAA")
CODEX = [
    META,
    said(1, "developer", "Be brief."),
    TURN,
    said(1, "user", "Fix it."),
    codex(1, "event_msg", type="user_message", message="Fix it."),
    codex(2, "event_msg", type="token_count", info=None, rate_limits={}),
    REASONING,
    said(4, "assistant", "Look."),
    codex(4, "event_msg", type="agent_message", message="Look."),
    called(4, "t1"),
    called(4, "t2"),
    count(5, 100, 100, 60, 60),
    output(6, "t2"),
    output(7, "t1"),
    count(8, 100, 100, 60, 60),
    item(
        9, "custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="t3"
    ),
    count(10, 210, 110, 100, 160),
    output(11, "t3", "custom_tool_call_output"),
    said(12, "assistant", "Done."),
    count(13, 325, 115, 110, 270),
]


def test_codex_says_what_it_sent_and_paid(tmp_path: Path) -> None:
    session = load(tmp_path, *CODEX)
    first = [["Be brief."], ["Fix it."]]
    second = [*first, [None, "Look.", "t1", "t2"], ["t2", "t1"]]
    assert contexts(session) == [first, second, [*second, ["t3"], ["t3"]]]
    assert paid(session) == [(40, 0, 60, 5), (10, 0, 100, 5), (5, 0, 110, 5)]
    assert session.requests[0].usage["model"] == "gpt-x"
    thinking, _, call, _ = session.requests[0].reply["content"]
    assert thinking == {"type": "thinking", "thinking": "Hm."}
    assert call["input"] == {"cmd": "cat a.py"}
    (patch,) = session.requests[1].reply["content"]
    assert (patch["name"], patch["input"]) == (
        "apply_patch",
        {"input": "*** Begin Patch"},
    )
    assert [request.at % 60 for request in session.requests] == [1, 7, 11]


def test_codex_of_2025_wrote_the_bill_before_the_reply(tmp_path: Path) -> None:
    lines = [META, TURN, said(1, "user", "Fix it."), count(2, 105, 100), REASONING]
    lines += [called(3, "t1"), output(3, "t1"), called(3, "t2"), output(3, "t2")]
    lines += [
        count(4, 215, 110),
        said(5, "assistant", "Done."),
        said(6, "user", "More."),
    ]
    session = load(tmp_path, *lines, count(7, 335, 120), said(8, "assistant", "No."))
    assert [len(request.context) for request in session.requests] == [1, 3, 5]
    assert [prompt for prompt, *_ in paid(session)] == [100, 110, 120]


def test_a_reply_of_codex_that_was_cut_short_has_no_bill(tmp_path: Path) -> None:
    lines = [
        META,
        said(1, "user", "One."),
        said(2, "assistant", "So"),
        said(3, "user", "Two."),
    ]
    session = load(tmp_path, *lines, said(4, "assistant", "Yes."), count(5, 105, 100))
    assert [request.usage.get("input_tokens") for request in session.requests] == [
        None,
        100,
    ]


def test_codex_keeps_what_its_replacement_repeats(tmp_path: Path) -> None:
    kept = [
        said(0, "user", "Fix it.")["payload"],
        said(0, "developer", "Be brief.")["payload"],
    ]
    summary = said(0, "user", "A summary.")["payload"]
    opaque = {"type": "compaction", "encrypted_content": "gAAA"}
    lines = [*CODEX, count(14, 500, 170)]
    compacted = codex(
        15, "compacted", message="", replacement_history=[*kept, summary, opaque]
    )
    last = [
        said(16, "user", "More."),
        said(17, "assistant", "No."),
        count(18, 620, 120),
    ]
    session = load(tmp_path, *lines, compacted, *last)
    assert contexts(session)[-1] == [
        ["Be brief."],
        ["Fix it."],
        "summary: A summary.",
        ["More."],
    ]
    assert [prompt for prompt, *_ in paid(session)] == [40, 10, 5, 120]
    (compaction,) = session.compactions
    assert [usage["input_tokens"] for usage in compaction.usage] == [170]


@pytest.mark.parametrize(
    ("message", "summary"), [("Short.", "Short."), ("", "not in the file")]
)
def test_older_codex_has_only_the_message_and_remote_ones_have_none(
    tmp_path: Path, message: str, summary: str
) -> None:
    lines = [*CODEX, codex(15, "compacted", message=message), said(16, "user", "More.")]
    session = load(tmp_path, *lines, said(17, "assistant", "No."))
    head, _ = contexts(session)[-1]
    assert summary in head


# -- gemini-cli ------------------------------------------------------------------------


def gemini(name: str, second: int, kind: str, content: Any, **more: Any) -> Line:
    return {
        "id": name,
        "timestamp": at(second),
        "type": kind,
        "content": content,
        **more,
    }


def tokens(prompt: int, cached: int) -> Line:
    return {
        "input": prompt,
        "cached": cached,
        "output": 5,
        "thoughts": 2,
        "tool": 1,
        "total": 0,
    }


def gemini_call(name: str, *more: Line) -> Line:
    answered = {"id": name, "name": "read_file", "response": {"output": "x = 1"}}
    done = {"result": [{"functionResponse": answered}, *more], "status": "success"}
    return {"id": name, "name": "read_file", "args": {"absolute_path": "a.py"}, **done}


HEAD = {"sessionId": "s", "projectHash": "h", "startTime": at(0), "lastUpdated": at(0)}
MODEL = {"model": "gemini-x"}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
IDEA = {"subject": "Plan", "description": "Read it.", "timestamp": at(2)}
GEMINI = [
    gemini("u1", 1, "user", [{"text": "Fix it."}]),
    gemini("g1", 3, "gemini", "", thoughts=[IDEA], tokens=tokens(100, 60), **MODEL),
    gemini("i1", 4, "info", "Request cancelled."),
    gemini("g2", 6, "gemini", "Done.", tokens=tokens(110, 100), **MODEL),
]
GEMINI[1]["toolCalls"] = [gemini_call("t1", IMAGE), gemini_call("t2")]
WHOLE = {**HEAD, "messages": GEMINI}


def in_lines() -> Iterator[Line]:
    """The same in the newer form, where a message is written again when it has
    changed."""
    yield {**HEAD, "kind": "main"}
    yield {"$set": {"messages": GEMINI[:1]}}
    draft: Line = {**GEMINI[1], "tokens": None, "toolCalls": []}
    yield from (
        draft,
        {"$set": {"lastUpdated": at(3)}},
        {**draft, "tokens": tokens(100, 60)},
    )
    yield from (GEMINI[1], GEMINI[1], *GEMINI[2:], {"$set": {"messages": GEMINI}})


@pytest.mark.parametrize("form", ["indented", "in a line", "in lines"])
def test_gemini_says_what_it_sent_and_paid(tmp_path: Path, form: str) -> None:
    if form == "indented":
        (tmp_path / "session-1.json").write_text(json.dumps(WHOLE, indent=2))
        session = sessions.load(tmp_path / "session-1.json")
    else:
        session = load(tmp_path, *([WHOLE] if form == "in a line" else in_lines()))
    first = [["Fix it."]]
    assert contexts(session) == [first, [*first, [None, "t1", "t2"], ["t1", "t2"]]]
    assert paid(session) == [(41, 0, 60, 7), (11, 0, 100, 7)]
    assert [request.stop_reason for request in session.requests] == [
        "tool_use",
        "end_turn",
    ]
    assert session.requests[0].usage["model"] == "gemini-x"
    assert session.history[1]["content"][0]["thinking"] == "Plan: Read it."
    results = of_type(session.history[2], "tool_result")
    assert list(map(result_text, results)) == ["x = 1\n[image]", "x = 1"]
    assert session.requests[0].at % 60 == 1
    assert session.damage == []


def test_a_history_of_gemini_that_lacks_messages_was_compacted(tmp_path: Path) -> None:
    summary = gemini("n1", 7, "user", [{"text": "Short."}])
    synthetic = gemini("n2", 7, "gemini", "Got it.")
    changed = {
        "$set": {"messages": [summary, synthetic, GEMINI[3]], "lastUpdated": at(7)}
    }
    last = gemini("g3", 9, "gemini", "Bye.", tokens=tokens(50, 0), **MODEL)
    session = load(
        tmp_path, HEAD, *GEMINI, changed, gemini("u2", 8, "user", "And?"), last
    )
    assert contexts(session)[-1] == ["summary: Short.", ["Done."], ["And?"]]
    assert len(session.requests) == 3


# -- all of them -----------------------------------------------------------------------

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


JUNK: list[Any] = [
    None,
    7,
    -1.5,
    True,
    "",
    "x",
    "\ud800",
    [],
    {},
    [1],
    [{}],
    {"type": 1},
    10**400,
]


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
    ours, told = (
        Session.create(tmp_path, settings=Settings(), session_id="s"),
        list[int](),
    )
    ours.say("Fix it.", at=1)
    assert sessions.load(tmp_path / "s.jsonl", told.append).history == ours.history
    assert sum(told) == (tmp_path / "s.jsonl").stat().st_size


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value inside a line."""
    yield path
    match value:
        case list():
            inside: Any = enumerate(cast(list[Any], value))
        case dict():
            inside = cast(Line, value).items()
        case _:
            inside = ()
    for key, each in inside:
        yield from places(each, (*path, key))


def spoiled(line: Line, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    line = copy.deepcopy(line)
    inside: Any = line
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = junk
    return line


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
def test_whatever_stands_in_a_field_the_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    lines, folder = EXAMPLES[name], tmp_path_factory.mktemp("spoiled")
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

    once = [line("u", "user", "Fix it."), line("a", "assistant", [use("t1")])]
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
