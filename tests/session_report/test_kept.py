"""What compactions kept, counted on sessions that can be counted by hand. All content
is invented."""

import json
from pathlib import Path
from typing import Any

import pytest

import session_report as sessions
from session_report import kept
from session_report.answer import answer
from session_report.kept import (
    EARLIER,
    EDITED,
    MESSAGES,
    READ,
    RULES,
    compacted,
)
from session_report.overview import overview
from session_report.report import of_overview, shareable
from tests.builders import call, result, text
from tests.real_sessions import FILES
from tests.session_report.session_files import Line, said, written
from tests.session_report.test_session_report import boundary, reply, run

FIRST = [
    said(0, "Mend the prices of the shop. You must never touch main.py again!"),
    reply(1, {**call("t1", "Read"), "input": {"file_path": "/shop/prices.py"}}),
    said(2, [result("t1", "PRICE = 1")]),
    reply(3, {**call("t2", "Edit"), "input": {"file_path": "/shop/book.py"}}),
    said(4, [result("t2", "done")]),
    reply(5, {**call("t3", "Bash"), "input": {"command": "cd /shop && make test"}}),
    said(6, [result("t3", "123 books are below zero")]),
    said(6.5, "<system-reminder>Never mind.</system-reminder>", isMeta=True),
    said(7, "Don't round the sums, please. There are 1,234 books."),
    reply(8, text("I see 1234 books and 567 pens.")),
]
SUMMARY = """The user said "Mend the prices of the shop. You must never touch
main.py again!" and wants to mend the pens. book.py was edited. There are 1234 books.
"""


def load(folder: Path, *lines: Line) -> Any:
    return sessions.load(written(folder, *lines))


def counted(one: kept.Compacted) -> dict[str, tuple[int, int]]:
    return {kind: (sum(flags), len(flags)) for kind, flags in one.kept.items() if flags}


def test_each_kind_is_counted_as_the_rules_say(tmp_path: Path) -> None:
    session = load(tmp_path, *FIRST, *boundary(20, SUMMARY), reply(30, text("On.")))
    (one,) = compacted(session)
    assert counted(one) == {
        MESSAGES: (1, 2),
        RULES: (1, 2),
        EDITED: (1, 1),
        READ: (0, 1),
    }
    assert one.items[RULES] == [
        "You must never touch main.py again!",
        "Don't round the sums, please.",
    ]


def test_the_next_summary_is_asked_for_what_the_one_before_had(tmp_path: Path) -> None:
    second = [said(21, "Sell the pens."), reply(22, text("Sold."))]
    lines = [*FIRST, *boundary(20, SUMMARY), *second]
    lines += [*boundary(30, "Sell the pens. All sold."), reply(40, text("On."))]
    _, two = compacted(load(tmp_path, *lines))
    numbers = counted(two)
    assert numbers[MESSAGES] == (1, 1)
    assert numbers[EARLIER] == (0, 2)
    assert numbers[RULES] == (0, 2)


@pytest.mark.parametrize(
    ("kind", "said_words", "items"),
    [
        (RULES, "* Dont round the sums\n2) You shouldn't sell.", 2),
        (RULES, "You onlyone of them, and nevertheless", []),
        (MESSAGES, "See [Image #1] <ide_opened_file>x</ide_opened_file>", ["See"]),
    ],
)
def test_what_counts_as_an_item(
    tmp_path: Path, kind: str, said_words: str, items: list[str] | int
) -> None:
    lines = [said(0, said_words), reply(1, text("Yes.")), *boundary(10, "Short.")]
    (one,) = compacted(load(tmp_path, *lines, reply(20, text("On."))))
    listed = [*one.items[kind]]
    assert (len(listed) if isinstance(items, int) else listed) == items


def test_each_message_counts_also_if_it_was_said_before(tmp_path: Path) -> None:
    lines = [
        each
        for n in range(3)
        for each in (said(n, "Go on."), reply(n + 0.5, text(".")))
    ]
    lines += [*boundary(10, 'It said "Go on." thrice.'), reply(20, text("On."))]
    (one,) = compacted(load(tmp_path, *lines))
    assert counted(one)[MESSAGES] == (3, 3)


def test_messages_that_stay_are_not_compacted(tmp_path: Path) -> None:
    stays = {"preservedMessages": {"uuids": ["u7"]}}
    lines = [*FIRST, *boundary(20, "Short.", **stays), reply(30, text("On."))]
    (one,) = compacted(load(tmp_path, *lines))
    assert counted(one)[MESSAGES] == (0, 1)


def test_words_that_waited_for_the_agent_are_the_persons(tmp_path: Path) -> None:
    queue: Line = {"type": "queue-operation", "timestamp": FIRST[0]["timestamp"]}
    waiting = [
        {**queue, "operation": "enqueue", "content": "<task-notification>x"},
        {**queue, "operation": "enqueue", "content": "Also mend the lamps."},
        {**queue, "operation": "remove"},
        {**queue, "operation": "enqueue", "content": "Taken back."},
        {**queue, "operation": "popAll"},
    ]
    lines = [*FIRST[:2], *waiting, *FIRST[2:], *boundary(20, "Also mend the lamps.")]
    (one,) = compacted(load(tmp_path, *lines, reply(30, text("On."))))
    assert counted(one)[MESSAGES] == (1, 3)


def test_a_compaction_that_the_file_has_half_of_is_left_out(tmp_path: Path) -> None:
    lines = [{**FIRST[0], "parentUuid": "elsewhere"}, *FIRST[1:]]
    lines += [*boundary(20, SUMMARY), reply(30, text("On."))]
    assert compacted(load(tmp_path, *lines)) == []


@pytest.mark.parametrize(
    ("item", "summary", "is_kept"),
    [
        ("Go on.", "said: Go  on.", True),
        ("Go on", "Go once", False),
        ("cat", "concat", False),
        ("It’s “so”", 'It\'s "so"!', True),
        ("a_b", "x_a_b", False),
        ("不要改", "他说:不要改。", True),
    ],
)
def test_whole_is_not_inside_a_word(
    tmp_path: Path, item: str, summary: str, is_kept: bool
):
    lines = [said(0, item), reply(1, text("."))]
    lines += [*boundary(20, summary), reply(30, text("On."))]
    (one,) = compacted(load(tmp_path, *lines))
    assert [*one.kept[MESSAGES]] == [is_kept]


def test_the_report_says_it_in_the_answer_and_without_texts(tmp_path: Path) -> None:
    path = written(tmp_path, *FIRST, *boundary(20, SUMMARY), reply(30, text("On.")))
    lines = answer(shareable(of_overview(overview([path], jobs=1))))
    (line,) = [line for line in lines if line.startswith("Compactions kept")]
    assert "1 of 2 of your messages" in line
    assert "1 of 1 edited file " in line
    assert "1 of your 2 rules is gone" in line
    told = json.loads(run(path, "--json").stdout)
    missing = {row["what"]: row["missing"] for row in told["kept each"]}
    assert missing[RULES] == "Don't round the sums, please."
    hidden = run(path, "--json", "--no-text").stdout
    assert "round the sums" not in hidden
    assert [row["kept"] for row in json.loads(hidden)["kept each"]] == [
        row["kept"] for row in told["kept each"]
    ]


def test_of_the_rules_those_at_the_last_compaction_count(tmp_path: Path) -> None:
    more = [said(21, "Always sell the pens first."), reply(22, text("Sold."))]
    lines = [*FIRST, *boundary(20, "Nothing."), *more]
    lines += [*boundary(30, SUMMARY), reply(40, text("On."))]
    path = written(tmp_path, *lines)
    [row] = [row for row in kept.sums(sessions.load(path)) if row["what"] == RULES]
    assert (row["kept"], row["of"]) == (1, 3)
    lines = answer(shareable(of_overview(overview([path], jobs=1))))
    assert any("2 of your 3 rules are gone" in line for line in lines)


def test_a_copy_of_a_session_counts_once(tmp_path: Path) -> None:
    lines = [*FIRST, *boundary(20, SUMMARY), reply(30, text("On."))]
    for name in ("a", "b"):
        written(tmp_path, *lines, name=name)
    rows = of_overview(overview([tmp_path], jobs=1))["kept"]
    assert next(row for row in rows if row["what"] == MESSAGES)["of"] == 2


def test_words_that_came_while_the_agent_worked_count_once(tmp_path: Path) -> None:
    late = {"type": "queued_command", "prompt": "Mend the doors.", "isMeta": False}
    queue = {"type": "queue-operation", "content": "Mend the doors."}
    session = load(
        tmp_path,
        said(0, "Mend the shop."),
        {**queue, "operation": "enqueue"},
        {**queue, "operation": "remove"},
        {"type": "attachment", "uuid": "q", "attachment": late},
        reply(1, text("On it.")),
        *boundary(20, "Nothing."),
        reply(30, text("On.")),
    )
    [one] = compacted(session)
    assert [*one.items[MESSAGES]] == ["Mend the shop.", "Mend the doors."]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_files_have_no_more_kept_than_there_was(path: Path) -> None:
    for row in kept.rows(sessions.load(path)):
        assert 0 <= row["kept"] <= row["of"]
