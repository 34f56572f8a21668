"""Claude Code's files: what is odd in them, one by one, and every preset over real
files.

`REAL_SESSIONS=DIR` names a folder of real files. Nothing of them is in the project.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import session_report as sessions
from agentlib import transcripts
from agentlib.compaction.hooks import recent_files
from agentlib.messages import INTERRUPTED, of_type, result_text
from agentlib.presets import ALL, CLAUDE_CODE
from agentlib.session import file as session_file
from agentlib.settings import Settings
from agentlib.transcripts import Session
from offline_api import violation
from session_report import MISSING
from session_report.playback import replay
from session_report.recorded import Recorded
from session_report.tools import files_of, kind_of
from tests.builders import call, result, text
from tests.real_sessions import FILES
from tests.session_report.session_files import Line, replied, said

BILLED = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 7,
    "cache_read_input_tokens": 90,
}


def user(uuid: str, content: Any, second: int = 0, **more: Any) -> Line:
    return said(second, content, **{"uuid": uuid, **more})


def reply(name: str, block: Any, second: int = 0, output: int = 1, **more: Any) -> Line:
    usage = {
        **BILLED,
        "output_tokens": output,
        "cache_creation": {"ephemeral_5m_input_tokens": 7},
    }
    content = [block] if isinstance(block, dict) else block
    own = {"uuid": f"{name}-{json.dumps(block)}", **more}
    return replied(second, usage, content, name=name, stop=None, model="m", **own)


def lost(name: str) -> Line:
    return {**result(name, INTERRUPTED), "is_error": True}


def boundary(**metadata: Any) -> Line:
    line = user("b", "", logicalParentUuid="not in this file", compactMetadata=metadata)
    return {**line, "type": "system", "subtype": "compact_boundary"}


def load(folder: Path, *lines: Line | str) -> Session:
    path = folder / "theirs.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{line}\n" for line in texts), encoding="utf-8")
    return sessions.load(path)


def brief(message: Line) -> Any:
    """The first letter of a message's role, and its one block or its blocks."""
    content = message["content"]
    return message["role"][0], content[0] if len(content) == 1 else content


def test_lines_of_one_response_are_one_message_one_request_and_one_bill(
    tmp_path: Path,
) -> None:
    lines = [reply("msg_1", text("Look"), 5, 144), reply("msg_1", call("t1"), 6, 8)]
    session = load(tmp_path, user("u", "hi", 2), *lines)
    assert session.history[:2] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [text("Look"), call("t1")]},
    ]
    (request,) = session.requests
    assert request.context == session.history[:1]
    assert request.reply == session.history[1]
    assert {name: request.usage[name] for name in BILLED} == BILLED
    assert (request.usage["output_tokens"], request.stop_reason) == (144, "tool_use")
    assert request.usage["model"] == "m"
    assert session_file.timestamp(request.at) == "2026-01-01T00:00:02.000Z"


def test_results_between_the_lines_of_a_response_are_one_message_after_it(
    tmp_path: Path,
) -> None:
    a, b, c = (reply("msg_1", call(name)) for name in ("t1", "t2", "t3"))
    ra = user("ra", [result("t1", "one")])
    rc = user("rc", [result("t3", "three")])
    rb = user("rb", [result("t2", "two"), text("and hurry")])
    end = reply("msg_2", text("done"))
    session = load(tmp_path, user("u", "go"), a, ra, b, c, rc, rb, end)
    results = [result("t1", "one"), result("t3", "three"), result("t2", "two")]
    assert list(map(brief, session.requests[1].context)) == [
        ("u", "go"),
        ("a", [call("t1"), call("t2"), call("t3")]),
        ("u", results),
        ("u", text("and hurry")),
    ]
    assert violation(session.requests[1].context) is None


def test_the_bill_of_a_summary_is_its_compactions(tmp_path: Path) -> None:
    mark = boundary(preTokens=900, usage=[{"input_tokens": 900, "output_tokens": 30}])
    summary = user("s", "It went well.", isCompactSummary=True)
    lines = [user("u", "go"), reply("msg_1", text("ok")), mark, summary]
    (compaction,) = load(tmp_path, *lines, reply("msg_2", text("on"))).compactions
    assert compaction.tokens_before == 900
    assert [*compaction.usage] == [{"input_tokens": 900, "output_tokens": 30}]


def test_a_call_in_flight_at_a_compaction_gets_a_result_that_says_so(
    tmp_path: Path,
) -> None:
    lines = [user("u", "go"), reply("msg_1", call("t1")), reply("msg_1", call("t2"))]
    summary = user("s", "It went well.", isCompactSummary=True)
    late = [
        user("r", [result("t2")]),
        user("x", [result("gone")]),
        reply("msg_2", text("on")),
    ]
    session = load(
        tmp_path, *lines, boundary(trigger="auto", preTokens=9), summary, *late
    )
    assert brief(session.history[2]) == ("u", [result("t2"), lost("t1")])
    head = "[Conversation compressed. Transcript: theirs.jsonl#"
    (kept,) = session.requests[1].context
    assert kept["content"][0]["text"].startswith(head)
    assert kept["content"][0]["text"].endswith("]\n\nIt went well.\n[End of summary]")
    (compaction,) = session.compactions
    assert (compaction.trigger, compaction.tokens_before, compaction.seen) == (
        "auto",
        9,
        3,
    )
    assert head + compaction.archive.split("#")[1] + "]" in kept["content"][0]["text"]


@pytest.mark.parametrize("kept", ["preservedMessages", "preservedSegment"])
def test_exchanges_that_a_compaction_kept_stand_after_its_summary(
    tmp_path: Path, kept: str
) -> None:
    first = [user("u", "go"), reply("msg_1", call("t1")), user("r1", [result("t1")])]
    second = [reply("msg_2", call("t2")), user("r2", [result("t2")])]
    one = {"headUuid": "r2", "tailUuid": "r2", "anchorUuid": "s"}
    named = {"uuids": ["r2"]} if kept == "preservedMessages" else one
    after = [user("s", "Short.", isCompactSummary=True), reply("msg_3", text("on"))]
    session = load(tmp_path, *first, *second, boundary(**{kept: named}), *after)
    assert list(map(brief, session.requests[2].context))[1:] == [
        ("a", call("t2")),
        ("u", result("t2")),
    ]
    assert len(session.history) == 6


def test_blank_texts_are_left_out_and_an_empty_reply_says_so(tmp_path: Path) -> None:
    lines = [user("u", "go"), user("v", [text(" ")]), reply("msg_1", text("\n\n"))]
    more = [user("w", "on"), reply("msg_2", text("\n\n")), reply("msg_2", text("Yes"))]
    session = load(tmp_path, *lines, *more)
    assert list(map(brief, session.history)) == [
        ("u", "go"),
        ("a", text("(empty reply)")),
        ("u", "on"),
        ("a", text("Yes")),
    ]


def test_extra_keys_go_and_thinking_of_a_signature_alone_stays(tmp_path: Path) -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": "abc"}
    lines = [
        reply("msg_1", thinking),
        reply("msg_1", {**call("t1"), "caller": {"type": "direct"}}),
    ]
    lines.append(user("r", [{**result("t1"), "caller": "direct"}]))
    session = load(tmp_path, user("u", "go"), *lines)
    assert session.history[1]["content"] == [thinking, call("t1")]
    assert session.history[2]["content"] == [result("t1")]


def test_a_copy_of_the_history_under_other_names_counts_once(tmp_path: Path) -> None:
    once = [reply("msg_1", call("t1")), user("r1", [result("t1")])]
    copied = [{**line, "uuid": f"copy of {line['uuid']}"} for line in once]
    renamed = reply("msg_2", [call("t1"), text("on")])
    session = load(tmp_path, user("u", "go"), *once, *copied, renamed)
    assert list(map(brief, session.history)) == [
        ("u", "go"),
        ("a", call("t1")),
        ("u", result("t1")),
        ("a", text("on")),
    ]


def test_what_is_no_part_of_the_conversation_is_left_out(tmp_path: Path) -> None:
    hook = {"type": "progress", "uuid": "p", "timestamp": "2026-01-01T00:00:09Z"}
    failed = reply("msg_0", text("API Error"), isApiErrorMessage=True)
    side = [
        user("s", "sub", isSidechain=True),
        reply("msg_s", text("sub"), isSidechain=True),
    ]
    reminder = user(
        "m", "<system-reminder>Mind the tests.</system-reminder>", isMeta=True
    )
    broken = {"type": "user", "uuid": "n", "message": {"content": [{"type": "text"}]}}
    again = user("u", "go")
    lines = [user("u", "go"), failed, *side, reminder, hook, broken, again]
    session = load(tmp_path, *lines, reply("msg_1", text("ok"), 9))
    (request,) = session.requests
    assert [m["content"] for m in request.context] == [
        "go",
        reminder["message"]["content"],
    ]
    assert session_file.timestamp(request.at) == "2026-01-01T00:00:09.000Z"


def test_words_from_another_root_begin_with_an_empty_context(tmp_path: Path) -> None:
    first = user("u1", "Plan it.", 0, parentUuid=None)
    answer = reply("m1", text("The plan."), 1, parentUuid="u1")
    attached = {"type": "attachment", "uuid": "a1", "parentUuid": None}
    again = user("u2", "Carry out the plan.", 2, parentUuid="a1")
    last = reply("m2", text("Done."), 3, parentUuid="u2")
    session = load(tmp_path, first, answer, attached, again, last)
    assert [len(request.context) for request in session.requests] == [1, 1]
    assert (session.extras.emptied, len(session.history)) == ([2], 4)
    frames = replay(session, Settings())
    assert [len(frame.context) for frame in frames] == [1, 1]


def test_after_a_compaction_the_same_conversation_goes_on(tmp_path: Path) -> None:
    first = user("u1", "Plan it.", 0, parentUuid=None)
    answer = reply("m1", text("The plan."), 1, parentUuid="u1")
    summary = user("s", "A summary.", 2, parentUuid="b", isCompactSummary=True)
    last = reply("m2", text("Done."), 3, parentUuid="s")
    session = load(
        tmp_path, first, answer, boundary() | {"parentUuid": None}, summary, last
    )
    assert session.extras.emptied == []
    assert len(session.compactions) == 1


def branches(session: Session) -> dict[str, int]:
    return {r.usage["id"]: r.usage.get("branch", 0) for r in session.requests}


def test_a_branch_that_a_rewind_left_is_numbered(tmp_path: Path) -> None:
    lines = [
        user("u1", "Plan it.", 0, parentUuid=None),
        reply("m1", text("The plan."), 1, parentUuid="u1"),
        user("u2", "Do it.", 2, parentUuid="m1"),
        reply("m2", text("Done."), 3, parentUuid="u2"),
        user("u3", "Do it again.", 4, parentUuid="m2"),
        reply("m3", text("Again."), 5, parentUuid="u3"),
        user("u4", "Don't.", 6, parentUuid="m1"),
        reply("m4", text("Well."), 7, parentUuid="u4"),
        user("u5", "Or do.", 8, parentUuid="m1"),
        reply("m5", text("Fine."), 9, parentUuid="u5"),
    ]
    for line in lines:
        line["uuid"] = line["message"].get("id") or line["uuid"]
    assert branches(load(tmp_path, *lines)) == {
        "m1": 0,
        "m2": 2,
        "m3": 2,
        "m4": 1,
        "m5": 0,
    }


def test_calls_at_once_and_a_cleared_conversation_are_no_branches(
    tmp_path: Path,
) -> None:
    calls = [
        user("u1", "Read both.", 0, parentUuid=None),
        reply("m1", call("t1"), 1, parentUuid="u1") | {"uuid": "a1"},
        user("r1", [result("t1")], 2, parentUuid="a1"),
        reply("m1", call("t2"), 3, parentUuid="a1") | {"uuid": "a2"},
        user("r2", [result("t2")], 4, parentUuid="a2"),
        reply("m2", text("Read."), 5, parentUuid="r1") | {"uuid": "a3"},
        user("u2", "Anew.", 6, parentUuid=None),
        reply("m3", text("Yes."), 7, parentUuid="u2") | {"uuid": "a4"},
    ]
    assert set(branches(load(tmp_path, *calls)).values()) == {0}


def test_a_subagent_in_the_sessions_own_file_is_a_conversation_beside_it(
    tmp_path: Path,
) -> None:
    side = [
        user("s", "sub", isSidechain=True),
        reply("msg_s", text("sub"), isSidechain=True),
    ]
    other = [
        user("o", "try", isSidechain=True, agentId="b"),
        reply("msg_o", text("no"), isSidechain=True, agentId="b"),
    ]
    main = [user("u", "go"), reply("msg_1", text("ok"), 9)]
    session = load(tmp_path, *side, main[0], *other, main[1])
    assert isinstance(session, Recorded)
    assert list(map(brief, session.history)) == [("u", "go"), ("a", text("ok"))]
    assert [list(map(brief, aside.history)) for aside in session.asides] == [
        [("u", "sub"), ("a", text("sub"))],
        [("u", "try"), ("a", text("no"))],
    ]
    assert session.damage == []


def test_a_count_of_the_beginning_of_a_stream_is_replaced_by_the_answers_size(
    tmp_path: Path,
) -> None:
    lines = [user("u1", "Go."), reply("m1", text("word " * 400), 1, output=1)]
    lines += [user("u2", "On."), reply("m2", text("word " * 400), 2, output=450)]
    counts = [
        request.usage["output_tokens"] for request in load(tmp_path, *lines).requests
    ]
    assert counts[0] == pytest.approx(570, abs=1)  # 2,000 characters x 0.285
    assert counts[1] == 450


def test_a_file_of_nothing_but_a_sidechain_is_a_conversation(tmp_path: Path) -> None:
    lines = [
        user("u", "sub", isSidechain=True),
        reply("msg_1", text("ok"), isSidechain=True),
    ]
    assert len(load(tmp_path, *lines).requests) == 1


def test_where_the_line_before_a_reply_is_lost_a_user_message_stands_in(
    tmp_path: Path,
) -> None:
    session = load(tmp_path, reply("msg_1", text("a")), reply("msg_2", text("b")))
    assert [m["content"] for m in session.history[::2]] == [MISSING, MISSING]


def test_micro_compacted_results_are_placeholders_in_the_view_alone(
    tmp_path: Path,
) -> None:
    calls = [reply("msg_1", call("t1")), user("r1", [result("t1", "x" * 500)])]
    calls += [reply("msg_2", call("t2")), user("r2", [result("t2", "short")])]
    noted = {"trigger": "auto", "compactedToolIds": ["t1", "t2", "t9"]}
    micro = {**user("m", ""), "type": "system", "subtype": "microcompact_boundary"}
    micro["microcompactMetadata"] = noted
    session = load(tmp_path, user("u", "go"), *calls, micro, reply("msg_3", text("on")))
    context = session.requests[2].context
    assert brief(context[2]) == ("u", result("t1", "[Previous: used bash]"))
    assert brief(context[4]) == ("u", result("t2", "[Previous: used bash]"))
    assert session.recall("t1") == "x" * 500


def test_our_own_files_are_read_by_transcripts(tmp_path: Path) -> None:
    ours = transcripts.Session.create(
        tmp_path, settings=Settings(keep_recent=7), session_id="s"
    )
    ours.say("hi", at=1.0)
    ours.reply(
        {"role": "assistant", "content": [text("Hello.")], "usage": BILLED}, at=2.0
    )
    again = sessions.load(tmp_path / "s.jsonl")
    assert (again.history, again.settings, again.path) == (
        ours.history,
        ours.settings,
        ours.path,
    )


def test_their_file_is_never_written_to_and_another_file_is_refused(
    tmp_path: Path,
) -> None:
    session = load(tmp_path, user("u", "go"), reply("msg_1", text("ok")))
    before = (tmp_path / "theirs.jsonl").read_bytes()
    session.say("more", at=1.0)
    assert (tmp_path / "theirs.jsonl").read_bytes() == before
    with pytest.raises(ValueError, match="holds no conversation"):
        load(tmp_path, '{"messages": [', "]}")


def test_a_folder_is_refused_and_the_files_in_it_are_found(tmp_path: Path) -> None:
    session = load(tmp_path, user("u", "go"), reply("msg_1", text("ok")))
    assert len(session.requests) == 1
    (tmp_path / "a" / "subagents").mkdir(parents=True)
    names = [
        "theirs.jsonl",
        "a/subagents/agent-1.jsonl",
        "a/session-2.json",
        "a/settings.json",
    ]
    for name in names[1:]:
        (tmp_path / name).write_text("{}\n")
    with pytest.raises(ValueError, match="is a folder"):
        sessions.load(tmp_path)
    found = sessions.files([tmp_path, tmp_path / "theirs.jsonl"])
    assert sorted(found) == sorted(tmp_path / name for name in names[:3])
    assert sessions.files([tmp_path / "a/settings.json"]) == [
        tmp_path / "a/settings.json"
    ]
    with pytest.raises(FileNotFoundError, match="does not exist"):
        sessions.files([tmp_path / "nowhere"])


PATCH = "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "given", "kind", "paths"),
    [
        ("Read", {"file_path": "a.py"}, "read", ["a.py"]),
        ("read", {"path": "a.py"}, "read", ["a.py"]),
        ("read_file", {"absolute_path": "a.py"}, "read", ["a.py"]),
        ("read_many_files", {"paths": ["a.py", "b.py"]}, "read", ["a.py", "b.py"]),
        ("mcp__files__read_file", {"path": "a.py"}, "read", ["a.py"]),
        (
            "MultiEdit",
            {"file_path": "a.py", "edits": [{"path": "no"}]},
            "write",
            ["a.py"],
        ),
        ("replace", {"file_path": "a.py", "old_string": "x"}, "write", ["a.py"]),
        ("apply_patch", {"input": PATCH}, "write", ["a.py", "b.py"]),
        ("shell", {"command": ["apply_patch", PATCH]}, "write", ["a.py", "b.py"]),
        (
            "exec_command",
            {"cmd": f"apply_patch <<'E'\n{PATCH}\nE"},
            "write",
            ["a.py", "b.py"],
        ),
        ("exec_command", {"cmd": "cat a.py"}, "shell", []),
        ("Grep", {"pattern": "x", "path": "src"}, "search", []),
        ("Read", {"file_path": 7}, "read", []),
        ("mcp__weather__forecast", {"path": "a.py"}, "other", []),
    ],
)
def test_tools_of_other_agents_are_known_by_what_they_do(
    name: str, given: Line, kind: str, paths: list[str]
) -> None:
    used = call("t1", name, **given)
    assert (kind_of(used), files_of(used)) == (kind, paths)


@pytest.mark.parametrize("name", ["read_file", "Read", "read", "Edit", "edit", "write"])
def test_a_file_that_another_agent_touched_can_be_put_back(name: str) -> None:
    used = call("t1", name, path="a.py")
    assert recent_files({"a.py": "x = 1"}.get, 5)(
        [{"role": "assistant", "content": [used]}]
    )


CALLS = [(i, n) for i in (1, 2, 3) for n in "ab"]
LINES = [
    *(reply(f"msg_{i}", call(f"t{i}{n}")) for i, n in CALLS),
    *(user(f"r{i}{n}", [result(f"t{i}{n}"), text("so")]) for i, n in CALLS),
    *(
        boundary(preservedMessages={"uuids": ["r1a"]}),
        user("s", "Short.", isCompactSummary=True),
    ),
]


@given(st.lists(st.sampled_from(LINES)))
def test_whatever_lines_are_missing_or_moved_no_context_breaks_a_rule(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[Line]
) -> None:
    session = load(tmp_path_factory.mktemp("drawn"), user("u", "go"), *drawn)
    replies = [line for line in drawn if line["type"] == "assistant"]
    assert len(session.requests) == len({line["message"]["id"] for line in replies})
    assert {violation(request.context) for request in session.requests} <= {None}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_real_file_is_read_whole_and_breaks_no_rule_with_any_preset(
    path: Path,
) -> None:
    session = sessions.load(path)
    assert {violation(request.context) for request in session.requests} <= {None}
    parts = [part for _, part in session_file.numbered(path) if isinstance(part, dict)]
    lines = [line for line in parts if line["type"] in ("user", "assistant")]
    messages = [line["message"] for line in lines if not line["isSidechain"]]
    messages = messages or [line["message"] for line in lines]
    assert len(session.requests) == len(
        {m["id"] for m in messages if m["role"] == "assistant"}
    )
    kept = {result_text(r) for m in session.history for r in of_type(m, "tool_result")}
    assert {result_text(r) for m in messages for r in of_type(m, "tool_result")} <= kept
    for preset in (CLAUDE_CODE, *(each.scaled(60_000) for each in ALL.values())):
        frames = replay(session, preset)
        assert len(frames) == len(session.requests)
        assert {violation(frame.context) for frame in frames} <= {None}
        assert all(
            frame.step.tokens_after <= frame.step.tokens_before for frame in frames
        )
