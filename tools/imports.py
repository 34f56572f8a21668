"""Rename the imports of code that was written against an earlier edition.

Until the third edition one package, `agentlib`, held what are five now. Until the fifth
its modules stood side by side, and most are in drawers since. Notebooks that a learner has
edited, and their `my_agent.py`, still import the old ones.
"""

import re

MOVED = {
    "agentlib.lab.api": "offline_api",
    "agentlib.lab.cache": "offline_api.cache",
    "agentlib.lab.client": "offline_api",
    "agentlib.lab.client.live_notice": "agentlib.live.live_notice",
    "agentlib.lab.client.model_id": "agentlib.live.model_id",
    "agentlib.lab.client.price_notice": "agentlib.live.price_notice",
    "agentlib.lab.client.served_window": "agentlib.live.served_window",
    "agentlib.lab.crash": "windtunnel.crash",
    "agentlib.lab.engines": "windtunnel.engines",
    "agentlib.lab.figures": "course.figures",
    "agentlib.lab.figures.field": "windtunnel.field",
    "agentlib.lab.figures.style": "session_report.style",
    "agentlib.lab.figures.trade": "windtunnel.trade",
    "agentlib.lab.generations": "course.generations",
    "agentlib.lab.judge": "windtunnel.judge",
    "agentlib.lab.lessons": "course",
    "agentlib.lab.limits": "offline_api.limits",
    "agentlib.lab.model": "offline_api.model",
    "agentlib.lab.naive_loop": "course.naive_loop",
    "agentlib.lab.panels": "course.panels",
    "agentlib.lab.parts": "windtunnel.parts",
    "agentlib.lab.play": "windtunnel.runner",
    "agentlib.lab.put_back": "session_report.put_back",
    "agentlib.lab.replay": "session_report.playback",
    "agentlib.lab.scoreboard": "course.scoreboard",
    "agentlib.lab.sessions": "session_report",
    "agentlib.lab.spending": "agentlib.spending",
    "agentlib.lab.tasks": "windtunnel.tasks",
    "agentlib.lab.terminal": "session_report.terminal",
    "agentlib.messages.violation": "offline_api.violation",
}
"""Old names of modules, and of single names that left their module, with the new ones."""
for _name in ("bills", "frames", "need", "policies", "weights"):
    MOVED[f"agentlib.lab.replay.{_name}"] = f"session_report.{_name}"
MOVED["agentlib.lab.replay.estimates"] = "windtunnel.estimates"
for _name in (
    "auto_compact", "cost", "estimation", "head_and_tail", "manual_compact",
    "micro_compact", "museum", "recovery", "sessions", "the_wall", "transcripts",
    "what_survives", "your_engine",
):  # fmt: skip
    MOVED[f"agentlib.lab.lessons.{_name}"] = f"course.rooms.{_name}"
MOVED |= {
    "agentlib.auto_compact.excess": "agentlib.refusals.excess",
    "agentlib.auto_compact.refused_sizes": "agentlib.refusals.refused_sizes",
    "agentlib.estimation.meter": "agentlib.estimation.new_meter",
    "agentlib.loop.Event": "agentlib.events.Event",
    "agentlib.loop.metered": "agentlib.loop.meter_of",
    "agentlib.messages.replaced": "agentlib.messages.summary_source",
    "agentlib.recovery.memory_first": "agentlib.own_notes.memory_first",
    "agentlib.recovery.or_else": "agentlib.summaries.or_else",
    "agentlib.session_file.Compaction": "agentlib.session_file.CompactionRecord",
    "agentlib.session_file.SessionInUse": "agentlib.session_lock.SessionInUse",
    "agentlib.session_file.hold": "agentlib.session_lock.hold",
    "agentlib.transcripts.INTERRUPTED": "agentlib.messages.INTERRUPTED",
    "agentlib.transcripts.MISSING": "agentlib.mending.MISSING",
    "agentlib.transcripts.interrupted": "agentlib.messages.interrupted",
}
for _name in ("drop_newest_thinking", "drop_thinking"):
    MOVED[f"agentlib.messages.{_name}"] = f"agentlib.step.{_name}"
for _name in ("counts", "is_content", "received", "sendable", "stripped"):
    MOVED[f"agentlib.messages.{_name}"] = f"agentlib.replies.{_name}"
for _name in ("NoEngine", "check_engine"):
    MOVED[f"agentlib.pipeline.{_name}"] = f"agentlib.engine_check.{_name}"

DRAWERS = {
    "api": ("bounded", "live", "masks", "refusals", "replies", "requests", "spending"),
    "compaction": ("around", "breaker", "engine_check", "events", "hooks", "own_notes"),
    "session": ("keep_alive", "mending", "undo"),
    "tools": ("shell",),
}
"""Modules that stood at the top of agentlib until the fifth edition."""
for _drawer, _names in DRAWERS.items():
    for _name in _names:
        MOVED[f"agentlib.{_name}"] = f"agentlib.{_drawer}.{_name}"
MOVED |= {
    "agentlib.summaries": "agentlib.compaction.around",
    "agentlib.session_file": "agentlib.session.file",
    "agentlib.session_extras": "agentlib.session.extras",
    "agentlib.session_lock": "agentlib.session.file",
    "agentlib.engine_check.run_engine": "agentlib.pipeline.run_engine",
    "agentlib.events.Event": "agentlib.step.Event",
    "agentlib.own_notes.spoken_lines": "agentlib.recovery.spoken_lines",
    "agentlib.requests.LONGEST_REPLY": "agentlib.settings.LONGEST_REPLY",
    "agentlib.presets.TITLES": "windtunnel.trade.TITLES",
    "agentlib.step.clearing": "agentlib.compaction.engine_check.clearing",
    "agentlib.step.standing_in": "agentlib.compaction.engine_check.standing_in",
    "agentlib.undo.preview": "agentlib.compaction.around.preview",
}
for _name in ("Hooks", "NO_HOOKS", "gated", "hooked"):
    MOVED[f"agentlib.hooks.{_name}"] = f"agentlib.compaction.around.{_name}"
for _name in ("AGAIN", "NEARLY_FULL", "Breaker", "breaker"):
    MOVED[f"agentlib.recovery.{_name}"] = f"agentlib.compaction.breaker.{_name}"
MOVED["agentlib.recovery.CompactionRests"] = "agentlib.auto_compact.CompactionRests"

_STATEMENT = re.compile(
    r"^([ \t]*)from (agentlib[\w.]*) import (\([^)]*\)|[^\n#(]+?)([ \t]*#[^\n]*)?$",
    re.MULTILINE,
)
_MODULE = re.compile(r"^([ \t]*import )(agentlib\.lab[\w.]*)", re.MULTILINE)


def renamed(code: str) -> str:
    """Return the code with the imports of moved modules renamed, and nothing else changed.

    >>> renamed("from agentlib.lab.play import play, outcomes  # both\\n")
    'from windtunnel.runner import play, outcomes  # both\\n'
    >>> renamed("from agentlib.lab import sessions")
    'import session_report as sessions'
    """
    code = _STATEMENT.sub(_renamed_statement, code)
    return _MODULE.sub(lambda found: found[1] + new_name(found[2]), code)


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
    lines = [_statement(package, names) for package, names in moved.items()]
    lines[0] += comment or ""
    return "\n".join(indent + line for line in lines)


def _statement(package: str, names: list[str]) -> str:
    if package:
        return f"from {package} import {', '.join(names)}"
    return f"import {', '.join(names)}"


def new_name(name: str) -> str:
    """Return the new name of a module or of a name in one, through all editions since.

    The longest match counts.
    """
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if new := MOVED.get(".".join(parts[:end])):
            return new_name(".".join([new, *parts[end:]]))
    return name
