"""The text of tools: cut to size, shown by pages, and with `/workspace` for the folder's own name.

Pure functions of text, so that what the model reads is the same on every machine (but for
`shown`, which asks the disk once where a folder's links lead). Not here: the tools (`tools`).
"""

import re
import shlex
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path, PurePath

CAP = 50_000
"""Characters of one tool result, its notes included (seeds 002 and 004)."""

ROOM = 120
"""Characters of those that the notes under a cut text may need."""

_START = r"(?:(?<![\w.\-~)}\]*?])|(?<=\s-[A-Za-z]))"  # not within `src/workspace`, but after `-I`
_END = r"(?![\w-]|\.\w)"


def capped(text: str, cut: int, *notes: str) -> str:
    """At most `CAP` characters: the head of a text of which `cut` characters are gone already,
    how many are missing, the notes.

    >>> capped("one", 0, "(exit code 3)")
    'one\\n(exit code 3)'
    """
    whole = "\n".join([text, *notes])
    if not cut and len(whole) <= CAP:
        return whole
    head = text[: CAP - ROOM]
    return "\n".join([head, f"... ({cut + len(text) - len(head)} characters cut)", *notes])


def page(lines: Sequence[str], offset: int = 0, limit: int | None = None) -> str:
    """The lines after `offset`, within the cap; the last line says how to go on.

    >>> print(page(["a", "b", "c"], offset=1, limit=1))
    b
    ... (1 more)
    """
    rest = lines[offset:]
    wanted = list(rest[:limit])
    more = len(rest) - len(wanted)
    text = "\n".join(wanted + ([f"... ({more} more)"] if more else []))
    if len(text) <= CAP:
        return text if text.strip() else f"({len(wanted)} blank lines)"
    room = CAP - ROOM
    count = max(1, sum(end <= room for end in accumulate(len(line) + 1 for line in wanted)))
    text = "\n".join(wanted[:count])
    if len(text) > room:
        text = f"{text[:room]} [{len(text) - room} more characters in this line]"
    more = len(rest) - count
    note = f"\n... ({more} more; continue with offset={offset + count})"
    return text + (note if more else "")


def located(command: str, folder: Path) -> str:
    """The command with `/workspace` as the folder it stands for, quoted as its place wants it.

    >>> located("ls /workspace/a", Path("/home/my work"))
    "ls '/home/my work'/a"
    """
    path = folder.as_posix()
    return re.sub(
        f"{_START}/workspace{_END}", lambda m: _quoted(path, command[: m.start()]), command
    )


def shown(text: str, folder: Path) -> str:
    """The text with `/workspace` for the folder, however a program wrote it.

    >>> shown("/home/me/demo/a.py:3 /home/me/demo2", Path("/home/me/demo"))
    '/workspace/a.py:3 /home/me/demo2'
    """
    return _spelled(folder).sub(lambda m: "/workspace" + re.sub(r"\\+", "/", m["rest"]), text)


def spellings(folder: PurePath, temporary: PurePath) -> set[str]:
    r"""How programs write a folder. On Windows also with slashes, with doubled backslashes, and as
    Git's bash does, to which the temporary folder is `/tmp`.

    >>> from pathlib import PureWindowsPath
    >>> sorted(spellings(PureWindowsPath("C:/t/a"), PureWindowsPath("C:/t")))
    ['/c/t/a', '/tmp/a', 'C:/t/a', 'C:\\\\t\\\\a', 'C:\\t\\a']
    """
    found = {str(folder), str(folder).replace("\\", "\\\\"), folder.as_posix()}
    if folder.drive:
        found.add(f"/{folder.drive[0].lower()}{folder.as_posix().removeprefix(folder.drive)}")
        if folder.is_relative_to(temporary):
            found.add(f"/tmp/{folder.relative_to(temporary).as_posix()}")
    return found


@lru_cache
def _spelled(folder: Path) -> re.Pattern[str]:
    temporary = Path(tempfile.gettempdir())
    names = spellings(folder, temporary) | spellings(folder.resolve(), temporary.resolve())
    choices = "|".join(re.escape(name) for name in sorted(names))
    rest = r"(?:\\+[\w.-]+)*" if folder.drive else ""
    return re.compile(f"{_START}(?:{choices}){_END}(?P<rest>{rest})")


def _quoted(path: str, before: str) -> str:
    closed = re.sub(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", "", before, flags=re.DOTALL)
    match re.search(r"['\"]", closed):
        case None:
            return shlex.quote(path)
        case quote if quote[0] == "'":
            return path.replace("'", "'\\''")
        case _:
            return re.sub(r'([$`"\\])', r"\\\1", path)
