"""Read a stored run of Claude Code, for a reader who doesn't have the program.

Claude Code ran on this machine's kind of server, the offline API, over a copy of this package. The
run holds numbers and the summaries that it was left with. It holds no file and no path of the
machine. `make test-adapters` runs the program again.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("claude_code_run.json")


@dataclass(frozen=True)
class Compacted:
    """One of its compactions."""

    turn: int
    """The request before which it happened, counted from 1."""
    before: int
    """Tokens of the prompt, as its session file notes them."""
    after: int
    """Tokens of the next prompt."""
    summary: str


@dataclass(frozen=True)
class ClaudeCodeRun:
    """What a run of Claude Code left behind."""

    version: str
    asked: str
    """The prompt."""
    window: int
    """The tokens that CLAUDE_CODE_AUTO_COMPACT_WINDOW named."""
    files: tuple[str, ...]
    """The files that it was to describe."""
    described: tuple[str, ...]
    """Those with a purpose in its report."""
    prompts: tuple[int, ...]
    """Tokens of each prompt, without those that asked for a summary."""
    compactions: tuple[Compacted, ...]
    billed: dict[str, int]
    """The server's count of all requests, those for summaries too."""


def claude_code_run(path: Path = STORED) -> ClaudeCodeRun:
    """Return the stored run.

    >>> run = claude_code_run()
    >>> len(run.compactions) >= 3, run.described == run.files
    (True, True)
    """
    given: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    compactions = tuple(Compacted(**each) for each in given.pop("compactions"))
    lists = {name: tuple(given.pop(name)) for name in ("files", "described", "prompts")}
    return ClaudeCodeRun(**given, **lists, compactions=compactions)
