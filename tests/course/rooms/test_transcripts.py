"""Lesson 05: its wrong answers, and its run with the published solutions."""

import contextlib
import json
from dataclasses import replace
from typing import ClassVar

from agentlib.messages import INTERRUPTED, of_type, unanswered
from agentlib.settings import Settings
from course import check
from course.rooms.transcripts import rows, session_browser
from tests.course.rooms.solved import Lesson
from windtunnel.runner import play
from windtunnel.tasks.scenarios import REVIEW


def added(path, text):
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def written_again(message, path):
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{old}{json.dumps(message)}\n", encoding="utf-8")


def all_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def but_an_unended_line(path):
    whole = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    return [json.loads(line) for line in whole if is_json(line)]


def is_json(line):
    try:
        json.loads(line)
    except json.JSONDecodeError:
        return False
    return True


def but_the_last(path):
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:-1]
    ]


def up_to_a_torn_line(path):
    messages = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            messages.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return messages


def in_latin(message, path):
    with path.open("a", encoding="latin-1") as file:
        file.write(json.dumps(message, ensure_ascii=False) + "\n")


def by_splitlines(path):
    messages = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            messages.append(json.loads(line))
    return messages


def or_nothing(path):
    try:
        return all_lines(path)
    except json.JSONDecodeError:
        return []


def answers(names, text=INTERRUPTED, **more):
    return [
        {"type": "tool_result", "tool_use_id": n, "content": text, **more}
        for n in names
    ]


def one_message(messages):
    results = answers(unanswered(messages), is_error=True)
    return [{"role": "user", "content": results}] if results else []


def always_a_message(messages):
    results = answers(unanswered(messages), is_error=True)
    return [{"role": "user", "content": results}]


def parsed(path):
    found = []
    for line in path.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def strictly(path):
    """Read the file as the first edition's solution did."""
    found = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def or_else_nothing(path):
    try:
        return strictly(path)
    except UnicodeDecodeError:
        return []


def yielding(path):
    """Right: a generator."""
    yield from leaving_out(path)


def leaving_out(path):
    """Right: half a character is left out."""
    found = []
    for line in path.read_text(encoding="utf-8", errors="ignore").split("\n"):
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def as_repr(message, path):
    added(path, json.dumps(message, default=str) + "\n")


def with_returns(message, path):
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(json.dumps(message) + "\r\n")


def all_but_one_torn(path):
    lines = [parsed_or_none(line) for line in path.read_text().splitlines()]
    if None in lines:
        lines.remove(None)
    return lines


def parsed_or_none(line):
    with contextlib.suppress(json.JSONDecodeError):
        return json.loads(line)


def by_braces(path):
    lines = path.read_text().splitlines()
    return [json.loads(line) for line in lines if line.count("{") == line.count("}")]


def said_once(path):
    messages = parsed(path)
    return [
        message for n, message in enumerate(messages) if message not in messages[:n]
    ]


def cleaned(path):
    messages = parsed(path)
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))
    return messages


def untyped(messages):
    return [
        {"tool_use_id": n, "content": INTERRUPTED, "is_error": True}
        for n in unanswered(messages)
    ]


def of_the_last(messages):
    calls = [block["id"] for block in of_type(messages[-1], "tool_use")]
    return answers(
        [name for name in unanswered(messages) if name in calls], is_error=True
    )


WRONG = {
    "05.1": [
        (lambda message, path: None, "the file is not there"),
        (in_latin, "what it gave can't be read: UnicodeDecodeError"),
        (lambda message, path: added(path, json.dumps(message)), "should end with"),
        (lambda message, path: path.touch(), "the file is empty; close it"),
        (
            lambda message, path: added(path, f"{message}\n"),
            "the last line should be the",
        ),
        (
            lambda message, path: added(path, f"{json.dumps(message, indent=1)}\n"),
            "1 line;",
        ),
        (as_repr, "was written as its repr"),
        (with_returns, "in its ends of line"),
        (written_again, "it reads what is there and writes it again"),
    ],
    "05.2": [
        (all_lines, "it raised JSONDecodeError"),
        (but_the_last, "from a file of 5 whole lines, 5 messages should come back"),
        (up_to_a_torn_line, "a torn line with whole lines behind it"),
        (or_nothing, "whose last line is torn, 2 messages"),
        (lambda path: None, "return a list of messages"),
        (all_but_one_torn, "a file with two torn lines"),
        (by_braces, "from a file of 5 whole lines"),
        (
            by_splitlines,
            "from a text with U+2028, at which splitlines cuts, 1 message should",
        ),
        (said_once, "a file with the same line twice"),
        (but_an_unended_line, "a whole last line that lost its line end"),
        (cleaned, "it wrote to the file"),
        (strictly, "is torn inside a character makes reading raise"),
        (or_else_nothing, "torn inside a character, 1 message should come back"),
    ],
    "05.3": [
        (lambda messages: answers(unanswered(messages)), "is_error"),
        (
            lambda messages: answers(unanswered(messages), "done", is_error=True),
            "INTERRUPTED",
        ),
        (one_message, "not a message that holds them"),
        (always_a_message, "not a message that holds them"),
        (of_the_last, "should get a result; yours answers none"),
        (
            lambda m: answers(unanswered(m), is_error=True, name="bash"),
            "tool_result.name: Extra inputs are not permitted",
        ),
        (
            lambda m: answers(unanswered(m), is_error=True, role="user"),
            "Extra inputs are not permitted",
        ),
        (untyped, "a block is a dict with a type"),
    ],
    "05.4": [
        (12, "go on"),
        (14, "go back"),
        (0, "go on"),
        (25, "go back"),
        ("13", "is no whole number"),
        (None, "is no whole number"),
    ],
}
RIGHT = {
    "05.1": [
        lambda message, path: added(
            path, json.dumps(message, ensure_ascii=False) + "\n"
        )
    ],
    "05.2": [parsed, leaving_out, yielding],
    "05.3": [
        lambda messages: answers(unanswered(messages), is_error=True),
        lambda messages: answers(unanswered(messages)[::-1], is_error=True),
    ],
    "05.4": [13.0],
}


def first_turns(count):
    session = play(REVIEW, Settings(enabled=False)).session
    seen = session.requests[count].seen
    return replace(
        session, requests=session.requests[:count], history=session.history[:seen]
    )


class TestTranscripts(Lesson):
    wrong = WRONG
    right = RIGHT
    panels: ClassVar = {"browser": lambda: session_browser(first_turns(14))}

    def test_the_turn_of_exercise_05_4_is_the_last_with_the_file_in_view(self):
        start = replace(Settings(manual=False), keep_recent=6).scaled(32_000)
        session = play(REVIEW, start).session
        sought = "the oldest glibc that our users have is 2.17"
        seen = [
            turn
            for turn in range(1, len(session.requests) + 1)
            for row in rows(session, turn).itertuples()
            if row.kind == "tool_result"
            and sought in row.text
            and row.state == "in view"
        ]
        assert check("05.4", max(seen))
