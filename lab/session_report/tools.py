"""Say what a call does to which files, whichever agent's tool it is.

Claude Code says `Read`, pi says `read`, gemini-cli says `read_file`. A shell command
may read files, too, but no table can tell which. So a command counts as "shell" and
names no file, unless it holds a patch, as Codex writes them.
"""

import re
from typing import Any, Literal, cast

from agentlib.messages import Block

Kind = Literal["read", "write", "search", "shell", "other"]

_TOOLS: dict[Kind, str] = {
    "read": "read read_file read_many_files view view_image notebookread",
    "write": "write write_file edit multiedit notebookedit edit_file replace apply_patch",
    "search": "grep glob find ls list_directory list_dir search_file_content grep_search",
    "shell": "bash shell exec_command run_shell_command shell_command local_shell container.exec",
}
_KINDS: dict[str, Kind] = {
    name: kind for kind, names in _TOOLS.items() for name in names.split()
}
_PATHS = ("file_path", "path", "absolute_path", "notebook_path", "paths", "include")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def kind_of(call: Block) -> Kind:
    """Name what a call does. A tool of an MCP server is known by the end of its name.

    >>> kind_of({"name": "mcp__files__read_file", "input": {}})
    'read'
    """
    kind: Kind = _KINDS.get(call["name"].rpartition("__")[2].lower(), "other")
    return "write" if kind == "shell" and _patched(call) else kind


def files_of(call: Block) -> list[str]:
    """List the files that a call reads or writes, by the names that it gives them.

    >>> files_of({"name": "Edit", "input": {"file_path": "a.py", "old_string": "x"}})
    ['a.py']
    """
    if kind_of(call) not in ("read", "write"):
        return []
    return _texts(call, *_PATHS) or _patched(call)


def _patched(call: Block) -> list[str]:
    return _PATCHED.findall("\n".join(_texts(call, *call["input"])))


def _texts(call: Block, *names: str) -> list[str]:
    """List the texts that a call gives under these names, alone or in a list."""
    values: list[Any] = [call["input"].get(name) for name in names]
    each = (
        e for v in values for e in (cast(list[Any], v) if isinstance(v, list) else [v])
    )
    return [text for text in each if text and isinstance(text, str)]
