"""Put what the person said back after a compaction of Claude Code: `agentlib-keep`.

    agentlib-keep                    print the lines for Claude Code's settings.json
    agentlib-keep hook               what those lines run after each compaction
    agentlib-keep check [SESSION]    say whether the words arrived, for each compaction

Claude Code runs the hook while its new summary is not yet in the session's file (seen
with 2.1.330). So the hook usually gives back all that the person said. Where a summary
is the last thing in the file, words that stand in it are left out.

The hook reads, and prints. It writes no file, sends nothing, and exits with 0 whatever
it is given. It needs Python's library alone, because it has to start quickly. Words of
a branch that the person left by rewinding are put back, too.
"""

import json
import os
import re
import shlex
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from agentlib.api.masks import masked
from agentlib.messages import NOT_SAID, SAID, SAID_END, SAID_LINE, TRIMMED, not_said
from session_report import speakers

__all__ = [
    "Compaction",
    "Record",
    "block",
    "main",
    "normal",
    "read",
    "stands_whole",
    "texts_of_hooks",
]

LIMIT = 9_000
"""The text has fewer UTF-16 units than that, as JavaScript counts characters. Claude
Code 2.1.330 passes on 9,900 whole. Of 10,100 it passes on a preview of 2,000 bytes."""
_CUTS = re.compile(r"^\[\.\.\. \d+ characters trimmed \.\.\.\]$", re.MULTILINE)
SHORT = 200
"""Characters. Words as short as this are never cut to their two ends."""
CHARS_PER_TOKEN = 3.5
SECONDS = 30.0
"""When the hook gives up. Claude Code gives a hook 60 seconds or more."""
_PREVIEW = "<persisted-output>"
"""Opens what Claude Code puts in place of a text that is too long."""
_LONGEST = 64_000_000
"""Bytes of the longest line that is read, and at most of an event."""
_ENDS = 20_000
"""Characters at each end of a text that are looked at."""
_SUMMARY = 100_000
"""Characters of a summary in which words are looked for. Real ones have 8 to 24 k."""
_WANTED = (b'"user"', b'"queue-operation"', b'"queued_command"', b'"SessionStart')
"""A line without any of these holds nothing that is needed here."""
_BEGINS = '{"parentUuid"'
"""What a line may begin with behind the torn end of another."""
_USAGE = "usage: agentlib-keep | agentlib-keep hook | agentlib-keep check [SESSION]"


# -- the text --------------------------------------------------------------------------


def block(texts: Iterable[str], limit: int = LIMIT) -> str:
    """Return the text that puts the person's words back, "" if there are none.

    It has fewer than `limit` UTF-16 units. The same words stand once. If not all of
    them fit, the first words have their room before all others. Then come the newest
    and those before them, as far as there is room. A text of more than 200 characters
    has at most half of the room that is left, and keeps both ends around a mark that
    counts. A line counts the texts that are left out. Keys and tokens are masked.

    >>> print(block(["Mend the shop.", "Never touch main.py.", "Mend the shop."]))
    [Said earlier, word for word. The summary says what of it is done; do nothing twice.]
    [said] Mend the shop.
    [said] Never touch main.py.
    [End of what was said earlier]
    """
    said = [text for text in dict.fromkeys(texts) if text]
    if not said:
        return ""
    end = f"\n{SAID_END}"
    if sum(map(len, said)) < 2 * limit:  # masks can make a text shorter
        lines = [f"\n{SAID_LINE}{_clean(text)}" for text in said]
        whole = "".join([SAID, *lines, end])
        if _units(whole) < limit:
            return whole
    count = f"\n{NOT_SAID}"
    room = limit - 1 - sum(map(_units, (SAID, count.format(len(said)), end)))
    first = _fitting(said[0], room)
    room -= _units(first)
    newest = list[str]()
    for text in reversed(said[1:]):
        line = _fitting(text, room)
        if not line:
            break
        newest.append(line)
        room -= _units(line)
    lost = len(said) - len(newest) - bool(first)
    told = [count.format(lost)] if lost else []
    return "".join([SAID, first, *told, *reversed(newest), end])


def _fitting(text: str, room: int) -> str:
    """Return the line of a text, with the middle of a long one left out. "": it doesn't
    fit."""
    gone = max(0, len(text) - 2 * _ENDS)
    ends = _clean(text[:_ENDS] + text[-_ENDS:] if gone else text)
    line = f"\n{SAID_LINE}{ends}"
    if len(ends) <= SHORT:
        return line if _units(line) <= room else ""
    keep = len(ends) // 2
    while gone or _units(line) > room // 2:
        keep = min(keep, room) * 3 // 4
        if keep < SHORT // 2:
            return ""
        mark = TRIMMED.format(len(ends) + gone - 2 * keep)
        line = f"\n{SAID_LINE}{ends[:keep]}\n{mark}\n{ends[-keep:]}"
        if _units(line) <= room // 2:
            return line
    return line


def _clean(text: str) -> str:
    """Mask keys, and replace halves of characters, which no request may have."""
    return masked(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def tokens(text: str) -> int:
    """Estimate the tokens of a text, at 3.5 characters for a token."""
    return round(len(text) / CHARS_PER_TOKEN)


def normal(text: str) -> str:
    """Return a text as it is compared.

    >>> normal(" It’s  “so”\\n")
    'It\\'s "so"'
    """
    return " ".join(text.translate(_STRAIGHT).split())


_STRAIGHT = str.maketrans("“”‘’", "\"\"''")


def stands_whole(text: str, within: str) -> bool:
    """Return whether a text stands whole in another, and not inside a word. Both are
    `normal`."""
    at = within.find(text)
    while text and at >= 0:
        before = within[at - 1 : at]
        after = within[at + len(text) : at + len(text) + 1]
        is_word = (before + text[0]).replace("_", "a").isalnum() and len(before) == 1
        goes_on = (text[-1] + after).replace("_", "a").isalnum() and len(after) == 1
        if not is_word and not goes_on:
            return True
        at = within.find(text, at + 1)
    return False


# -- the session's file ----------------------------------------------------------------


@dataclass
class Compaction:
    """A compaction, and what came into the context with it."""

    seen: int
    """How many texts the person had said."""
    summary: str
    texts: list[str] = field(default_factory=list[str])
    """What hooks put beside the summary."""
    has_run: bool = False
    """Whether our hook printed something."""

    def arrived(self) -> str:
        """Return our text if it stands in the context, whole or as a preview, else
        ""."""
        return next((text for text in self.texts if SAID in text), "")


@dataclass
class Record:
    """What the person said in a session, and its compactions."""

    said: list[str] = field(default_factory=list[str])
    """In the order said, the same words once."""
    compactions: list[Compaction] = field(default_factory=list[Compaction])
    is_fresh: bool = False
    """Whether the newest summary is the last message."""

    def missing(self) -> list[str]:
        """Return what the newest summary doesn't have of the person's words.

        If there are messages behind the newest summary of the file, the one that counts
        is not in the file yet. Then all words are returned.
        """
        summary = self.compactions[-1].summary if self.is_fresh else ""
        summary = normal(summary[:_SUMMARY])
        return [text for text in self.said if not stands_whole(normal(text), summary)]


def read(lines: Iterable[Any]) -> Record:
    """Read the lines of a session, in their order."""
    record = Record()
    known = set[str]()
    for text in speakers.words(_noted(lines, record)):
        if text not in known:
            known.add(text)
            record.said.append(text)
    return record


def _noted(lines: Iterable[Any], record: Record) -> Iterator[Any]:
    """Pass the lines on, and note compactions and what hooks put behind them."""
    for line in lines:
        match line:
            case {"isSidechain": True}:  # a sub-agent's
                pass
            case {
                "type": "user",
                "isCompactSummary": True,
                "message": {"content": text},
            }:
                compaction = Compaction(len(record.said), speakers.text_of(text))
                record.compactions.append(compaction)
                record.is_fresh = True
            case {"type": "user" | "assistant"}:
                record.is_fresh = False
            case {"type": "attachment", "attachment": {"hookEvent": _, **rest}} if (
                record.compactions
            ):
                record.compactions[-1].texts += texts_of_hooks(line)
                record.compactions[-1].has_run |= SAID in str(rest.get("stdout"))
            case _:
                pass
        yield line


def texts_of_hooks(line: Any) -> list[str]:
    """Return the texts that hooks of `SessionStart` put into the context, as a line of
    the session's file has them."""
    match line:
        case {
            "type": "attachment",
            "attachment": {
                "type": "hook_additional_context",
                "hookEvent": "SessionStart",
                "content": content,
            },
        }:
            every = cast(list[Any], content) if isinstance(content, list) else [content]
            return [text for text in every if isinstance(text, str)]
        case _:
            return []


def lines_of(path: Path) -> Iterator[Any]:
    """Yield what is needed of a session's file. Lines that can't be read are left
    out."""
    with path.open("rb") as file:
        while raw := file.readline(_LONGEST):
            if not raw.endswith(b"\n") and len(raw) == _LONGEST:
                while raw and not raw.endswith(b"\n"):
                    raw = file.readline(_LONGEST)
            elif any(word in raw for word in _WANTED):
                yield from _objects(raw.decode("utf-8", "replace"))
            elif b'"assistant"' in raw:
                yield {"type": "assistant"}


def _objects(text: str) -> Iterator[Any]:
    """Yield the objects of a line. There are several if a line end was lost."""
    decode = json.JSONDecoder().raw_decode
    at = 0
    while 0 <= at < len(text):
        try:
            value, end = decode(text, at)
            yield value
            at = len(text) - len(text[end:].lstrip("\0 \t\r\n"))
        except (ValueError, RecursionError):
            at = text.find(_BEGINS, at + 1)


# -- the commands ----------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    match list(sys.argv[1:] if argv is None else argv):
        case ["hook", *_]:
            return hook()
        case []:
            sys.stdout.write(settings_lines())
            return 0
        case ["check"] | ["check", str()] as words if not words[-1].startswith("-"):
            return check("".join(words[1:]))
        case ["-h" | "--help"]:
            sys.stdout.write(f"{_USAGE}\n\n{__doc__}")
            return 0
        case _:
            sys.stderr.write(f"{_USAGE}\n")
            return 2


def hook() -> int:
    """Answer an event of Claude Code's. Nothing that happens makes the exit code other
    than 0, because the compaction has to go on."""
    watchdog = threading.Timer(SECONDS, os._exit, (0,))
    watchdog.daemon = True
    watchdog.start()
    try:
        if text := answer(_read_all(0)):
            _write_all(1, text.encode("ascii"))
    except Exception as error:
        reason = f"agentlib-keep put nothing back: {error!r:.200}\n"
        with suppress(OSError):
            _write_all(2, reason.encode("ascii", "backslashreplace"))
    watchdog.cancel()
    return 0


def answer(raw: bytes) -> str:
    """Return what the hook prints for an event, "" if there is nothing to put back.
    Raises ValueError or OSError if the event or its file can't be read."""
    event = json.loads(raw.decode("utf-8-sig", "replace"))
    if event.get("source", "compact") != "compact":
        return ""
    path = Path(event["transcript_path"]).expanduser()
    if not path.is_file():
        raise ValueError(f"{path} is no file")
    text = block(read(lines_of(path)).missing())
    context = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": context}) if text else ""


def _read_all(descriptor: int) -> bytes:
    parts = list[bytes]()
    while sum(map(len, parts)) < _LONGEST and (part := os.read(descriptor, 2**16)):
        parts.append(part)
    return b"".join(parts)


def _write_all(descriptor: int, raw: bytes) -> None:
    while raw:
        raw = raw[os.write(descriptor, raw) :]


def settings_lines() -> str:
    """Say what to put into Claude Code's settings, and how to take it out again."""
    entry = {"type": "command", "command": f"{_command()} hook"}
    hooks = {"SessionStart": [{"matcher": "compact", "hooks": [entry]}]}
    shown = json.dumps({"hooks": hooks}, indent=2, ensure_ascii=False)
    return (
        f"Put this into {_home() / 'settings.json'}, or into .claude/settings.json of\n"
        'one project. If "hooks" or "SessionStart" is there already, add to it.\n\n'
        f"{shown}\n\n"
        "From then on Claude Code has your words again after each compaction. To take\n"
        "it out, delete the entry. `agentlib-keep check` says whether they arrived.\n"
    )


def _command() -> str:
    """Return this command as a shell takes it, with its absolute path."""
    script = Path(sys.argv[0]).absolute()
    is_script = script.name.startswith("agentlib-keep")
    words = [script] if is_script else [Path(sys.executable)]
    more = [] if is_script else ["-m", "session_report.keep"]
    if os.name == "nt":  # Claude Code takes Git's shell there, or PowerShell
        return " ".join([f'"{words[0].as_posix()}"', *more])
    return shlex.join([str(words[0]), *more])


def _home() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def check(session: str) -> int:
    """Print for each compaction of a session whether the person's words arrived.

    `session`: its file, or the beginning of its id. "": the newest.
    """
    try:
        path = _found(session)
        record = read(lines_of(path))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"{path}\n")
    if not record.compactions:
        sys.stdout.write("It has no compaction with a summary.\n")
    for number, compaction in enumerate(record.compactions, 1):
        sys.stdout.write(f"compaction {number}: {_told(compaction, record)}\n")
    return 0


def _told(compaction: Compaction, record: Record) -> str:
    text = compaction.arrived()
    if not text:
        lost = block(record.said[: compaction.seen])
        why = (
            "the hook ran, but this version of Claude Code dropped its text"
            if compaction.has_run
            else f"no hook ran. It would put back about {tokens(lost):,} tokens"
        )
        return f"not at all: {why}"
    if _PREVIEW in text:
        return f"as a preview of about {tokens(text):,} tokens"
    count = sum(map(not_said, text.splitlines()))
    cut = len(_CUTS.findall(text))
    parts = [f"about {tokens(text):,} tokens"]
    parts += [f"{count:,} of your messages left out"] if count else []
    parts += [f"{cut} cut to both ends"] if cut else []
    return f"whole, {', '.join(parts)}"


def _found(session: str) -> Path:
    """Find the file of a session. Raises ValueError if there is none."""
    if session and Path(session).is_file():
        return Path(session)
    projects = _home() / "projects"
    named = [
        path
        for path in projects.glob("*/*.jsonl")
        if path.stem.startswith(session) and not path.name.startswith("agent-")
    ]
    if not named:
        which = f"with an id that begins with {session}" if session else "at all"
        raise ValueError(f"{projects} has no session {which}; name its file")
    return max(named, key=lambda path: path.stat().st_mtime)


if __name__ == "__main__":
    sys.exit(main())
