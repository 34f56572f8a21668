"""A provider behind a socket of this machine: reached by the SDK as a real one is."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from offline_api.__main__ import listen
from offline_api.server import Headers, Reply, Server


class Wire:
    """A server behind a socket, and the headers of the requests it got."""

    def __init__(self, server: Server, **options: float) -> None:
        self.server = server
        self.headers: list[Headers] = []
        self.http = listen(self.answer, **options)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        self.headers.append(headers)
        return self.server.answer(method, path, headers, raw)


@contextmanager
def served(server: Server, **options: float) -> Iterator[Wire]:
    """A `Wire` that answers as long as the block runs. `options`: those of `listen`."""
    provider = Wire(server, **options)
    thread = threading.Thread(target=provider.http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        provider.http.shutdown()
        thread.join()
        provider.http.server_close()
