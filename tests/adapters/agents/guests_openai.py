"""What people do with OpenAI's agents, each without the filter and with it. Prints both
results of each, as JSON. The model is scripted."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    ModelSettings,
    RunConfig,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.extensions import handoff_filters
from guests import BIG, SETTINGS, SUMMARY, compare, is_wish
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from agentlib.adapters.openai_agents import Compaction

set_tracing_disabled(True)
STEPS = 12


def said(words: str) -> Any:
    text = ResponseOutputText(text=words, type="output_text", annotations=[])
    kept = {"id": "m", "role": "assistant", "status": "completed", "type": "message"}
    return ResponseOutputMessage(content=[text], **kept)


def call(number: int, name: str, **given: Any) -> Any:
    return ResponseFunctionToolCall(
        call_id=str(number),
        name=name,
        arguments=json.dumps(given),
        type="function_call",
    )


class Scripted(Model):
    """Calls a tool so many times, then `last`, then is done."""

    def __init__(
        self, steps: int = STEPS, tool: str = "read", last: Any = None
    ) -> None:
        self.steps = steps
        self.tool = tool
        self.last = last

    def answer(self, given: Any, settings: Any) -> Any:
        items = [{"content": given}] if isinstance(given, str) else given
        words = items[-1].get("content") or ""
        parts = [words] if isinstance(words, str) else [p.get("text") for p in words]
        if is_wish(str(parts[-1] if parts else "")):
            return said(SUMMARY if settings.tool_choice is None else "")
        calls = [item for item in items if item.get("type") == "function_call"]
        numbers = [int(each["call_id"]) for each in calls if each["name"] == self.tool]
        number = numbers[-1] + 1 if numbers else 0
        if number < self.steps:
            return call(
                number,
                self.tool,
                **({"n": number} if self.tool == "read" else {"input": "Read."}),
            )
        if self.last and not any(each["call_id"] == "99" for each in calls):
            return call(99, self.last)
        return said("done")

    async def get_response(
        self,
        system_instructions: Any,
        input: Any,
        model_settings: Any,
        *_: Any,
        **__: Any,
    ) -> Any:
        return ModelResponse(
            output=[self.answer(input, model_settings)], usage=Usage(), response_id=None
        )

    async def stream_response(
        self,
        system_instructions: Any,
        input: Any,
        model_settings: Any,
        *_: Any,
        **__: Any,
    ) -> AsyncIterator[Any]:
        kept: dict[str, Any] = {
            "id": "r",
            "created_at": 0,
            "model": "scripted",
            "object": "response",
        }
        response = Response(
            output=[self.answer(input, model_settings)],
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
            **kept,
        )
        yield ResponseCompletedEvent(
            response=response, sequence_number=0, type="response.completed"
        )


@function_tool
def read(n: int) -> str:
    """Read."""
    return f"file {n}: {BIG}"


def config(compaction: Any, name: str, **given: Any) -> RunConfig:
    chosen = compaction.of(name) if compaction else None
    return RunConfig(call_model_input_filter=chosen, **given)


def shape(result: Any) -> list[str]:
    items = result.to_input_list()
    return [
        f"{i.get('type', i.get('role'))} {i.get('output', '')!s:.30}" for i in items
    ]


def streamed(compaction: Any) -> list[str]:
    async def run() -> list[str]:
        agent = Agent(name="a", model=Scripted(), tools=[read])
        chosen = config(compaction, "streamed")
        result = Runner.run_streamed(agent, "Read.", run_config=chosen, max_turns=60)
        async for _ in result.stream_events():
            pass
        return shape(result)

    return asyncio.run(run())


def forced_tool(compaction: Any) -> list[str]:
    settings = ModelSettings(tool_choice="required")
    agent = Agent(name="a", model=Scripted(), tools=[read], model_settings=settings)
    agent.reset_tool_choice = False
    chosen = config(compaction, "forced")
    return shape(Runner.run_sync(agent, "Read.", run_config=chosen, max_turns=60))


def agent_as_tool(compaction: Any) -> list[str]:
    helper = Agent(name="helper", model=Scripted(), tools=[read])
    tool = helper.as_tool("ask_helper", "asks", max_turns=60)
    boss = Agent(name="boss", model=Scripted(2, "ask_helper"), tools=[tool])
    chosen = config(compaction, "tool")
    return shape(Runner.run_sync(boss, "Go.", run_config=chosen, max_turns=60))


def handed_over(compaction: Any, **given: Any) -> list[str]:
    second = Agent(name="second", model=Scripted(4), tools=[read])
    to_second = handoff(second, **given)
    model = Scripted(last=to_second.tool_name)
    first = Agent(name="first", model=model, tools=[read], handoffs=[to_second])
    chosen = config(compaction, f"handoff {sorted(given)}")
    return shape(Runner.run_sync(first, "Read.", run_config=chosen, max_turns=90))


def handed_over_without_tools(compaction: Any) -> list[str]:
    return handed_over(compaction, input_filter=handoff_filters.remove_all_tools)


def two_runs_of_a_session(compaction: Any) -> list[str]:
    async def run() -> list[str]:
        session = SQLiteSession("s")
        agent = Agent(name="a", model=Scripted(), tools=[read])
        chosen = config(compaction, "session")
        for words in ("Read.", "And now?"):
            await Runner.run(
                agent, words, session=session, run_config=chosen, max_turns=60
            )
        return [
            str(item.get("type", item.get("role")))
            for item in await session.get_items()
        ]

    return asyncio.run(run())


compaction = Compaction("sessions", SETTINGS)
scenarios = [
    streamed,
    forced_tool,
    agent_as_tool,
    handed_over,
    handed_over_without_tools,
    two_runs_of_a_session,
]
print(json.dumps(compare(scenarios, None, compaction)))
