"""LangChain, whose middleware for retries turns a failed call into a message, behind
ours. Prints how many requests there were, and in how many the error's text stands."""

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agentlib import presets
from agentlib.adapters.langchain import Compaction
from agentlib.messages import SUMMARY_WANTED

requests = []


class Model(BaseChatModel):
    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        if SUMMARY_WANTED in messages[-1].text:
            raise RuntimeError("503 service unavailable")
        number = len(requests)
        requests.append("unavailable" in str([message.text for message in messages]))
        calls = [{"name": "read", "args": {"n": number}, "id": f"t{number}"}]
        reply = AIMessage("Done.", tool_calls=calls if number < 15 else [])
        return ChatResult(generations=[ChatGeneration(message=reply)])


def read(n: int) -> str:
    """Read a file."""
    return f"file {n}: " + "lorem ipsum dolor " * 90


retry = ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
compaction = Compaction("sessions", presets.DEFAULT.scaled(4_000))
agent = create_agent(Model(), [read], middleware=[compaction, retry])
agent.invoke(
    {"messages": [{"role": "user", "content": "Go."}]}, {"recursion_limit": 99}
)
print(len(requests), sum(requests))
