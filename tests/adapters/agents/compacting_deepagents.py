"""deepagents with LangChain's adapter, async and streamed. Arguments: address, prompt,
window."""

import asyncio
import sys

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from examples import SETTINGS
from langchain_anthropic import ChatAnthropic

from agentlib.adapters.langchain import Compaction

address, prompt = sys.argv[1:3]
model = ChatAnthropic(
    model="claude-haiku-5-5",
    base_url=address,
    api_key="any",
    max_tokens=4_000,
    streaming=True,
)


async def main() -> int:
    files = FilesystemBackend(root_dir=".", virtual_mode=True)
    compaction = Compaction("sessions", SETTINGS)
    agent = create_deep_agent(model=model, backend=files, middleware=[compaction])
    asked = {"messages": [{"role": "user", "content": prompt}]}
    messages = []
    async for part in agent.astream(
        asked, {"recursion_limit": 400}, stream_mode="values"
    ):
        messages = part["messages"]
    return sum(len(message.tool_calls) for message in messages if message.type == "ai")


print(asyncio.run(main()))
