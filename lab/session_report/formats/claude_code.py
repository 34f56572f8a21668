"""Know Claude Code's session files, and say what their places mean.

A project's folder has a file for each session. Files of sub-agents begin with "agent-".
They lie beside the session's file, or below a folder of its name in `subagents`, some
in a folder for each workflow. What `--output-format stream-json` prints, and Cowork's
audit.jsonl, have the same messages with other fields around them.
"""

from collections.abc import Iterator
from pathlib import Path

from agentlib.session.file import Line
from session_report.formats import Format
from session_report.formats import Reader as Base

PROJECTS = Path.home() / ".claude" / "projects"
"""Where Claude Code keeps its session files."""
_SUBAGENTS = "subagents"


def is_message(line: Line) -> bool:
    """Return whether a line is a message in Claude Code's envelope."""
    return line.get("type") in ("user", "assistant") and isinstance(
        line.get("message"), dict
    )


def project_of(path: Path) -> str:
    """Name the project of a file: Claude Code's folder for it, or else the file's own
    folder.

    >>> project_of(Path("/home/ada/.claude/projects/-home-ada-shop/5f1c/subagents/agent-1.jsonl"))
    '-home-ada-shop'
    >>> project_of(Path("/backup/shop/5f1c/subagents/workflows/wf_1/agent-2.jsonl"))
    'shop'
    """
    *_, mark, folders = path.as_posix().rpartition(f"/{PROJECTS.name}/")
    if mark and "/" in folders:
        return folders.split("/")[0]
    parts = path.resolve().parent.parts
    if _SUBAGENTS in parts[2:]:
        parts = parts[: parts.index(_SUBAGENTS, 2) - 1]
    return parts[-1]


def kind_of(path: Path) -> str:
    """Name whose conversation a file is, by the names that Claude Code gives.

    >>> kind_of(Path("agent-a1.jsonl")), kind_of(Path("agent-acompact-a1.jsonl"))
    ('subagent', 'compaction call')
    """
    if not path.name.startswith("agent-"):
        return "session"
    return "compaction call" if path.name.startswith("agent-acompact") else "subagent"


class Reader(Base):
    """Gives the lines of a saved stream the fields of a session's file."""

    def __call__(self, number: str, line: Line) -> Iterator[Line]:
        names = {theirs: ours for theirs, ours in _STREAM.items() if theirs in line}
        more = {ours: line[theirs] for theirs, ours in names.items() if line[theirs]}
        if agent := line.get("parent_tool_use_id"):
            more |= {"isSidechain": True, "agentId": str(agent)}
        yield {**line, **more} if more else line


_STREAM = {"request_id": "requestId", "_audit_timestamp": "timestamp"}
"""Fields of a saved stream, and what a session's file calls them."""

FORMAT = Format(
    "Claude Code",
    '"type": "user", "message"',
    ("*.jsonl",),
    is_message,
    Reader,
    project_of,
    kind_of,
)
