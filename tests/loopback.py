"""A provider behind a socket of this machine: reached by the SDK as a real one is."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agentlib.settings import MODEL
from offline_api.__main__ import listen
from offline_api.server import Headers, Reply, Server
from tests.builders import text
from tests.fakes import good

JSON = {"content-type": "application/json"}


def message(*content: Any, **more: Any) -> dict[str, Any]:
    """A message as the API writes it whole. `more` are fields with other values."""
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(content or [text("Good.")]),
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 9},
        **more,
    }


def response(body: Any, status: int = 200, **headers: str) -> Reply:
    """A response with this body, in JSON if it isn't bytes. `retry_after="1"` is a
    header."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, JSON | names, raw)


class Script(Server):
    """A provider that sends these responses, and the last one again and again."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(good)
        self.replies = list(replies)

    def answer(self, *asked: Any) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


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
