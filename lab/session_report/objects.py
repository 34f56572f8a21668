"""Read the JSON objects of a session's file, whatever else stands in it."""

import io
import json
from collections.abc import Callable, Iterator
from typing import BinaryIO

from agentlib.session import file
from agentlib.session.file import Line
from session_report.formats import Source

_LONGEST = 2**28
_MOST = 200
_FREE = 2**24
"""Bytes of the longest line that is read from a compressed file, how many times its
size a file may be unpacked, and bytes that are no matter. A few bytes can stand for
more than any memory holds. Sessions are packed to a tenth or so."""
_CHUNK = 2**10
"""Bytes that are unpacked at once. They hold 32 MB at most, as zstd's blocks do."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""What a file begins with that Windows PowerShell 5 wrote with `>`."""
_DATABASE = b"SQLite format 3\0"
TORN = "the compressed file is damaged, or ends in the middle"
"""Stands among the skipped texts for what could not be unpacked."""


def objects(
    source: Source, skipped: list[str], progress: Callable[[int], object] = int
) -> Iterator[Line]:
    """Yield the JSON objects of a source. The beginnings of other texts in it go to
    `skipped`.

    A file whose name ends in .zst is unpacked. `progress` gets the bytes as they are
    read. Raises ValueError if it is no regular file or a database, or if a compressed
    file holds far more than sessions do.
    """
    if source.path.exists() and not source.path.is_file():
        raise ValueError(f"{source.path} is not a regular file")
    with source.open() as raw:
        is_packed = source.path.suffix == ".zst"
        lines = _unpacked(raw, skipped, progress) if is_packed else _told(raw, progress)
        parts = file.parts(lines)
        for number, part in parts:
            if isinstance(part, dict):
                yield part
            elif number == 1 and part == "{":  # one object on many lines
                rest = b"".join(lines)
                yield json.loads(b"{" + rest)
                return
            else:
                skipped.append(part[:200])


def _told(raw: BinaryIO, progress: Callable[[int], object]) -> Iterator[bytes]:
    head = raw.read(len(_DATABASE))
    if head == _DATABASE:
        raise ValueError("it is an SQLite database, which is not read")
    raw.seek(0)
    if not head.startswith(_UTF_16):
        for line in raw:
            progress(len(line))
            yield line
        return
    for text in raw.read().decode("utf-16", "replace").split("\n"):
        progress(2 * len(text))
        yield text.encode("utf-8", "replace")


def _unpacked(
    raw: BinaryIO, skipped: list[str], progress: Callable[[int], object]
) -> Iterator[bytes]:
    """Yield the lines of a compressed file, as many as it has whole."""
    import zstandard

    rest = io.BytesIO()
    is_whole = True
    size = 0
    given = 0
    unpack = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
    try:
        while chunk := raw.read(_CHUNK):
            progress(len(chunk))
            part = unpack.decompress(chunk)
            size += len(chunk)
            given += len(part)
            if given > max(_FREE, _MOST * size):
                raise ValueError(
                    f"it unpacks to more than {_MOST} times its size, which no session "
                    "does; unpack it yourself if it is one"
                )
            *whole, last = part.split(b"\n")
            for line in whole:
                rest.write(line)
                yield rest.getvalue() + b"\n"
                rest = io.BytesIO()
            rest.write(last)
            if rest.tell() > _LONGEST:
                raise ValueError("a line of it is longer than 256 MB")
            is_whole = unpack.unused_data == b"" and unpack.eof
    except zstandard.ZstdError:
        is_whole = False
    yield rest.getvalue()
    if not is_whole:
        skipped.append(TORN)
