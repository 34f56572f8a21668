"""Serve the offline API over HTTP on this machine, for an agent in any language."""

from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

import click

from agentlib.lab.api.server import Headers, Reply, Server
from agentlib.lab.model import reply
from agentlib.settings import MODEL

Answer = Callable[[str, str, Headers, bytes], Reply]
"""method, path, headers, body -> response, such as a server's `answer`."""


def listen(answers: Answer, port: int = 0) -> ThreadingHTTPServer:
    """Put a server behind a port of 127.0.0.1; 0 takes a free one.

    Raises OSError if the port is taken.
    """
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            raw = self.rfile.read(int(headers.get("content-length", 0)))
            with lock:
                reply = answers(self.command, self.path.partition("?")[0], headers, raw)
            with suppress(ConnectionError):  # an agent may be stopped while it waits
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


@click.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, help="0 takes a free one.")
@click.option("--window", type=click.IntRange(1_000), default=200_000, help="Tokens.")
def main(port: int, window: int) -> None:
    """Serve the offline Messages API on 127.0.0.1. Any key will do. Ctrl-C stops it."""
    try:
        http = listen(Server(reply, window=window).answer, port)
    except OSError as error:
        reason = f"port {port}: {error.strerror}; choose another --port, or 0 for a free one"
        raise click.ClickException(reason) from None
    with http, suppress(KeyboardInterrupt):
        click.echo(f"ANTHROPIC_BASE_URL=http://127.0.0.1:{http.server_port}")
        click.echo(f"The model is {MODEL}. Any key will do. Ctrl-C stops the server.", err=True)
        http.serve_forever()


if __name__ == "__main__":
    main()
