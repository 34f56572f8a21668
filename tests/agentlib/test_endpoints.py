"""An endpoint that misbehaves, behind a socket of this machine.

Each test lets it misbehave once in the middle of a run. No error is a bug's, nothing
noted is lost, and the session goes on with a good endpoint.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from agentlib import loop
from agentlib.api.live import live_client
from agentlib.api.spending import LiveError
from agentlib.messages import blocks
from agentlib.settings import MODEL
from agentlib.tools import Workspace
from agentlib.transcripts import Session, load
from offline_api import client
from offline_api.server import Reply, Server
from tests.builders import call, say, without
from tests.fakes import Body, Clock, good
from tests.loopback import message, response, served
from tests.runs import SMALL

READ = call("toolu_9", "read_file", path="a.txt")


def error(kind: str, text: Any = "No.") -> Body:
    return {"type": "error", "error": {"type": kind, "message": text}}


# test_loop has all other contents that no endpoint should send.
CONTENTS: dict[str, Any] = {
    "unknown tool": [{**READ, "name": "format_disk"}],
    "half a pair": [
        {"type": "text", "text": "\ud83d"},
        {**READ, "input": {"path": "\ud83d"}},
    ],
    "no block": [],
    "null": None,
    "a text": "Hello",
    "nested deep": [{**READ, "input": json.loads('{"a":' * 300 + "1" + "}" * 300)}],
}
WHOLE: dict[str, Reply] = {
    "no usage": response(without(message(READ), "usage")),
    "usage null": response(message(READ, usage=None)),
    "usage a list": response(message(READ, usage=[1])),
    "usage a text": response(message(READ, usage="x")),
    "usage with a list": response(message(READ, usage={"cache_creation": [1]})),
    "stop reason a list": response(message(READ, stop_reason=["tool_use"])),
    "nested too deep": response(b'{"content":' + b"[" * 3_000 + b"]" * 3_000 + b"}"),
    "a number too long": response(b'{"id":' + b"9" * 5_000 + b"}"),
    "no UTF-8": response(b'{"id": "\xff"}'),
    "a stream": response(
        b"event: ping\ndata: {}\n\n", content_type="text/event-stream"
    ),
    "204": Reply(204, {}, b""),
    "usage of texts": response(
        message(READ, usage={"input_tokens": "9", "output_tokens": []})
    ),
    "no content": response(without(message(), "content")),
    "no stop reason": response(message(READ, stop_reason=None)),
    "unknown stop reason": response(message(READ, stop_reason="bored")),
    "tool_use without a call": response(message(stop_reason="tool_use")),
    "not JSON": response(b"{"),
    "empty": response(b""),
    "null body": response(None),
    "a list": response([1]),
    "1 MB of text": response(message({"type": "text", "text": "x" * 1_000_000})),
    "a web page": response(b"<html>Log in</html>", content_type="text/html"),
    "a redirect": Reply(307, {"location": "http://127.0.0.1:9/v1/messages"}, b""),
    "400 without a reason": response({}, 400),
    "400 of a number": response(error("invalid_request_error", 5), 400),
    "403": response(error("permission_error"), 403),
    "404": response(error("not_found_error"), 404),
    "413": response(
        error("request_too_large", "Request exceeds the maximum size"), 413
    ),
    "429 for an hour": response(error("rate_limit_error"), 429, retry_after="3600"),
    "529 without retry": response(
        error("overloaded_error"), 529, x_should_retry="false"
    ),
    "500 in HTML": response(
        b"<html>", 500, content_type="text/html", retry_after_ms="1"
    ),
    "shorter than it says": response(b"{", content_length="9999"),
    "another encoding": response(b"no gzip", content_encoding="gzip"),
}
CASES = {
    **{name: response(message(*(c or []))) for name, c in CONTENTS.items()},
    **WHOLE,
}
for _name in ("null", "a text"):
    CASES[f"content {_name}"] = response({**message(), "content": CONTENTS[_name]})


class Odds(Server):
    """Asks for a reading, misbehaves once, and is good from then on."""

    def __init__(self, odd: Reply, pause: float = 0.0) -> None:
        super().__init__(lambda body: say("Done."))
        self.odd = odd
        self.pause = pause
        self.replies: Iterator[Reply] = iter(
            [response(message(call("toolu_1", "bash", command="ls")))]
        )

    def answer(self, method: str, path: str, headers: Any, raw: bytes) -> Reply:
        if first := next(self.replies, None):
            return first
        odd = self.odd
        self.odd = None
        if odd:
            time.sleep(self.pause)
            return odd
        return super().answer(method, path, headers, raw)


def survives(
    odd: Reply, folder: Path, monkeypatch: Any, pause: float = 0.0, **more: Any
) -> Any:
    """Run into the odd reply, then go on. Returns the error that the run ended with."""
    (folder / "work").mkdir()
    (folder / "work/a.txt").write_text("one\n")
    session = Session.create(folder, settings=SMALL, session_id="s", clock=Clock())
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-0123456789ab")
    failure = None
    with served(Odds(odd, pause)) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
        api = client(live=True, env=None, say=str, warn=str).with_options(**more)
        terms = {"settings": SMALL, "clock": Clock()}
        workspace = Workspace(folder / "work")
        try:
            list(loop.run(api, "Go.", workspace, session=session, max_turns=5, **terms))
        except (LiveError, anthropic.AnthropicError) as error:
            failure = error
        before = load(session.path).history
        assert before[:3] == session.history[:3]
        assert len(before) >= 3
        loaded = load(session.path)
        api = api.with_options(timeout=30)
        *_, last = loop.run(api, "Go on.", workspace, session=loaded, **terms)
    assert last.stop_reason == "end_turn"
    assert load(session.path).history[: len(before)] == before
    assert all(blocks(m) for m in loaded.context)
    return failure


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:Pydantic")
def test_a_session_survives(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    survives(CASES[name], tmp_path, monkeypatch, max_retries=1)


def test_a_session_survives_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    failure = survives(
        response(message()), tmp_path, monkeypatch, pause=0.6, timeout=0.3
    )
    assert "answer in time" in str(failure)


def test_the_key_of_an_endpoint_reaches_no_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    with served(Server(good)) as own, served(Server(good)) as other:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", own.url)
        api = live_client(None, say=str, warn=str)
        ask: Any = {"model": MODEL, "max_tokens": 9}
        ask["messages"] = [{"role": "user", "content": "Go on."}]
        with pytest.raises(LiveError, match=other.url):
            api.with_options(base_url=other.url).messages.create(**ask)
        assert other.headers == []
        api.messages.create(**ask)
        assert len(own.headers) == 1
