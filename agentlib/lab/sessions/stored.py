"""Read a stored run of Claude Code, for a reader who doesn't have the program.

Claude Code ran against the offline API, over a copy of 45 files of this package. The run holds
numbers and the summaries that Claude Code went on from. It holds no file and no path of the
machine. `make test-adapters` runs the program again, over another package.
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
    >>> len(run.files), len(run.described), [each.before for each in run.compactions]
    (45, 45, [70428, 69222, 68073, 66412])
    """
    given: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name in ("files", "described", "prompts"):
        given[name] = tuple(given[name])
    given["compactions"] = tuple(Compacted(**each) for each in given["compactions"])
    return ClaudeCodeRun(**given)
