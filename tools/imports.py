"""Rename the imports of code that was written against the fourth edition.

Until then agentlib's modules stood side by side, and most are in drawers since. Notebooks
that a learner has edited, and their `my_agent.py`, still import the old ones.
"""

import re

DRAWERS = {
    "api": ("bounded", "live", "masks", "refusals", "replies", "requests", "spending"),
    "compaction": ("around", "breaker", "engine_check", "events", "hooks", "own_notes"),
    "session": ("keep_alive", "mending", "undo"),
    "tools": ("shell",),
}
"""Modules that stood at the top of agentlib."""
MOVED = {
    f"agentlib.{name}": f"agentlib.{drawer}.{name}"
    for drawer, names in DRAWERS.items()
    for name in names
} | {
    "agentlib.summaries": "agentlib.compaction.around",
    "agentlib.session_file": "agentlib.session.file",
    "agentlib.session_file.Compaction": "agentlib.session.file.CompactionRecord",
    "agentlib.session_extras": "agentlib.session.extras",
    "agentlib.session_lock": "agentlib.session.file",
    "agentlib.engine_check.run_engine": "agentlib.pipeline.run_engine",
    "agentlib.events.Event": "agentlib.step.Event",
    "agentlib.own_notes.spoken_lines": "agentlib.recovery.spoken_lines",
    "agentlib.recovery.CompactionRests": "agentlib.auto_compact.CompactionRests",
    "agentlib.requests.LONGEST_REPLY": "agentlib.settings.LONGEST_REPLY",
    "agentlib.presets.TITLES": "windtunnel.trade.TITLES",
    "agentlib.step.clearing": "agentlib.compaction.engine_check.clearing",
    "agentlib.step.standing_in": "agentlib.compaction.engine_check.standing_in",
    "agentlib.undo.preview": "agentlib.compaction.around.preview",
}
"""Old names of modules, and of single names that left their module, with the new ones."""
for _name in ("Hooks", "NO_HOOKS", "gated", "hooked"):
    MOVED[f"agentlib.hooks.{_name}"] = f"agentlib.compaction.around.{_name}"
for _name in ("AGAIN", "NEARLY_FULL", "Breaker", "breaker"):
    MOVED[f"agentlib.recovery.{_name}"] = f"agentlib.compaction.breaker.{_name}"

_STATEMENT = re.compile(
    r"^([ \t]*)from (agentlib[\w.]*) import (\([^)]*\)|[^\n#(]+?)([ \t]*#[^\n]*)?$",
    re.MULTILINE,
)


def renamed(code: str) -> str:
    """Return the code with the imports of moved modules renamed, and nothing else changed.

    >>> renamed("from agentlib.undo import undo  # mine\\n")
    'from agentlib.session.undo import undo  # mine\\n'
    """
    return _STATEMENT.sub(_renamed_statement, code)


def _renamed_statement(found: re.Match[str]) -> str:
    indent, module, names, comment = found.groups()
    listed = [name.strip() for name in names.strip("()").split(",") if name.strip()]
    moved: dict[str, list[str]] = {}
    for name in listed:
        old, _, alias = name.partition(" as ")
        package, _, new = new_name(f"{module}.{old}").rpartition(".")
        shown = alias or old
        moved.setdefault(package, []).append(
            new if new == shown else f"{new} as {shown}"
        )
    if moved == {module: listed}:
        return found[0]
    lines = [
        f"from {package} import {', '.join(new)}" for package, new in moved.items()
    ]
    lines[0] += comment or ""
    return "\n".join(indent + line for line in lines)


def new_name(name: str) -> str:
    """Return the new name of a module or of a name in one. The longest match counts."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if new := MOVED.get(".".join(parts[:end])):
            return ".".join([new, *parts[end:]])
    return name
