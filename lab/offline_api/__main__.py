"""Serve the offline API over HTTP on this machine, for an agent in any language.

agentlib-api --port 8080 --window 32000
agentlib-api --model-window claude-opus-5-5=64000 --log requests.jsonl
"""

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from threading import Lock
from typing import Any

import click

from agentlib.cli.arguments import Command
from agentlib.cli.program import typed
from agentlib.settings import MODEL
from offline_api.chat_completions import either
from offline_api.errors import Refusal, invalid
from offline_api.model import reply
from offline_api.record import into, opened, recorded
from offline_api.server import Answer, Headers, Reply, Server, refused

LARGEST = 32_000_000
"""Most bytes of a body."""
SILENCE = 60.0
"""Seconds after which a silent client is let go."""
SMALLEST = 1_000
"""Fewest tokens of a window."""
_HERE = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?", re.IGNORECASE)


def listen(
    answers: Answer, port: int = 0, *, silence: float = SILENCE
) -> ThreadingHTTPServer:
    """Put a server behind a port of 127.0.0.1, for chat completions, too. Port 0 takes
    a free one.

    Raises OSError if the port is taken.
    """
    lock = Lock()
    answers = either(answers)

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

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

        def respond(self, reply: Reply) -> None:
            with suppress(ConnectionError):  # an agent may be stopped while it waits
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                if self.command != "HEAD":
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

        def handle_error(self, request: Any, client_address: Any) -> None:
            # A program that is stopped resets its connections; that is no fault here.
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    return Listener(("127.0.0.1", port), Handler)


def body_of(stream: BufferedIOBase, headers: Headers) -> bytes:
    """Read a request's body. Raises the Refusal of one that is too large or has no
    right length.

    A body that is too large is read and dropped, or its client would only see that the
    connection ends. A body in chunks, which has no length, is refused. So is one that
    is compressed, because a small one may become huge.
    """
    length = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not re.fullmatch("[0-9]{1,9}", length):
        raise invalid(
            "A request needs a Content-Length, a number of at most nine digits"
        )
    coding = headers.get("content-encoding", "identity").strip().lower()
    size = int(length)
    raw = stream.read(min(size, LARGEST))
    for done in range(LARGEST, size, 1_000_000):
        stream.read(min(1_000_000, size - done))
    if size > LARGEST:
        raise Refusal(413, "request_too_large", "Request exceeds the maximum size")
    if coding not in ("", "identity"):
        raise invalid(
            f"Content-Encoding {coding!r} is not simulated: send the body as plain JSON"
        )
    return raw


def _windows(
    context: click.Context, option: click.Parameter, values: Sequence[str]
) -> dict[str, int]:
    """Read the values of --model-window."""
    windows: dict[str, int] = {}
    for value in values:
        name, equals, tokens = value.rpartition("=")
        number = tokens.replace("_", "").replace(",", "")
        if not (name.strip() and equals and re.fullmatch("[0-9]{1,9}", number)):
            raise click.BadParameter(
                f"{value!r} is not MODEL=TOKENS, as in {MODEL}=32000"
            )
        if int(number) < SMALLEST:
            raise click.BadParameter(
                f"{value!r}: a window has at least {SMALLEST:,} tokens"
            )
        windows[name.strip()] = int(number)
    return windows


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    command.main(argv, typed("offline_api", "agentlib-api"))


@click.command(cls=Command)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, help="0 takes a free one."
)
@click.option(
    "--window",
    type=click.IntRange(SMALLEST),
    default=200_000,
    help=f"Tokens of the window of {MODEL}.",
)
@click.option(
    "--model-window",
    "windows",
    multiple=True,
    metavar="MODEL=TOKENS",
    callback=_windows,
    help="Serve the model under this name, too, with this window. May be repeated.",
)
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append a line of JSON for each request to this file, while the server runs.",
)
@click.option(
    "--log-bodies",
    is_flag=True,
    help="Write what was asked and answered into the log, too. It may hold secrets.",
)
def command(
    port: int,
    window: int,
    windows: Mapping[str, int],
    log: Path | None,
    log_bodies: bool,
) -> None:
    """Serve the offline Messages API on 127.0.0.1. Any key will do. Ctrl-C stops it."""
    if log_bodies and not log:
        raise click.UsageError("--log-bodies needs --log FILE, which it writes into")
    answer = Server(reply, window=window, windows=windows).answer
    with ExitStack() as stack:
        if log:
            try:
                file = stack.enter_context(opened(log))
            except OSError as error:
                raise click.ClickException(f"--log {log}: {error.strerror}") from None
            answer = recorded(answer, into(file), bodies=log_bodies)
        try:
            http = stack.enter_context(listen(answer, port))
        except OSError as error:
            hint = "choose another --port, or 0 for a free one"
            raise click.ClickException(
                f"port {port}: {error.strerror}; {hint}"
            ) from None
        models = ", ".join(dict.fromkeys([MODEL, *windows]))
        click.echo(f"ANTHROPIC_BASE_URL=http://127.0.0.1:{http.server_port}")
        click.echo(
            f"The model is {models}. Any key will do. Ctrl-C stops the server.",
            err=True,
        )
        with suppress(KeyboardInterrupt):
            http.serve_forever()


if __name__ == "__main__":
    main()
