"""A file of JSON Lines that only ever grows: whole lines in, whole lines out, whatever happens.

A full disk, Ctrl-C, a kill, a torn last line: what was on disk stays readable. Not here: what
the lines say (session_file).
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

Line = dict[str, Any]
_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def append(path: Path, lines: Sequence[Line]) -> None:
    """Add lines at the end, on disk when this returns. A torn last line is closed first.

    All of them or none: where the disk is full, the file is as before.
    """
    data = b"".join(_encoded(line) + b"\n" for line in lines)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        rest = memoryview(data if _ends_whole(file) else b"\n" + data)
        size = file.seek(0, os.SEEK_END)
        try:
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


def _ends_whole(file: Any) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _encoded(line: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(line, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair: only the escaped form can hold it
        return json.dumps(line).encode("utf-8")


def create_first(folder: Path, names: Iterable[str]) -> Path:
    """The first of these names that has no file in `folder` yet, as a file only its owner can read.

    Created empty and exclusively, so that two programs never get the same one. One name alone that
    has a file already is a FileExistsError; one that is no file's on some system, a ValueError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder
    for name in names:
        if _NO_NAME.search(name):
            raise ValueError(f"{name!r} can't name a file; take letters, digits, - and _")
        path = folder / name
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return path
    raise FileExistsError(f"{path} is there already; take another name, or resume it")


def read(path: Path) -> tuple[list[Line], list[str]]:
    """The lines of a file, and what could not be read of it.

    Two objects glued on one line are two lines (a resume after a torn tail makes them); what is
    not a JSON object is skipped and returned, so that it can be reported.
    """
    lines: list[Line] = []
    skipped: list[str] = []
    for text in path.read_bytes().decode("utf-8-sig", errors="replace").split("\n"):
        for found in _objects(text.strip()):
            if isinstance(found, dict):
                lines.append(found)
            else:
                skipped.append(found)
    return lines, skipped


def _objects(text: str) -> Iterator[Line | str]:
    decoder = json.JSONDecoder()
    while text:
        try:
            found, end = decoder.raw_decode(text)
        except json.JSONDecodeError:
            yield text
            return
        yield found if isinstance(found, dict) else text[:end]
        text = text[end:].strip()
