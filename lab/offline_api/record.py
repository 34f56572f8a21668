"""Record what a program asked of the offline API, and what came back, while it happens.

A `Record` tells of one request in numbers and in a few words. It holds no text of the
request, unless its bodies are asked for. In process, the records go into a list:

    records: list[Record] = []
    with listen(recorded(Server(reply).answer, records.append)) as http: ...

`agentlib-api --log FILE` writes them into a file, a line of JSON for each request.
"""

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, Any, cast

from agentlib.api.masks import masked
from agentlib.messages import blocks, kinds_of
from offline_api.body_schema import left_out
from offline_api.errors import TABLE
from offline_api.model import asks_for_summary
from offline_api.model.view import holds_summary
from offline_api.server import Answer, Headers, Reply, placed
from offline_api.tokens import TOOL, block_tokens, pieces, text_tokens

Body = dict[str, Any]
_API = frozenset(re.findall(r"[a-z_]+", str(TABLE)))
"""Words of the API itself, such as `tool_use`."""
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"|`[^`]*`""")
_NAME = re.compile(r"[\w.:/@+\[\]-]{1,100}", re.ASCII)
"""How a model or a key may be called."""


@dataclass(frozen=True)
class Record:
    """One request and its answer."""

    time: float
    """Seconds since 1970 when the request came."""
    method: str
    path: str
    status: int
    """HTTP status of the answer, 0 if the program was left without one."""
    model: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tokens of the prompt by kind of block: system, tools, user, assistant, thinking,
    tool_use, tool_result, image, placeholder, summary."""
    messages: int = 0
    tools: int = 0
    max_tokens: int = 0
    uncached: int = 0
    """Tokens of the prompt that were neither read from the cache nor written to it."""
    cache_read: int = 0
    cache_written: int = 0
    output: int = 0
    """Tokens of the answer."""
    stop_reason: str = ""
    asks_for_summary: bool = False
    broke: str = ""
    """The rule that the request broke, in the API's words. "" if the request was
    accepted. Unless bodies are recorded, "…" stands for what it quotes of the
    request."""
    left_out: Sequence[str] = ()
    """The types of the API's own tools that it offered, which this server hasn't. The
    model never saw them."""
    request: Body | None = None
    """The request's body, if bodies are recorded."""
    answer: Body | None = None
    """The answer's body, if bodies are recorded. Of a stream, the message that its
    events add up to."""

    @property
    def prompt(self) -> int:
        """Tokens of the prompt, as they were counted for the sizes."""
        return sum(self.sizes.values())

    @property
    def is_message(self) -> bool:
        """Whether the request asks the model for a message."""
        return (self.method, placed(self.path)) == ("POST", "/v1/messages")

    def line(self) -> str:
        """Return the record as a line of JSON in ASCII, without the bodies that it
        hasn't.

        A body that is too deep to be written is left out.
        """
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        bodies = {name: values.pop(name) for name in ("request", "answer")}
        given = {name: body for name, body in bodies.items() if body is not None}
        try:
            return json.dumps(values | given) + "\n"
        except RecursionError:
            return json.dumps(values) + "\n"


def recorded(
    answer: Answer,
    note: Callable[[Record], object],
    *,
    bodies: bool = False,
    clock: Callable[[], float] = time.time,
) -> Answer:
    """Return a function that answers as `answer` does and hands each record to `note`.

    The record is noted before the answer leaves. An answer that never comes, because a
    fault asks for that, is noted with status 0.

    >>> from offline_api.server import Server
    >>> records = []
    >>> answers = recorded(Server(dict).answer, records.append, clock=lambda: 0.0)
    >>> answers("GET", "/api/tags", {}, b"").status, records[0].path
    (404, '/api/tags')
    """

    def answers(method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        came = clock()
        reply: Reply | None = None
        try:
            reply = answer(method, path, headers, raw)
            return reply
        finally:
            note(_record(came, method, path, raw, reply, bodies))

    return answers


def opened(path: Path) -> IO[str]:
    """Open a file to append records to. Only its owner can read a new one.

    Raises OSError if that can't be done.
    """

    def private(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600)

    return open(path, "a", encoding="utf-8", opener=private)


def into(file: IO[str]) -> Callable[[Record], None]:
    """Return a function that writes each record into an open file at once.

    If the disk is full, that is said on stderr, and the request is answered.
    """

    def write(record: Record) -> None:
        try:
            file.write(record.line())
            file.flush()
        except OSError as error:
            sys.stderr.write(f"[a request isn't in the log: {error}]\n")

    return write


def sizes(body: Body) -> dict[str, int]:
    """Return the tokens of a request's prompt by kind of block, as the server counts
    them.

    >>> sizes({"messages": [{"role": "user", "content": "hi"}]})
    {'user': 6}
    """
    counted = Counter[str]()
    for path, role, block in pieces(body):
        content = {key: value for key, value in block.items() if key != "cache_control"}
        if path.startswith("tools."):
            text = json.dumps(content, sort_keys=True, ensure_ascii=False)
            counted["tools"] += TOOL + text_tokens(text)
        else:
            counted[_kind(path, role, content)] += block_tokens(content)
    return dict(counted)


def _kind(path: str, role: str, block: Body) -> str:
    """Return a block's kind. A result of several parts has the kind of its first.

    A summary is known by the offline model's notes, wherever a program puts it.
    """
    if block.get("type") == "text" and holds_summary(block["text"]):
        return "summary"
    if path.startswith("system.") or role == "system":
        return "system"
    parts = kinds_of({"role": role, "content": [block]})
    return parts[0][0] if parts else "tool_result"


# -- one request -----------------------------------------------------------------------


def _record(
    came: float,
    method: str,
    path: str,
    raw: bytes,
    reply: Reply | None,
    bodies: bool,
) -> Record:
    body = _object(raw)
    answer = _message_of(reply) if reply else {}
    usage = cast(Body, answer.get("usage") or {})
    error = cast(Body, answer.get("error") or {})
    broke = str(error.get("message") or "")
    prompt = _prompt(body)
    return Record(
        time=came,
        method=method,
        path=path,
        status=reply.status if reply else 0,
        model=_named(body.get("model") or ""),
        uncached=usage.get("input_tokens") or 0,
        cache_read=usage.get("cache_read_input_tokens") or 0,
        cache_written=usage.get("cache_creation_input_tokens") or 0,
        output=usage.get("output_tokens") or 0,
        stop_reason=answer.get("stop_reason") or "",
        left_out=[_named(each) for each in left_out(body)],
        broke=broke if bodies else _without_quotes(broke, body),
        request=body if bodies else None,
        answer=answer if bodies else None,
        **prompt,
    )


def _named(name: object) -> str:
    """Return a name, "…" for anything that is none."""
    is_name = name == "" or (isinstance(name, str) and _NAME.fullmatch(name))
    return masked(str(name)) if is_name else "…"


def _without_quotes(text: str, body: Body) -> str:
    """Return the words of a refusal without those of the request.

    >>> _without_quotes("model: my plan", {"model": "my plan"})
    'model: …'
    """
    own = {each for each in _strings(body) if len(each) > 1 and each not in _API}
    own -= {str(body.get("model"))} if _named(body.get("model")) != "…" else set()
    for each in sorted(own, key=len, reverse=True):
        text = text.replace(each, "…")

    def quoted(match: re.Match[str]) -> str:
        mark = match[0][0]
        return match[0] if match[0][1:-1] in _API else f"{mark}…{mark}"

    return masked(_QUOTED.sub(quoted, text))


def _strings(value: object) -> Iterator[str]:
    """Yield each string of a body, and each key that is no name."""
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            each = cast(Body, part)
            parts += [name for name in each if _named(name) == "…"]
            parts += each.values()
        elif isinstance(part, list):
            parts += cast(list[object], part)


def _prompt(body: Body) -> Body:
    """Return what a record tells of a prompt, nothing if the body holds none.

    A request that the API refuses for its form may not be readable at all.
    """
    try:
        return {
            "sizes": {_named(k): n for k, n in sizes(body).items()},
            "messages": len(body["messages"]),
            "tools": len(body.get("tools") or ()),
            "max_tokens": _count(body.get("max_tokens")),
            "asks_for_summary": asks_for_summary(body),
        }
    except Exception:  # whatever a body that the API refuses may raise here
        return {}


def _count(number: object) -> int:
    return number if isinstance(number, int) and 0 <= number < 10**12 else 0


def _object(raw: bytes) -> Body:
    """Return the object of a body, an empty one for any other body."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return cast(Body, value) if isinstance(value, dict) else {}


def _message_of(reply: Reply) -> Body:
    """Return the message of an answer, also of one that is streamed."""
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        return _object(reply.body)
    lines = reply.body.decode("utf-8", "replace").split("\n")
    events = (_object(x[6:].encode()) for x in lines if x.startswith("data: "))
    return _added_up(events)


def _added_up(events: Iterator[Body]) -> Body:
    """Return the message that the events of a stream add up to."""
    message: Body = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = {**event["message"], "content": []}
            case "content_block_start":
                message["content"].append(dict(event["content_block"]))
            case "content_block_delta":
                _add(message["content"][-1], event["delta"])
            case "message_delta":
                message |= {**event["delta"], "usage": event["usage"]}
            case "error":
                message = event
            case _:
                pass
    for block in blocks(message) if "content" in message else ():
        if "input_json" in block:
            block["input"] = json.loads(block.pop("input_json") or "{}")
    return message


def _add(block: Body, delta: Body) -> None:
    """Add a delta to its block."""
    for name, value in delta.items():
        if name == "partial_json":
            block["input_json"] = block.get("input_json", "") + value
        elif name == "content":
            block[name] = value
        elif name != "type":
            block[name] = block.get(name, "") + value
