"""Bound what a client reads of a reply, whatever the reply is compressed to."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, cast

import httpx2

MOST_BYTES = 32_000_000
"""Most bytes of a reply after it was decompressed, as many as the API takes of a
request."""


MOST_OF_AN_ERROR = 100_000
"""Most bytes of an error's reply. The rest is left, because a person reads it."""


class _Bounded(httpx2.SyncByteStream):
    """The decoded bytes of a response, up to `room` of them."""

    def __init__(self, stream: Iterable[bytes], encoding: str, is_error: bool) -> None:
        self.stream = stream
        self.zipped = zlib.decompressobj(47) if encoding else None
        self.room = MOST_OF_AN_ERROR if is_error else MOST_BYTES
        self.is_error = is_error

    def __iter__(self) -> Iterator[bytes]:
        is_whole = True
        for part in self.stream:
            if self.zipped:
                part = self.zipped.decompress(part, self.room + 1)
                is_whole = self.zipped.eof
            if self.is_error and len(part) >= self.room:
                yield part[: self.room]
                return
            self.room -= len(part)
            if self.room < 0:
                raise httpx2.DecodingError(f"it has more than {MOST_BYTES:,} bytes")
            yield part
        if not is_whole:
            raise httpx2.DecodingError("its compressed body isn't whole")

    def close(self) -> None:
        cast(httpx2.SyncByteStream, self.stream).close()


def bounded(response: httpx2.Response) -> None:
    """Bound the bytes of a response before it is read.

    A small compressed reply can hold gigabytes. `BOUNDED` makes a client use this. A
    reply that is larger than `MOST_BYTES`, or compressed by something else than gzip or
    deflate, fails as one that can't be read. An error is cut at `MOST_OF_AN_ERROR`.
    """
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise httpx2.DecodingError(f"it is compressed as {encoding!r:.80}")
    stream = cast(Iterable[bytes], response.stream)
    coding = encoding.replace("identity", "")
    response.stream = _Bounded(stream, coding, response.is_error)


BOUNDED: dict[str, Any] = {
    "event_hooks": {"response": [bounded]},
    "headers": {"accept-encoding": "gzip"},
}
"""Arguments of an HTTP client whose replies are bounded."""
