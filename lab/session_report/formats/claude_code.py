"""Know Claude Code's session files, and say what their places mean.

A project's folder has a file for each session. Files of sub-agents begin with "agent-".
They lie beside the session's file, or below a folder of its name in `subagents`, some
in a folder for each workflow. What `--output-format stream-json` prints, and Cowork's
audit.jsonl, have the same messages with other fields around them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from agentlib.session.file import Line
from session_report.formats import Format
from session_report.formats import Reader as Base

PROJECTS = Path.home() / ".claude" / "projects"
"""Where Claude Code keeps its session files, unless `places` says otherwise."""
_SUBAGENTS = "subagents"


def places() -> list[Path]:
    """List the folders with Claude Code's sessions: those that `CLAUDE_CONFIG_DIR`
    names, with commas between, or else `PROJECTS` and the one in ~/.config."""
    named = [
        text.strip() for text in os.environ.get("CLAUDE_CONFIG_DIR", "").split(",")
    ]
    if any(named):
        return [Path(text).expanduser() / PROJECTS.name for text in named if text]
    every = [PROJECTS, Path.home() / ".config" / "claude" / PROJECTS.name]
    return [each for each in every if each.exists()] or [PROJECTS]


def is_message(line: Line) -> bool:
    """Return whether a line is a message in Claude Code's envelope."""
    match line:
        case {"type": "user" | "assistant", "message": {"content": _}}:
            return True
        case _:
            return False


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
        match line:
            case {"type": "cost-state", "totalCostUSD": int() | float() as stated} | {
                "type": "result",
                "total_cost_usd": int() | float() as stated,
            }:
                self.about.stated = float(stated)
            case {"toolUseResult": {"agentId": str(agent), "totalTokens": int(tokens)}}:
                self.about.agents[agent] = tokens
            case _:
                pass
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
