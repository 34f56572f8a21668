"""The exercises of lesson 05."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentlib.messages import INTERRUPTED, Block, Message, result_text, unanswered
from course.checking import (
    Answer,
    Wrong,
    conversation,
    exercise,
    require,
    require_block,
    require_messages,
)
from session_report.amounts import many

MARK = "\ufffd"
"""Stands in a check's file for the first of the two bytes of an é."""
HALF = "a file that is torn inside a character"


def _with_half_a_character(text: str) -> bytes:
    half = "é".encode()[:1]
    return text.encode("utf-8").replace(MARK.encode("utf-8"), half)


def _encoding(read: Sequence[Message], right: Sequence[Message]) -> str:
    """Name the encoding in which UTF-8 was mistaken for these messages, "" if in
    none."""
    written = json.dumps(right, ensure_ascii=False).encode("utf-8")
    for name in ("latin-1", "cp1252"):
        mistaken = written.decode(name, errors="replace")
        if read != right and read == json.loads(mistaken):
            return name
    return ""


def plain_append(message: Message, path: Path) -> None:
    """Add a message to a file as one line of JSON."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(message) + "\n")


@exercise("05.1", "each message is one line, added at the end.", finished=plain_append)
def _append(answer: Answer) -> None:
    """path.open('a') opens a file for writing behind what is there, and makes it if
    need be.

    A line is json.dumps(message) + '\\n'.
    """
    messages = conversation("import re\n\nré = 1", 90)
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        for count, message in enumerate(messages, 1):
            answer.call(message, path)
            require(
                path.is_file(),
                "the file is not there; open it in a mode that makes it.",
            )
            text = path.read_text(encoding="utf-8")
            lines = text.splitlines()
            case = f"after {many(count, 'call')}"
            require(text, f"{case}, the file is empty; close it, so that it's written.")
            require(text.endswith("\n"), f'{case}, the file should end with "\\n".')
            wanted = f"{case}, the file should have {many(count, 'line')}; yours has {len(lines)}"
            require(
                len(lines) == count,
                f"{wanted}. Add to the end, one line for each message.",
            )
            written = f"{case}, the last line should be the message as JSON; it is"
            require(plain_load(path)[-1:] == [message], f"{written} {lines[-1]!r:.60}.")
        ends = path.read_bytes().count(b"\r")
        require(not ends, 'the file has "\\r" in its ends of line; write "\\n" alone.')
        odd = {"role": "user", "content": [object()]}
        with contextlib.suppress(TypeError):
            answer.function(odd, path)
            raise Wrong(
                "a block that is no JSON was written as its repr, which nobody reads "
                "back; let json.dumps raise, without default=."
            )
        other = Path(folder, "other.jsonl")
        answer.call(messages[0], other)
        require(
            other.is_file(), "it writes to one file only; write to the one at `path`."
        )
        path.write_bytes(b"\xff torn\n")
        with contextlib.suppress(UnicodeDecodeError):
            answer.call(messages[0], path)
        kept = path.read_bytes().startswith(b"\xff torn\n{")
        require(
            kept, "it reads what is there and writes it again; add to the file unread."
        )


def plain_load(path: Path) -> list[Message]:
    """Return the messages of a file, and leave out every torn line."""
    messages: list[Message] = []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            messages.append(json.loads(line))
        except ValueError:
            continue
    return messages


@exercise("05.2", "every whole line is there, and no torn one.", finished=plain_load)
def _load(answer: Answer) -> None:
    """Go through path.read_text(…).split("\\n"), and try json.loads on each line.

    Half a character is no UTF-8, so read_text raises. With errors="replace" it puts a
    mark in its place, and the torn line is torn all the same.

    json.loads raises ValueError on a torn line; then go on with the next.
    """
    messages = conversation("# 1 " * 74 + "if {", 90)
    whole = [json.dumps(message) for message in messages]
    torn = whole[2][: whole[2].index("}") + 1]
    resumed = [*whole[:2], torn, *whole[3:]]
    odd = conversation(request="one\u2028two")
    raw = json.dumps(odd[0], ensure_ascii=False)
    cut = f'{{"role": "user", "content": "caf{MARK}'
    with TemporaryDirectory() as folder:
        cases: tuple[tuple[str, list[str], str, list[Message]], ...] = (
            ("a file of 5 whole lines", whole, "\n", messages),
            ("a file whose last line is torn", [*whole[:2], torn], "", messages[:2]),
            (
                "a torn line with whole lines behind it",
                resumed,
                "\n",
                messages[:2] + messages[3:],
            ),
            (
                "a file with two torn lines",
                [torn, *whole[:2], torn],
                "\n",
                messages[:2],
            ),
            ("a file with the same line twice", whole[:1] * 2, "\n", messages[:1] * 2),
            ("an empty file", [], "", []),
            ("a whole last line that lost its line end", whole[:2], "", messages[:2]),
            ("a text with U+2028, at which splitlines cuts", [raw], "\n", odd),
            (HALF, [raw, cut], "", odd),
            (f"{HALF} and whole lines behind it", [raw, cut, raw], "\n", odd * 2),
        )
        for number, (case, lines, end, right) in enumerate(cases):
            path = Path(folder, f"session{number}.jsonl")
            written = _with_half_a_character("\n".join(lines) + end)
            path.write_bytes(written)
            try:
                given = answer.function(path)
                lines: Any = [*given] if isinstance(given, Iterator) else given
            except UnicodeDecodeError as error:
                lost = f"{case} makes reading raise {error.reason!r}, and every line is lost"
                raise Wrong(f'{lost}; read with errors="replace".') from None
            read = Answer(lines).typed(list, "return a list of messages")
            wanted = f"from {case}, {many(len(right), 'message')} should come back"
            misread = f"{case} was read as {_encoding(read, right)}"
            require(
                not _encoding(read, right), f'{misread}; read with encoding="utf-8".'
            )
            same = f"{wanted}; yours returned {len(read)}"
            changed = ", and not as written" * (len(read) == len(right))
            require(read == right, f"{same}{changed}.")
            untouched = path.read_bytes() == written
            require(untouched, f"from {case}, it wrote to the file; only read it.")


def plain_answers(messages: Sequence[Message]) -> list[Block]:
    """Answer each open call: it was interrupted."""
    block = {"type": "tool_result", "content": INTERRUPTED, "is_error": True}
    return [{**block, "tool_use_id": name} for name in unanswered(messages)]


@exercise(
    "05.3", "each open call has a result, and the API takes it.", finished=plain_answers
)
def _interrupted(answer: Answer) -> None:
    """A block has type, tool_use_id, content, is_error. One for each id of
    unanswered(messages)."""
    for done in (conversation(300), conversation()):
        none = _listed(answer.call(done))
        require(none == [], "if every call has its result, the list should be empty.")
    one = conversation(300, 300)
    three = conversation(300, [300, 90, 300])
    first = {"role": "user", "content": three[-1]["content"][:1]}
    for messages in (one[:-1], three[:-1], [*three[:-1], first]):
        results = answer.call(messages)
        for block in _listed(results):
            require_block(block)
        given = [block.get("tool_use_id") for block in results]
        right = unanswered(messages)
        names = ", ".join(map(str, given))
        wanted = f"{', '.join(right)} should get a result; yours answers"
        require(
            sorted(map(str, given)) == sorted(right), f"{wanted} {names or 'none'}."
        )
        require_messages([*messages, {"role": "user", "content": results}])
        says = all(result_text(block) == INTERRUPTED for block in results)
        require(says, "the content should be the value of INTERRUPTED, without quotes.")
        errors = all(block.get("is_error") is True for block in results)
        require(
            errors,
            'without "is_error": True the model takes it for the output of the tool.',
        )


def _listed(results: Any) -> list[Any]:
    """Return the blocks, if they are a list and in no message."""
    listed = Answer(results).typed(list, "give a list of blocks, not a message")
    held = any(
        "content" in each and "role" in each and "type" not in each for each in listed
    )
    require(not held, "give the blocks alone, not a message that holds them.")
    return listed


@exercise("05.4", "at turn 13 it is in view, at the next it is not.")
def _turn(answer: Answer) -> None:
    """panel.search.value = 'glibc that' and panel.kind.value = 'tool_result' leave one
    row.

    The column state says in view, cleared or summarised for the turn of the slider.
    """
    value = answer.value
    if isinstance(value, float) and value.is_integer():
        answer = Answer(int(value))
    answer.hit(
        13,  # the last turn whose request has the file with the glibc line whole
        how="search for 'glibc that', and move the slider",
        low="the file is in view at a later turn than {}; go on.",
        high="at turn {} the file is not in view; go back.",
    )


def power_cut(
    append: Callable[..., Any],
    load: Callable[..., Any],
    close: Callable[..., Any] | None = None,
) -> dict[str, Any]:
    """Write with `append`, lose the last 40 bytes, read with `load`, answer with
    `close`."""

    def save(messages: Sequence[Message], folder: Path, now: float) -> Path:
        path = folder / "mine.jsonl"
        for message in messages:
            append(message, path)
        path.write_bytes(path.read_bytes()[:-40])
        return path

    def read(path: Path) -> list[Message]:
        messages = load(path)
        results: list[Block] = close(messages) if close else []
        return (
            [*messages, {"role": "user", "content": results}] if results else messages
        )

    return {"save": save, "load": read, "resume_after": 17}
