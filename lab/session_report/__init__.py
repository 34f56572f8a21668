"""What recorded sessions cost and lost, and what other settings would have cost (lesson 09).

    load, files     read a session file of Claude Code, another agent or ours, and find them
    keep            put the person's words back after a compaction: `agentlib-keep`
    speakers        who speaks where the user's words stand
    formats         what each program's lines mean, a module each
    events, recorded    what happens in a session, and the session that it makes
    kept            what each compaction kept, by kind
    playback        `replay` a session under other settings, and its `table`
    weights, bills, need, policies, put_back    what a replay weighed, cost and needed again
    one, overview   one session, and many
    what_if         the settings that would have been cheaper
    answer, report, pictures          what is printed, written as a page, and drawn
    style, terminal                   pictures and commands, for the packages above, too

In a terminal: `agentlib-sessions`, or `python -m session_report`. `load` tells the formats
apart by what is in the file. The names below are loaded on first use, so that `import
session_report` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentlib.session.mending import MISSING
    from agentlib.transcripts import Session
    from session_report.formats.claude_code import PROJECTS
    from session_report.playback import replay, table
    from session_report.reading import FORMATS, files, load

__all__ = [
    "FORMATS",
    "MISSING",
    "PROJECTS",
    "Session",
    "files",
    "load",
    "replay",
    "table",
]

_HOMES = {
    "FORMATS": "session_report.reading",
    "MISSING": "agentlib.session.mending",
    "PROJECTS": "session_report.formats.claude_code",
    "Session": "agentlib.transcripts",
    "files": "session_report.reading",
    "load": "session_report.reading",
    "replay": "session_report.playback",
    "table": "session_report.playback",
}
"""The module that each name comes from."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
