"""Read the JSON objects of a file, whatever else stands in it."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from agentlib.session import file
from agentlib.session.file import Line
from session_report.formats import gemini

_LONGEST = 2**30
"""Bytes of the longest line that is read from a compressed file. A few bytes can stand
for more than any memory holds."""
_CHUNK = 2**18
TORN = "(the compressed file is damaged, or ends in the middle)"
"""Stands among the skipped texts for what could not be unpacked."""


def objects(
    path: Path, skipped: list[str], progress: Callable[[int], object] = int
) -> Iterator[Line]:
    """Yield the JSON objects of a file. The beginnings of other texts in it go to
    `skipped`.

    A file whose name ends in .zst is unpacked. `progress` gets the bytes of the file as
    they are read. Raises ValueError if it is no regular file, or if a line of a
    compressed file is longer than a gigabyte.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file")
    with path.open("rb") as raw:
        is_packed = path.suffix == ".zst"
        lines = _unpacked(raw, skipped, progress) if is_packed else _told(raw, progress)
        parts = file.parts(lines)
        for number, part in parts:
            if isinstance(part, dict):
                yield from gemini.objects(part)
            elif number == 1 and part == "{":  # one object on many lines
                rest = b"".join(lines)
                yield from gemini.objects(json.loads(b"{" + rest))
                return
            else:
                skipped.append(part[:200])


def _told(raw: BinaryIO, progress: Callable[[int], object]) -> Iterator[bytes]:
    for line in raw:
        progress(len(line))
        yield line


def _unpacked(
    raw: BinaryIO, skipped: list[str], progress: Callable[[int], object]
) -> Iterator[bytes]:
    """Yield the lines of a compressed file, as many as it has whole."""
    import zstandard

    rest = io.BytesIO()
    is_whole = True
    unpack = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
    try:
        while chunk := raw.read(_CHUNK):
            progress(len(chunk))
            *whole, last = unpack.decompress(chunk).split(b"\n")
            for line in whole:
                rest.write(line)
                yield rest.getvalue() + b"\n"
                rest = io.BytesIO()
            rest.write(last)
            if rest.tell() > _LONGEST:
                raise ValueError("a line of it is longer than a gigabyte")
            is_whole = unpack.unused_data == b"" and unpack.eof
    except zstandard.ZstdError:
        is_whole = False
    yield rest.getvalue()
    if not is_whole:
        skipped.append(TORN)
