"""Record a conversation with the agent as the picture of docs/terminal.md.

python -m tools.conversation

The run is a real one in a terminal, offline, on the source of `packaging`. Lines are cut
to the picture's width, and turns between two compactions are left out. It needs a
pseudo-terminal, so it doesn't run on Windows.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

WHERE = Path(__file__).parent.parent / "docs" / "conversation.svg"
PROMPT = "agent> "
TYPED = (
    "Read every Python file one by one and write a report",
    "/compact preview",
    "/compact",
    "/undo",
    "q",
)
ARGUMENTS = ("--workspace", "packaging", "--window", "32000")
WIDTH = 100
"""Columns of the picture."""
MOST = 11
"""Lines that are shown of what follows one prompt: its first ones and its last ones."""
SESSION = re.compile(r"\d{8}-\d{6}-\d+(?P<place>\.jsonl#)?(?(place)[\w-]+)")
SAME_DAY = "20261121-101500-1"
"""What stands for the session's name, so that the picture doesn't change each day."""
WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""What rich's picture would load from another server."""


def conversation(folder: Path) -> list[str]:
    """Type the lines into the agent in `folder`. Return what the screen shows for
    each."""
    import pty

    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "agentlib", *ARGUMENTS]
    size = {"COLUMNS": "1000", "LINES": "50", "TERM": "xterm-256color"}
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env=os.environ | size,
    ):
        os.close(inner)
        shown = [f"$ python -m agentlib {' '.join(ARGUMENTS)}\r\n{_answer(outer)}"]
        for line in TYPED:
            os.write(outer, f"{line}\n".encode())
            shown.append(PROMPT + _answer(outer))
    os.close(outer)
    return shown


def _answer(terminal: int) -> str:
    """Read what the agent prints, up to its next prompt or its end."""
    text = ""
    while not text.endswith(PROMPT):
        try:
            text += os.read(terminal, 4_096).decode("utf-8", "replace")
        except OSError:  # the program has ended
            break
    return text.removesuffix(PROMPT)


def abridged(text: str, folder: Path) -> list[str]:
    """Return the first and the last lines, with "…" between them, without our paths."""
    text = re.sub(r"\x1b\[\?\d+[hl]", "", text).replace("\r", "")
    text = text.replace(f"{folder.resolve()}/", "").replace(sys.executable, "python")
    text = SESSION.sub(
        lambda m: SAME_DAY + (f"{m['place']}1f0c" if m["place"] else ""), text
    )
    lines = text.strip("\n").split("\n")
    if len(lines) <= MOST:
        return lines
    compacted = [n for n, line in enumerate(lines) if "auto_compact" in line][:1]
    middle = [each for n in compacted for each in ("…", *lines[n : n + 2])]
    return [*lines[:4], *middle, "…", *lines[-3:]]


def picture(shown: list[str], folder: Path) -> str:
    """Draw the lines as a terminal, in SVG."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(
            record=True, width=WIDTH, file=nowhere, force_terminal=True, highlight=False
        )
        for text in shown:
            for line in abridged(text, folder):
                row = Text.from_ansi(line)
                row.truncate(WIDTH, overflow="ellipsis")
                console.print(row, no_wrap=True)
        drawing = console.export_svg(title="agentlib", unique_id="conversation")
        return WEB_FONT.sub("", drawing.replace("Fira Code", "ui-monospace"))


def main() -> None:
    source = find_spec("packaging")
    assert source, "the course pins packaging"
    with TemporaryDirectory() as name:
        folder = Path(name)
        left_out = shutil.ignore_patterns("__pycache__")
        place = Path(str(source.origin)).parent
        shutil.copytree(place, folder / "packaging", ignore=left_out)
        drawing = picture(conversation(folder), folder)
    lines = [line.rstrip() for line in drawing.splitlines()]
    WHERE.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
