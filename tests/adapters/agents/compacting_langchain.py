"""LangChain's example. Arguments: address, prompt, window."""

import sys

from examples import run
from langchain_anthropic import ChatAnthropic

address, prompt = sys.argv[1:3]
model = ChatAnthropic(
    model="claude-haiku-5-5", base_url=address, api_key="any", max_tokens=4_000
)
names = run("langchain", model=model, prompt=prompt)
print(sum(len(m.tool_calls) for m in names["answer"]["messages"] if m.type == "ai"))
