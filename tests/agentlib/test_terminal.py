"""The terminal as transcripts: what is typed, and every line that is printed for it.

`terminal.txt` has the transcripts. A line that begins with `agent> ` is typed. `…` in a
printed line stands for any text, and an exit code other than 0 has a line. Where
sentences were reworded on purpose,

    UPDATE=1 python -m pytest -n0 tests/agentlib/test_terminal.py

writes what is printed now into the file.
"""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentlib.transcripts import load
from tests.builders import say
from tests.desk import Body, Desk, Model, interrupted, parrot

FILE = Path(__file__).with_name("terminal.txt")
TYPED = "agent> "
MANY = "{many words}"
MANY_WORDS = ("word " * 1_000).strip()


def _broken(body: Body) -> Body:
    return {}["nothing"]


MODELS: dict[str, Callable[[], Model]] = {
    "": lambda: parrot,
    "interrupted": lambda: interrupted(parrot, at=2),
    "broken": lambda: _broken,
    "cut off": lambda: lambda body: {**say("And so"), "stop_reason": "max_tokens"},
    "refusing": lambda: lambda body: {**say("And so"), "stop_reason": "refusal"},
    "silent": lambda: lambda body: say(""),
}


def talks() -> dict[str, str]:
    """Read the transcripts: a heading, and the lines below it."""
    parts = re.split(r"^## (.+)\n", FILE.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def spoken(desk: Desk, typed: list[str]) -> list[str]:
    """Type the lines. Return the transcript that comes of it."""
    lines = list[str]()
    for line in typed:
        code = desk.obey(line.replace(MANY, MANY_WORDS))
        text = "\n".join(each.rstrip() for each in desk.printed())
        printed = text.replace(MANY_WORDS, MANY).rstrip("\n").split("\n")
        lines += [TYPED + line, *printed]
        lines += [f"(code {code})"] if code else []
    return lines


def fits(shown: str, line: str) -> bool:
    """Return whether a line is as the transcript has it; `…` is any text."""
    pattern = ".*".join(map(re.escape, line.split("…")))
    return re.fullmatch(pattern, shown) is not None


def update(heading: str, shown: list[str]) -> None:
    """Write what is printed now. A known line with `…` that still fits stays."""
    every = talks()
    known = [line for line in every[heading].splitlines() if "…" in line]
    lines = [next((k for k in known if fits(each, k)), each) for each in shown]
    every[heading] = "\n".join(lines)
    parts = [f"## {name}\n{text.strip()}\n" for name, text in every.items()]
    FILE.write_text("\n".join(parts), encoding="utf-8")


@pytest.mark.parametrize("heading", talks())
def test_each_line_has_its_answer(
    heading: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = talks()[heading]
    model = re.search(r"\((\w[\w ]*) model\)", heading)
    desk = Desk(tmp_path, capsys, MODELS[model[1] if model else ""]())
    if "(compaction off)" in heading:
        settings = replace(desk.terminal.settings, enabled=False)
        desk.terminal.settings = settings
    known = text.strip("\n").splitlines()
    typed = [line.removeprefix(TYPED) for line in known if line.startswith(TYPED)]
    shown = spoken(desk, typed)
    if os.environ.get("UPDATE"):
        update(heading, shown)
        return
    wrong = [
        (line, expected)
        for line, expected in zip(shown, known, strict=False)
        if not fits(line, expected)
    ]
    assert wrong == []
    assert len(shown) == len(known)
    assert load(desk.terminal.file).history == desk.terminal.session.history
