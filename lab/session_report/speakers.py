"""Say who speaks in a line of a session file, for every format, in one place.

Programs put much where the person's words stand: reminders, slash commands and what
they print, notes of an editor, messages of teammates, instructions from files. All of
it has the role of the user. `words_in` finds the person's words in it, by the shapes that only
programs write. `said` and `words` read the lines of Claude Code's files and of ours,
whose envelopes say more.

This module imports no format. It needs Python's library alone, because `keep` has to
start quickly.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

__all__ = ["is_command", "is_programs", "said", "text_of", "typed", "words", "words_in"]

_OPENINGS = (
    # Claude Code
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<teammate-message",
    "<cross-session-message",
    "<session-start-hook",
    "<system-reminder",
    "<persisted-output>",
    "[Request interrupted",
    "Another Claude session sent a message:",
    "Caveat:",
    "Implement the following plan",
    "Stop hook feedback",
    "This session is being continued from a previous conversation",
    # Codex
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<collaboration_mode>",
    "<permissions instructions>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_shell_command>",
    # ours
    "[Said earlier, word for word.",
    "[a message that is not in the file]",
)
"""What a text begins with that a program wrote as a whole.

Sources: sessions of Claude Code 1.0 to 2.1, and codex-rs/core/src/context of
github.com/openai/codex."""
_FRAME = re.compile(
    r"<(/?)(system-reminder|ide_\w+|user-prompt-submit-hook|environment_context"
    r"|user_instructions)>"
)
"""Where a program's part of a text begins and ends."""
_IMAGE = re.compile(r"\[Image[^\]\n]{0,500}\]")
_NOT_TYPED = ("isMeta", "isSidechain", "isCompactSummary", "parent_tool_use_id")
"""Fields of Claude Code's envelope: a program's text, a sub-agent's, a summary."""


def said(line: Mapping[str, Any]) -> str:
    """Return what the person says in a line of Claude Code's files or of ours, "" if
    somebody else speaks.

    >>> said({"type": "user", "message": {"content": "Go on."}})
    'Go on.'
    >>> said({"type": "user", "isMeta": True, "message": {"content": "Obey."}})
    ''
    """
    match line:
        case {"type": "user", "message": {"content": content}}:
            is_typed = not any(line.get(name) for name in _NOT_TYPED)
            return words_in(content) if is_typed and _is_human(line) else ""
        case {"type": "attachment", "attachment": {"type": "queued_command"} as queued}:
            is_prompt = queued.get("commandMode", "prompt") == "prompt"
            is_typed = is_prompt and not queued.get("isMeta") and _is_human(queued)
            is_typed = is_typed and not line.get("isSidechain")
            text = words_in(queued.get("prompt")) if is_typed else ""
            return "" if is_command(text) else text
        case _:
            return ""


def words(lines: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the person says in the lines of a session, in the order said.

    What is typed while the agent works waits in Claude Code's queue. Older versions
    note only that it was put in and taken out, so it counts when it is taken out.
    Newer ones repeat it in a line of its own, so the same text can come twice.
    """
    waiting = list[str]()
    for line in lines:
        match line:
            case {"type": "queue-operation", "operation": "enqueue", "content": text}:
                waiting += filter(None, [words_in(text)])
            case {"type": "queue-operation", "operation": "popAll"}:
                waiting.clear()
            case {"type": "queue-operation", "operation": "dequeue" | "remove"}:
                yield from (text for text in waiting[:1] if not is_command(text))
                del waiting[:1]
            case _:
                yield from filter(None, [said(line)])


def words_in(content: Any) -> str:
    """Return the person's part of what a message with the role of the user says. A text
    beside a result is a program's.

    >>> words_in([{"text": "<user_instructions>Obey.</user_instructions> Go on."}])
    'Go on.'
    """
    blocks = cast(list[Any], content) if isinstance(content, list) else []
    for block in blocks:
        match block:
            case {"type": "tool_result"} | {"functionResponse": _}:
                return ""
            case _:
                pass
    return typed(text_of(content))


def typed(text: str) -> str:
    """Return a text without the parts that programs put into it, "" if nothing is left.

    >>> typed("<ide_opened_file>a.py</ide_opened_file> And the tests. [Image #1]")
    'And the tests.'
    """
    parts = list[str]()
    start = 0
    frame: re.Match[str] | None = None
    for mark in _FRAME.finditer(text):
        is_end = bool(mark[1])
        if frame is None and not is_end:
            parts.append(text[start : mark.start()])
            frame = mark
        elif frame is not None and is_end and mark[2] == frame[2]:
            start = mark.end()
            frame = None
    parts.append(text[frame.start() if frame else start :])
    own = _IMAGE.sub("", "".join(parts)).strip()
    return "" if is_programs(own) else own


def is_programs(text: str) -> bool:
    """Return whether a program wrote a text that stands where the person's words do.

    >>> is_programs("<task-notification>Done.</task-notification>"), is_programs("Go.")
    (True, False)
    """
    return text.lstrip().startswith(_OPENINGS)


def is_command(text: str) -> bool:
    """Return whether a text that waited in the queue is a slash command. Elsewhere
    Claude Code marks them."""
    return text.startswith("/")


def text_of(content: Any) -> str:
    """Return a text, or the texts of blocks, in any of the formats.

    >>> text_of([{"type": "text", "text": "Go"}, {"type": "image"}, "on."])
    'Go\\non.'
    """
    blocks = cast(list[Any], content) if isinstance(content, list) else [content]
    texts = list[str]()
    for block in blocks:
        match block:
            case str(text) | {"text": str(text)}:
                texts.append(text)
            case _:
                pass
    return "\n".join(texts)


def _is_human(fields: Mapping[str, Any]) -> bool:
    """Return whether an origin, if a line names one, is the person. Others are a
    teammate, another session, a task that has ended."""
    match fields.get("origin"):
        case {"kind": kind}:
            return kind == "human"
        case _:
            return True
