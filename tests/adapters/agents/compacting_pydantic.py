"""pydantic-ai's example, then once more as a stream. Arguments: address, prompt,
window."""

import sys
from typing import Any

from anthropic import AsyncAnthropic
from examples import run
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

address, prompt = sys.argv[1:3]
client = AsyncAnthropic(base_url=address, api_key="any", max_retries=0)
model = AnthropicModel(
    "claude-haiku-5-5", provider=AnthropicProvider(anthropic_client=client)
)
names = run("pydantic_agent", model=model, prompt=prompt)


async def watch(context: Any, events: Any) -> None:
    """Read the stream to its end."""
    async for _ in events:
        pass


said = names["answer"].all_messages()
more = names["agent"].run_sync(prompt, message_history=said, event_stream_handler=watch)
messages = more.all_messages()
print(sum(p.part_kind == "tool-call" for message in messages for p in message.parts))
