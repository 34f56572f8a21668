"""strands-agents with its own shell, its own manager of the conversation and its
session in HOME. Arguments: the manager, address, window, prompt."""

import sys
from pathlib import Path

from strands import Agent
from strands.agent.conversation_manager import (
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.models.anthropic import AnthropicModel
from strands.session.file_session_manager import FileSessionManager
from strands.vended_tools import shell

MANAGERS = {
    "summarizing": SummarizingConversationManager,
    "sliding": SlidingWindowConversationManager,
}
manager, address, window, prompt = sys.argv[1:]
model = AnthropicModel(
    client_args={"base_url": address, "api_key": "any"},
    model_id="claude-haiku-5-5",
    max_tokens=8_192,
    context_window_limit=int(window),
)
agent = Agent(
    model=model,
    tools=[shell],
    conversation_manager=MANAGERS[manager](proactive_compression=True),
    session_manager=FileSessionManager("one", str(Path.home() / "sessions")),
    callback_handler=None,
)
print(agent(prompt))
