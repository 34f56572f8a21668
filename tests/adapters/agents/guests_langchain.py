"""What people do with LangChain's agents, each without the middleware and with it.
Prints both results of each, as JSON. The model is scripted."""

import json
from collections.abc import Callable
from typing import Any

from deepagents import create_deep_agent
from guests import BIG, SETTINGS, SUMMARY, compare, is_wish
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from agentlib import presets
from agentlib.adapters.langchain import Compaction


class Scripted(BaseChatModel):
    """Reads so many files, then is done. A request for a summary gets one."""

    steps: int = 16
    name_of_tool: str = "read"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **given: Any) -> Any:
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.reply(messages))])

    def reply(self, messages: Any) -> AIMessage:
        if is_wish(messages[-1].text):
            thought = {"type": "thinking", "thinking": "Hm."}
            return AIMessage([thought, {"type": "text", "text": SUMMARY}])
        ids = [call["id"] for m in messages if m.type == "ai" for call in m.tool_calls]
        number = int(ids[-1]) + 1 if ids else 0
        if number >= self.steps or messages[-1].text.startswith("Stop"):
            return AIMessage("done")
        call = {"name": self.name_of_tool, "args": {"n": number}, "id": str(number)}
        return AIMessage(f"step {number}", tool_calls=[call])


@tool
def read(n: int) -> str:
    """Read."""
    return f"file {n}: {BIG}"


@tool
def ask_person(n: int) -> str:
    """Ask the person."""
    return f"{interrupt(f'May I read {n}?')}: {BIG}"


ASKED = {"messages": [HumanMessage("Read the numbers one by one.")]}
LIMIT = {"recursion_limit": 200}


def agent(middleware: list[Any], **given: Any) -> Any:
    model = Scripted(name_of_tool=given.pop("name_of_tool", "read"))
    return create_agent(model, [read, ask_person], middleware=middleware, **given)


def texts(state: Any) -> list[str]:
    return [message.text[:40] for message in state["messages"]]


def streamed(middleware: list[Any]) -> list[str]:
    parts = agent(middleware).stream(ASKED, LIMIT, stream_mode="messages")
    return [chunk.text[:20] for chunk, _ in parts if SUMMARY in chunk.text]


def interrupted(middleware: list[Any]) -> list[str]:
    asking = agent(middleware, name_of_tool="ask_person", checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}, **LIMIT}
    state = asking.invoke(ASKED, config)
    while "__interrupt__" in state:
        state = asking.invoke(Command(resume="yes"), config)
    return texts(state)


def travelled(middleware: list[Any]) -> list[str]:
    saved = agent(middleware, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}, **LIMIT}
    saved.invoke(ASKED, config)
    history = list(saved.get_state_history(config))
    early = history[len(history) // 2].config
    words = {"messages": [HumanMessage("Stop here.")]}
    return texts(saved.invoke(words, {**early, **LIMIT}))


def sub_agents(middleware: list[Any]) -> list[str]:
    class Boss(Scripted):
        def reply(self, messages: Any) -> AIMessage:
            answer = super().reply(messages)
            is_boss = "Delegate" in messages[0].text
            if not (answer.tool_calls and is_boss):
                return answer
            task = {"description": "Read.", "subagent_type": "general-purpose"}
            call = {**answer.tool_calls[0], "name": "task", "args": task}
            return AIMessage(answer.text, tool_calls=[call])

    deep = create_deep_agent(model=Boss(steps=2), tools=[read], middleware=middleware)
    asked = {"messages": [HumanMessage("Delegate it.")]}
    return texts(deep.invoke(asked, {"recursion_limit": 500}))


def beyond_deepagents_own_limit(middleware: list[Any]) -> list[str]:
    """Read more than 170,000 tokens, at which deepagents summarises by itself."""

    @tool("read")
    def large(n: int) -> str:
        """Read."""
        return f"file {n}: {'lorem ipsum dolor ' * 2_600}"

    given = [Compaction("deep", presets.DEFAULT.scaled(200_000))] if middleware else []
    deep = create_deep_agent(model=Scripted(), tools=[large], middleware=given)
    return texts(deep.invoke(ASKED, {"recursion_limit": 500}))


SCENARIOS: list[Callable[[list[Any]], Any]] = [
    streamed,
    interrupted,
    travelled,
    sub_agents,
    beyond_deepagents_own_limit,
]
compaction = Compaction("sessions", SETTINGS)
print(json.dumps(compare(SCENARIOS, [], [compaction])))
