"""deepagents with its files on disk: it has no bash. Arguments: address, prompt."""

import sys

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_anthropic import ChatAnthropic

address, prompt = sys.argv[1:]
model = ChatAnthropic(
    model="claude-haiku-5-5", base_url=address, api_key="any", max_tokens=16_000
)
agent = create_deep_agent(
    model=model, backend=FilesystemBackend(root_dir=".", virtual_mode=True)
)
asked = {"messages": [{"role": "user", "content": prompt}]}
print(agent.invoke(asked, {"recursion_limit": 200})["messages"][-1].content)
