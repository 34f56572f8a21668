"""Serve the offline API over HTTP on this machine, for an agent in any language."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from threading import Lock
from typing import Any

import click

from agentlib.cli.arguments import Command
from agentlib.cli.program import typed
from agentlib.settings import MODEL
from offline_api.errors import Refusal, invalid
from offline_api.model import reply
from offline_api.server import Headers, Reply, Server, refused

Answer = Callable[[str, str, Headers, bytes], Reply]
"""method, path, headers, body -> response, such as a server's `answer`."""


LARGEST = 32_000_000
"""Most bytes of a body."""
SILENCE = 60.0
"""Seconds after which a silent client is let go."""
_HERE = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?", re.IGNORECASE)


def listen(
    answers: Answer, port: int = 0, *, silence: float = SILENCE
) -> ThreadingHTTPServer:
    """Put a server behind a port of 127.0.0.1. Port 0 takes a free one.

    Raises OSError if the port is taken.
    """
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = silence

        def answer(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                if not _HERE.fullmatch(headers.get("host", "localhost")):
                    raise Refusal(
                        403, "permission_error", "The Host must be of this machine"
                    )
                raw = body_of(self.rfile, headers)
            except Refusal as refusal:
                self.respond(refused(refusal))
                return
            with lock:
                reply = answers(self.command, self.path.partition("?")[0], headers, raw)
            self.respond(reply)

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def respond(self, reply: Reply) -> None:
            with suppress(ConnectionError):  # an agent may be stopped while it waits
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        def send_error(
            self, code: int, message: str | None = None, explain: Any = None
        ) -> None:
            self.respond(
                refused(
                    Refusal(code, "invalid_request_error", message or "Bad request")
                )
            )

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        request_queue_size = 128  # clients that may come at once

    return Listener(("127.0.0.1", port), Handler)


def body_of(stream: BufferedIOBase, headers: Headers) -> bytes:
    """Read a request's body. Raises the Refusal of one that is too large or has no
    right length.

    A body that is too large is read and dropped, or its client would only see that the
    connection ends. A body in chunks, which has no length, is refused.
    """
    length = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not re.fullmatch("[0-9]{1,9}", length):
        raise invalid(
            "A request needs a Content-Length, a number of at most nine digits"
        )
    size = int(length)
    raw = stream.read(min(size, LARGEST))
    for done in range(LARGEST, size, 1_000_000):
        stream.read(min(1_000_000, size - done))
    if size > LARGEST:
        raise Refusal(413, "request_too_large", "Request exceeds the maximum size")
    return raw


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    command.main(argv, typed("offline_api", "agentlib-api"))


@click.command(cls=Command)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, help="0 takes a free one."
)
@click.option("--window", type=click.IntRange(1_000), default=200_000, help="Tokens.")
def command(port: int, window: int) -> None:
    """Serve the offline Messages API on 127.0.0.1. Any key will do. Ctrl-C stops it."""
    try:
        http = listen(Server(reply, window=window).answer, port)
    except OSError as error:
        reason = (
            f"port {port}: {error.strerror}; choose another --port, or 0 for a free one"
        )
        raise click.ClickException(reason) from None
    with http, suppress(KeyboardInterrupt):
        click.echo(f"ANTHROPIC_BASE_URL=http://127.0.0.1:{http.server_port}")
        click.echo(
            f"The model is {MODEL}. Any key will do. Ctrl-C stops the server.", err=True
        )
        http.serve_forever()


if __name__ == "__main__":
    main()
