"""OpenAI's own SDK: asks the address by each of the ways that programs use, and prints
what came."""

import json
import sys

import openai

from agentlib.settings import MODEL

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]
ASKED = [{"role": "user", "content": "Read every Python file and write a report"}]
client = openai.OpenAI(base_url=sys.argv[1], api_key="any", max_retries=0)


def code(ask, **given):
    try:
        ask(**given)
    except openai.APIStatusError as error:
        return [error.status_code, error.code]


create = client.chat.completions.create
whole = create(model=MODEL, messages=ASKED, tools=TOOLS)
counted = {"include_usage": True}
with client.chat.completions.stream(
    model=MODEL, messages=ASKED, tools=TOOLS, stream_options=counted
) as stream:
    events = sorted({event.type for event in stream})
    streamed = stream.get_final_completion()
raw = list(create(model=MODEL, messages=ASKED, tools=TOOLS, stream=True))
long = [{"role": "user", "content": "word " * 10_000}]
calls = [
    answer.choices[0].message.tool_calls[0].function.arguments
    for answer in (whole, streamed)
]
values = {
    "models": [each.id for each in client.models.list()],
    "model": client.models.retrieve(MODEL).id,
    "reason": whole.choices[0].finish_reason,
    "calls": calls,
    "tokens": [whole.usage.prompt_tokens, streamed.usage.prompt_tokens],
    "events": events,
    "last": raw[-1].choices[0].finish_reason,
    "too long": code(create, model=MODEL, messages=long),
    "unknown": code(create, model="gpt-x", messages=ASKED),
    "responses": code(client.responses.create, model=MODEL, input="Hi"),
}
print(json.dumps(values))
