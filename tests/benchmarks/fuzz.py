"""Damage session files in every way and read them: no crash, and no request that breaks
a rule.

Both readers: `transcripts.load` for our files, `session_report.load` for Claude Code's.
What loads has to go on: ours answers another prompt over the offline API, which knows
every rule.
"""

import copy
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import session_report as sessions
from agentlib import transcripts
from agentlib.loop import run
from agentlib.settings import Settings
from agentlib.tools import Workspace
from agentlib.transcripts import Session
from offline_api import client, violation
from tests.benchmarks.count import count

SETTINGS = Settings(
    context_window=8_000, output_reserve=400, buffer=400, threshold=4_000
)
NUMBERS = [None, True, -1, 0, 1e308, 10**30]
JUNK: list[Any] = [
    *NUMBERS,
    "",
    "x",
    [],
    {},
    [[]],
    [None],
    {"type": "text"},
    [{"a": 1}],
]
Damage = Callable[[bytes, random.Random], bytes]


def brain(body: dict[str, Any]) -> dict[str, Any]:
    """Read two files a turn while there is a tool result to come, then answer."""
    last = body["messages"][-1]["content"]
    text = last if isinstance(last, str) else last[-1].get("text", "")
    if text.startswith("Summarize this conversation"):
        return say("## Accomplished\nRead.")
    if text == "Go on.":
        return say("Done.")
    calls = [
        {"type": "tool_use", "name": "read_file", "input": {"path": p}} for p in "ab"
    ]
    return {"content": calls, "stop_reason": "tool_use"}


def say(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


def our_file(folder: Path) -> Path:
    """Make a session of about 60 lines with clearings and compactions."""
    model = client(window=8_000, model=brain)
    with Session.create(folder, settings=SETTINGS, session_id="ours") as session:
        terms = {"settings": SETTINGS, "session": session}
        work = run(model, "Read.", files(folder), **terms)
        for _, _ in zip(range(20), work, strict=False):
            pass
    assert session.compactions
    assert session.path
    return session.path


def files(folder: Path) -> Workspace:
    (folder / "work").mkdir(exist_ok=True)
    for name in "ab":
        (folder / "work" / name).write_text("a line of text\n" * 80, newline="\n")
    return Workspace(folder / "work")


def their_file(folder: Path) -> Path:
    """Make a file in Claude Code's form: responses of two lines, a clearing and a
    compaction."""
    path = folder / "theirs.jsonl"
    path.write_text(
        "".join(f"{json.dumps(line)}\n" for line in their_lines()), encoding="utf-8"
    )
    return path


def their_lines() -> Iterator[dict[str, Any]]:
    parent: str | None = None
    for n in range(48):
        turn, part = divmod(n, 4)
        message: dict[str, Any] = {"role": "user", "content": f"Prompt {turn}"}
        line: dict[str, Any] = {"type": "user", "message": message}
        if part in (1, 2):
            text = {"type": "text", "text": f"Look {turn}"}
            call = {
                "type": "tool_use",
                "id": f"toolu_{turn}",
                "name": "Read",
                "input": {"p": 1},
            }
            usage = {
                "input_tokens": 9,
                "cache_read_input_tokens": 90,
                "output_tokens": 1,
            }
            reply = {
                "id": f"msg_{turn}",
                "model": "m",
                "usage": usage,
                "stop_reason": None,
            }
            message |= {
                "role": "assistant",
                "content": [text if part == 1 else call],
                **reply,
            }
            line["type"] = "assistant"
        elif part == 3:
            result = {
                "type": "tool_result",
                "tool_use_id": f"toolu_{turn}",
                "content": "x" * 200,
            }
            message["content"] = [result]
        if n == 20:
            details = {"compactedToolIds": ["toolu_1", "toolu_2"], "trigger": "auto"}
            line = {"type": "system", "subtype": "microcompact_boundary"}
            line["microcompactMetadata"] = details
        if n in (28, 32):
            kept = {"uuids": [f"u{n - 2}", f"u{n - 1}"]}
            line = {"type": "system", "subtype": "compact_boundary"}
            line["compactMetadata"] = {
                "trigger": "auto",
                "preTokens": 9,
                "preservedMessages": kept,
            }
        if n in (29, 33):
            line = {"type": "user", "isCompactSummary": True}
            line["message"] = {"role": "user", "content": "A summary."}
        stamp = f"2026-01-01T00:{n:02d}:00.000Z"
        yield {"uuid": f"u{n}", "parentUuid": parent, "timestamp": stamp, **line}
        parent = f"u{n}"


# -- damage ----------------------------------------------------------------------------


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def flip(data: bytes, rng: random.Random) -> bytes:
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 4, 20))):
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def drop(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(rng.choice((1, 2, 5))):
        del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def shuffle(data: bytes, rng: random.Random) -> bytes:
    """Double, swap or move lines."""
    lines = data.splitlines(keepends=True)
    one = rng.randrange(len(lines))
    other = rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            lines.insert(other, lines[one])
        case 1:
            lines[one], lines[other] = lines[other], lines[one]
        case _:
            lines.insert(other, lines.pop(one))
    return b"".join(lines)


def mistype(data: bytes, rng: random.Random) -> bytes:
    """Replace or delete values deep in some lines."""
    lines = data.splitlines(keepends=True)
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(lines))
        line = json.loads(lines[at])
        place, key = rng.choice(list(_places(line)))
        if rng.random() < 0.2:
            del place[key]
        else:
            place[key] = copy.deepcopy(rng.choice(JUNK))
        lines[at] = json.dumps(line).encode() + b"\n"
    return b"".join(lines)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def insert(data: bytes, rng: random.Random) -> bytes:
    """Put in a line that no program wrote."""
    nested = b"[" * 100_000
    long = b'{"type":"user","n":' + b"9" * 5_000 + b"}"
    deep = b'{"type":"user","message":{"content":' + b"[" * 400 + b"]" * 400 + b"}}"
    junk = (rng.randbytes(300), nested, long, deep, b"{}" * 1_000, b"null", b"\0" * 100)
    lines = data.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(junk) + b"\n")
    return b"".join(lines)


DAMAGES: tuple[Damage, ...] = (cut, flip, drop, shuffle, mistype, insert)

# -- reading ---------------------------------------------------------------------------


def ours(path: Path, workspace: Workspace) -> str:
    """Load and go on. Raises whatever goes wrong; a refusal has to name the file."""
    try:
        session = transcripts.load(path)
    except ValueError as error:
        return "refused" if str(path) in str(error) else f"BROKEN: refused by {error}"
    terms = {"settings": SETTINGS, "session": session}
    model = client(window=8_000, model=brain)
    with session:
        turns = list(run(model, "Go on.", workspace, **terms))
    assert turns[-1].stop_reason == "end_turn", turns[-1]
    again = transcripts.load(path)
    assert violation([*again.context, {"role": "user", "content": "?"}]) is None
    return "repaired" if session.damage else "read"


def theirs(path: Path, workspace: Workspace) -> str:
    """Load; no request may break a rule."""
    try:
        session = sessions.load(path)
    except ValueError as error:
        return "refused" if str(path) in str(error) else f"BROKEN: refused by {error}"
    problems = {violation(request.context) for request in session.requests} - {None}
    assert not problems, problems
    return "repaired" if session.damage else "read"


def fuzz(cases: int, seed: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield the reader, the damage and the outcome of each case."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = files(folder)
        path = folder / "damaged.jsonl"
        readers = [
            ("ours", our_file(folder), ours),
            ("theirs", their_file(folder), theirs),
        ]
        for n in range(cases):
            kind, source, reader = readers[n % 2]
            damage = DAMAGES[n // 2 % len(DAMAGES)]
            path.write_bytes(damage(source.read_bytes(), rng))
            try:
                outcome = reader(path, workspace)
            except Exception as error:
                outcome = f"BROKEN {type(error).__name__}: {error!s:.150}"
            yield kind, damage.__name__, outcome


def main(cases: int) -> None:
    table = Counter((kind, name, outcome) for kind, name, outcome in fuzz(cases))
    print(f"\n{'reader':<8}{'damage':<10}{'cases':>7}  outcome")
    for (kind, name, outcome), number in sorted(table.items()):
        print(f"{kind:<8}{name:<10}{number:>7,}  {outcome}")
    if any("BROKEN" in outcome for *_, outcome in table):
        raise SystemExit(1)


if __name__ == "__main__":
    main(count(__doc__, "cases", 6_000))
