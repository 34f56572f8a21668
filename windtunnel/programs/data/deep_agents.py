"""deepagents with its files on disk and its session in HOME. Arguments: address,
window, prompt."""

import sys
from pathlib import Path

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_anthropic import ChatAnthropic
from langgraph.checkpoint.sqlite import SqliteSaver

address, window, prompt = sys.argv[1:]
model = ChatAnthropic(
    model="claude-haiku-5-5",
    base_url=address,
    api_key="any",
    max_tokens=8_192,
    profile={"max_input_tokens": int(window), "tool_calling": True},
)
backend = FilesystemBackend(root_dir=".", virtual_mode=True)
with SqliteSaver.from_conn_string(str(Path.home() / "session.db")) as saver:
    agent = create_deep_agent(model=model, backend=backend, checkpointer=saver)
    asked = {"messages": [{"role": "user", "content": prompt}]}
    settings = {"recursion_limit": 2_000, "configurable": {"thread_id": "one"}}
    print(agent.invoke(asked, settings)["messages"][-1].content)
