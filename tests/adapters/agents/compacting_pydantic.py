"""pydantic-ai's example. Arguments: address, prompt, window."""

import sys

from anthropic import AsyncAnthropic
from examples import run
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

address, prompt = sys.argv[1:3]
client = AsyncAnthropic(base_url=address, api_key="any", max_retries=0)
model = AnthropicModel("claude-haiku-5-5", provider=AnthropicProvider(anthropic_client=client))
names = run("pydantic_agent", model=model, prompt=prompt)
print(sum(p.part_kind == "tool-call" for m in names["answer"].all_messages() for p in m.parts))
