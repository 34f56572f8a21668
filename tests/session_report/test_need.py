"""Need: what a reply quotes from before, and what a replay's context no longer holds of
it."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlib.messages import Message
from agentlib.settings import Settings
from agentlib.transcripts import Session
from session_report.need import QUOTED, Need, needs
from session_report.playback import replay, table
from session_report.shingles import matches
from tests.builders import assistant, call, result, text

CODE = "".join(
    f"def price_{n}(amount):\n    return amount * {n}\n\n\n" for n in range(60)
)
LINE = "def price_7(amount):\n    return amount * 7"
KEEPS = Settings(micro="off", auto=False, estimator="chars")
CLEARS = replace(KEEPS, micro="clear", keep_recent=0)
USAGE = {"input_tokens": 1_000, "output_tokens": 90}


def recorded(folder: Path, *exchanges: tuple[Message, str]) -> Session:
    """A session of replies, each with the text of its result; the last one has none."""
    session = Session.create(folder, settings=KEEPS, session_id="need")
    session.say("Mend the prices.", at=0.0)
    for at, (reply, answer) in enumerate(exchanges, 1):
        calls = [b for b in reply["content"] if b["type"] == "tool_use"]
        stop = "tool_use" if calls else "end_turn"
        session.reply({**reply, "usage": USAGE, "stop_reason": stop}, at=float(at))
        for made in calls:
            session.answer(result(made["id"], answer), at=float(at))
    return session


def quoting(folder: Path) -> Session:
    """A session whose third reply quotes the file that the first one read."""
    return recorded(
        folder,
        (assistant(call("t1", "read_file")), CODE),
        (assistant(call("t2", "bash")), "ok"),
        (assistant(text(f"It says {LINE}.")), ""),
    )


def edits(old: str, folder: Path) -> list[Need]:
    edit = call("t3", "edit_file", path="a.py", old_text=old, new_text="x")
    session = recorded(
        folder,
        (assistant(call("t1", "read_file")), CODE),
        (assistant(call("t2", "bash")), "ok"),
        (assistant(edit), "Replaced."),
        (assistant(text("Done.")), ""),
    )
    return needs(replay(session, CLEARS))


def test_an_edit_of_what_was_cleared_needs_it(tmp_path: Path) -> None:
    found = edits(LINE, tmp_path)
    assert [need.outputs for need in found] == [0, 0, 1, 0]
    assert found[2].tokens == pytest.approx(0.345 * len(CODE), rel=0.01)


@pytest.mark.parametrize(
    "old",
    [LINE[: QUOTED - 3], "a line that nobody has said before, of 50 chars", " " * 60],
)
def test_what_is_short_or_new_or_blank_is_no_need(old: str, tmp_path: Path) -> None:
    assert not any(need.outputs for need in edits(old, tmp_path))


def test_what_the_context_still_holds_is_no_need(tmp_path: Path) -> None:
    session = quoting(tmp_path)
    assert not any(need.outputs for need in needs(replay(session, KEEPS)))
    assert [need.outputs for need in needs(replay(session, CLEARS))] == [0, 0, 1]
    kept = replace(CLEARS, keep_recent=2)
    assert not any(need.outputs for need in needs(replay(session, kept)))


def test_a_text_that_stands_somewhere_else_too_is_no_need(tmp_path: Path) -> None:
    session = recorded(
        tmp_path,
        (assistant(call("t1", "read_file")), CODE),
        (assistant(text(f"I saw {LINE} there."), call("t2", "bash")), "ok"),
        (assistant(text(f"It says {LINE}.")), ""),
    )
    assert not any(need.outputs for need in needs(replay(session, CLEARS)))


@given(
    st.lists(st.text(alphabet="ab ", max_size=90), max_size=4),
    st.lists(st.text(alphabet="ab ", max_size=90), max_size=4),
    st.data(),
)
def test_every_piece_that_a_text_has_is_among_the_matches(
    sources: list[str], texts: list[str], data: st.DataObject
) -> None:
    size, step = 4, 2
    before = [data.draw(st.integers(0, len(sources))) for _ in texts]
    all_old = [(number, number) for number in before]
    pieces, windows = matches(sources, texts, all_old, size, step)
    for number, source in enumerate(sources):
        every = range(0, len(source) - size + 1, step)
        later = [text for text, n in zip(texts, before, strict=True) if number < n]
        has = {n for n in every if any(source[n : n + size] in text for text in later)}
        assert has <= {*pieces.get(number, [])} <= {*every}
    for place, (text_, number) in enumerate(zip(texts, before, strict=True)):
        cut = {
            s[n : n + size]
            for s in sources[:number]
            for n in range(0, len(s) - size + 1, step)
        }
        every = range(len(text_) - size + 1)
        has = {n for n in every if text_[n : n + size] in cut}
        assert has <= {*windows.get(place, [])}


def test_a_text_that_quotes_nothing_old_has_no_match() -> None:
    old, new = "abcdefghijklmnop", "0123456789qrstuv"
    texts = [f"- {new}", f"- {old}{new}"]
    pieces, windows = matches([old, new], texts, [(2, 1), (2, 1)], 8, 4)
    assert windows == {1: [2, 6, 10, 18, 22, 26]}
    assert pieces == {0: [0, 4, 8], 1: [0, 4, 8]}


PARTS = st.text("ab\u5b57 ", max_size=30) | st.sampled_from(
    [CODE[:900], LINE, "-" * 25]
)
SAID = st.lists(PARTS, max_size=4).map("".join)


@settings(max_examples=15)
@given(st.lists(st.tuples(SAID, SAID, SAID), min_size=3, max_size=6))
def test_without_numpy_the_same_is_found(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str, str]]
) -> None:
    exchanges = list[tuple[Message, str]]()
    for number, (words, old, answer) in enumerate(said):
        edit = {**call(f"t{number}", "edit_file"), "input": {"old_text": old}}
        exchanges.append((assistant(text(f"Well. {words}"), edit), answer or "."))
    one, two = (recorded(tmp_path_factory.mktemp("need"), *exchanges) for _ in range(2))
    found = needs(replay(one, CLEARS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "session_report.shingles", None)
        assert needs(replay(two, CLEARS)) == found


def test_what_was_read_again_costs_nothing_until_the_context_changes(
    tmp_path: Path,
) -> None:
    quoting = [
        assistant(text(f"On {n}: {LINE}."), call(f"q{n}", "bash")) for n in (1, 2)
    ]
    session = recorded(
        tmp_path,
        (assistant(call("t1", "read_file")), CODE),
        (assistant(call("t2", "bash")), "ok"),
        *((reply, "ok") for reply in quoting),
        (assistant(text("Done.")), ""),
    )
    found = needs(replay(session, replace(CLEARS, min_chars=10)))
    assert [bool(need.tokens) for need in found] == [False, False, True, False, False]


def test_the_table_says_what_was_needed_and_refused(tmp_path: Path) -> None:
    session = quoting(tmp_path)
    rows = table(replay(session, CLEARS))
    assert list(rows["need"]) == [0, 0, 1]
    assert rows["reread"].iloc[-1] == pytest.approx(0.345 * len(CODE))
    small = replace(KEEPS, context_window=999, output_reserve=100, buffer=100)
    assert list(table(replay(session, small))["refused"]) == [True, True, True]
