"""OpenAI's chat completions, translated into the Messages API and back.

`listen` puts `either` before every server, so `POST /v1/chat/completions` reaches the
same model, the same rules and the same cache as `/v1/messages`, and is recorded as the
request that it becomes. The refusals that programs look for are worded as OpenAI words
them. The Responses API isn't here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from agentlib.messages import Block, Message
from offline_api.server import Answer, Headers, Reply, placed

Body = dict[str, Any]
PATH = "/v1/chat/completions"
OUTPUT = 16_000
"""Most tokens of an answer if the request names none."""
ROLES = {"system": "system", "developer": "system", "assistant": "assistant"}
_STOPS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}
"""Why an answer ended, if OpenAI doesn't call it "stop"."""
_CHOICES = {"required": "any", "none": "none", "auto": "auto"}
_NO_ANSWER = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding "
    "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
)
_NO_CALL = (
    "messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
_TOO_LONG = (
    "This model's maximum context length is {1} tokens. However, your messages resulted "
    "in {0} tokens. Please reduce the length of the messages."
)
_WORDS = (
    (r"prompt is too long: (\d+) tokens > (\d+).*", _TOO_LONG),
    (r"Request size exceeds model context window", "Request too large for the model."),
    (r".*ids were found without.*after: (.*)\. Each.*", f"{_NO_ANSWER}{{0}}"),
    (r".*unexpected `tool_use_id` found.*", _NO_CALL),
)
"""Words of a refusal -> OpenAI's for the same, both from public reports: chathub#126,
cai#111, and https://community.openai.com."""
_CODES = {401: "invalid_api_key", 404: "model_not_found"}


def either(answer: Answer) -> Answer:
    """Return a function that answers as `answer` does, and requests for chat
    completions, too."""

    def answers(method: str, path: str, headers: Headers, raw: bytes) -> Reply:
        if (method, placed(path)) != ("POST", PATH):
            return answer(method, path, headers, raw)
        try:
            asked: Body = json.loads(raw)
            body = json.dumps(to_messages(asked)).encode()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            asked, body = {}, raw  # what nobody can read is refused as it came
        reply = answer("POST", "/v1/messages", headers, body)
        message = json.loads(reply.body)
        if reply.status != 200:
            return _reply(reply, json.dumps({"error": _error(reply.status, message)}))
        whole = completion(message)
        if not asked.get("stream"):
            return _reply(reply, json.dumps(whole, ensure_ascii=False))
        options: Body = asked.get("stream_options") or {}
        counted = bool(options.get("include_usage"))
        lines = [json.dumps(each) for each in chunks(whole, usage=counted)]
        text = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
        return _reply(reply, text, "text/event-stream; charset=utf-8")

    return answers


def _reply(reply: Reply, text: str, kind: str = "application/json") -> Reply:
    return Reply(reply.status, {**reply.headers, "content-type": kind}, text.encode())


# -- the request -----------------------------------------------------------------------


def to_messages(asked: Mapping[str, Any]) -> Body:
    """Write a request for a chat completion as one for a message.

    What only tunes a language model, such as a temperature, is left out. What changes
    the form of the answer stays, and is refused. OpenAI caches prompts unasked.

    >>> to_messages({"model": "m", "messages": [
    ...     {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]})
    {'model': 'm', 'max_tokens': 16000, 'messages': [...], ... 'system': [...]}
    """
    system, messages = _messages(asked["messages"])
    limit = asked.get("max_completion_tokens") or asked.get("max_tokens") or OUTPUT
    body: Body = {"model": asked["model"], "max_tokens": limit, "messages": messages}
    body["cache_control"] = {"type": "ephemeral"}
    if system:
        body["system"] = system
    if tools := asked.get("tools"):
        body["tools"] = [_tool(tool) for tool in tools]
        if choice := _choice(asked):
            body["tool_choice"] = choice
    if stop := asked.get("stop"):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    form: Body = asked.get("response_format") or {}
    if form.get("type", "text") != "text":
        body["output_format"] = form
    if (asked.get("n") or 1) > 1:
        body["n"] = asked["n"]
    return body


def _messages(given: list[Body]) -> tuple[list[Block], list[Message]]:
    """Return the system prompt, which is what comes first, and the messages.

    OpenAI takes a conversation that the assistant begins or ends, and empty messages.
    """
    system: list[Block] = []
    messages: list[Message] = []
    for each in given:
        role = ROLES.get(each["role"], "user")
        content = list(_blocks(each))
        if role == "system" and not messages:
            system += content
        elif content and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        elif content:
            messages.append({"role": role, "content": content})
    if messages and messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": [_text("Continue.")]})
    return system, messages


def _blocks(message: Body) -> Iterator[Block]:
    if message["role"] == "tool":
        content = [*_parts(message.get("content"))]
        call = message["tool_call_id"]
        yield {"type": "tool_result", "tool_use_id": call, "content": content}
        return
    yield from _parts(message.get("content"))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        given = _given(function["arguments"] or "{}")
        named = {"id": call["id"], "name": function["name"], "input": given}
        yield {"type": "tool_use", **named}


def _given(arguments: str) -> Body:
    """Return the arguments of a call, which a program may send cut off."""
    with suppress(ValueError):
        if isinstance(given := json.loads(arguments), dict):
            return cast(Body, given)
    return {"arguments": arguments}


def _parts(content: object) -> Iterator[Block]:
    """Yield the blocks of a content. One that isn't text stays, and is refused."""
    parts = [_text(content)] if isinstance(content, str) else content or []
    for part in cast(list[Block], parts):
        if part["type"] in ("text", "refusal"):
            text = str(part.get("text") or part.get("refusal") or "")
            yield from [_text(text)] if text.strip() else []
        else:
            yield {**part, "type": part["type"].removesuffix("_url")}


def _text(words: str) -> Block:
    return {"type": "text", "text": words}


def _tool(tool: Body) -> Block:
    """Return a function as a tool. Another kind of tool stays, and is left out or
    refused."""
    if "function" not in tool:
        return tool
    function = tool["function"]
    schema: Body = function.get("parameters") or {"type": "object", "properties": {}}
    told = {"description": text} if (text := function.get("description")) else {}
    return {"name": function["name"], **told, "input_schema": schema}


def _choice(asked: Mapping[str, Any]) -> Body | None:
    choice = asked.get("tool_choice")
    alone = asked.get("parallel_tool_calls") is False
    if isinstance(choice, dict):
        chosen = cast(Body, choice)
        named: Body = chosen.get("function") or chosen
        return {"type": "tool", "name": named["name"]}
    if choice is None and not alone:
        return None
    kind = _CHOICES.get(str(choice), "auto")
    single = {"disable_parallel_tool_use": True} if alone and kind != "none" else {}
    return {"type": kind, **single}


# -- the answer ------------------------------------------------------------------------


def completion(message: Mapping[str, Any]) -> Body:
    """Write a message as a chat completion."""
    words = [block["text"] for block in message["content"] if block["type"] == "text"]
    calls = [
        _called(block) for block in message["content"] if block["type"] == "tool_use"
    ]
    reply: Body = {
        "role": "assistant",
        "content": "".join(words) or None,
        "refusal": None,
    }
    if calls:
        reply["tool_calls"] = calls
    is_filtered = message["stop_reason"] == "refusal" and not words
    reason = _STOPS.get(message["stop_reason"], "stop")
    reason = "content_filter" if is_filtered else reason
    choice = {"index": 0, "message": reply, "logprobs": None, "finish_reason": reason}
    return {
        "id": f"chatcmpl-{message['id'].removeprefix('msg_')}",
        "object": "chat.completion",
        "created": 0,
        "model": message["model"],
        "choices": [choice],
        "usage": usage(message["usage"]),
    }


def _called(block: Block) -> Body:
    given = json.dumps(block["input"], ensure_ascii=False)
    function = {"name": block["name"], "arguments": given}
    return {"id": block["id"], "type": "function", "function": function}


def usage(counted: Mapping[str, int]) -> Body:
    """Write a bill as OpenAI does, whose prompt has the cached tokens in it.

    >>> usage({"input_tokens": 5, "cache_read_input_tokens": 20,
    ...        "cache_creation_input_tokens": 0, "output_tokens": 3})["prompt_tokens"]
    25
    """
    read = counted["cache_read_input_tokens"]
    prompt = counted["input_tokens"] + read + counted["cache_creation_input_tokens"]
    output = counted["output_tokens"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": read},
    }


def chunks(whole: Mapping[str, Any], *, usage: bool) -> Iterator[Body]:
    """Yield the parts of a stream: the role, the text, each call, the reason why it
    ended. `usage`: and the bill."""
    head = {
        **{key: whole[key] for key in ("id", "created", "model")},
        "object": "chat.completion.chunk",
    }
    (choice,) = whole["choices"]
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    if text := choice["message"]["content"]:
        deltas.append({"content": text})
    for index, call in enumerate(choice["message"].get("tool_calls", ())):
        begun = {**call, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **begun}]})
        rest = {"arguments": call["function"]["arguments"]}
        deltas.append({"tool_calls": [{"index": index, "function": rest}]})
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    end: Body = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**head, "choices": [end]}
    if usage:
        yield {**head, "choices": [], "usage": whole["usage"]}


def _error(status: int, body: Mapping[str, Any]) -> Body:
    """Write a refusal as OpenAI does.

    >>> _error(400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}})
    {'message': "This model's ... 8 tokens. ...", ... 'code': 'context_length_exceeded'}
    """
    told: str = body["error"]["message"]
    words = told
    for form, ours in _WORDS:
        if match := re.fullmatch(form, told):
            words = ours.format(*match.groups())
    is_long = words != told and ("context length" in words or "too large" in words)
    code = "context_length_exceeded" if is_long else _CODES.get(status)
    kind = "invalid_request_error" if status < 500 and status != 429 else "server_error"
    kind = "rate_limit_error" if status == 429 else kind
    return {"message": words, "type": kind, "param": None, "code": code}
