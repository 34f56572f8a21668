"""A provider behind a socket of this machine: reached by the SDK as a real one is.

The offline model's server and the standard library's; not for load.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from agentlib.lab.api.server import Server


class Wire:
    """Our server behind a socket: a provider that is reached as a real one is."""

    def __init__(self, server: Server) -> None:
        self.headers: list[dict[str, str]] = []
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                given = {name.lower(): value for name, value in self.headers.items()}
                wire.headers.append(given)
                reply = server.answer("POST", self.path.partition("?")[0], given, raw)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def served(server: Server) -> Iterator[Wire]:
    """A `Wire` that answers as long as the block runs."""
    provider = Wire(server)
    thread = threading.Thread(target=provider.http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        provider.http.shutdown()
        thread.join()
        provider.http.server_close()
