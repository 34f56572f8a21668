"""deepagents with its files on disk and its session in HOME. Arguments: address,
window, prompt."""

import sys
from contextlib import nullcontext
from pathlib import Path

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_anthropic import ChatAnthropic

try:
    from langgraph.checkpoint.sqlite import SqliteSaver
except ModuleNotFoundError:  # then there is one prompt and no session
    SqliteSaver = None

address, window, prompt = sys.argv[1:]
model = ChatAnthropic(
    model="claude-haiku-5-5",
    base_url=address,
    api_key="any",
    max_tokens=8_192,
    profile={"max_input_tokens": int(window), "tool_calling": True},
)
backend = FilesystemBackend(root_dir=".", virtual_mode=True)
session = str(Path.home() / "session.db")
opened = SqliteSaver.from_conn_string(session) if SqliteSaver else nullcontext()
with opened as saver:
    agent = create_deep_agent(model=model, backend=backend, checkpointer=saver)
    asked = {"messages": [{"role": "user", "content": prompt}]}
    settings = {"recursion_limit": 2_000, "configurable": {"thread_id": "one"}}
    print(agent.invoke(asked, settings)["messages"][-1].content)
