"""What people do with pydantic-ai's agents, each without the capability and with it.
Prints both results of each, as JSON. The model is scripted."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from guests import BIG, SETTINGS, SUMMARY, compare, is_wish
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from agentlib.adapters.pydantic_agent import Compaction

STEPS = 12


class Report(BaseModel):
    """A structured answer."""

    text: str


def answer(messages: list[Any], info: AgentInfo) -> ModelResponse:
    words = [p for p in messages[-1].parts if isinstance(p, UserPromptPart)]
    if words and is_wish(str(words[-1].content)):
        return ModelResponse([ThinkingPart("Hm."), TextPart(SUMMARY)])
    ids = [
        p.tool_call_id for m in messages for p in m.parts if p.part_kind == "tool-call"
    ]
    number = int(ids[-1]) + 1 if ids and ids[-1].isdigit() else 0
    if number < STEPS:
        return ModelResponse([ToolCallPart("read", {"n": number}, str(number))])
    if info.output_tools:
        done = ToolCallPart(info.output_tools[0].name, {"text": "done"}, "end")
        return ModelResponse([done])
    return ModelResponse([TextPart("done")])


async def stream(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
    [part] = answer(messages, info).parts
    if isinstance(part, ToolCallPart):
        args = json.dumps(part.args)
        yield {
            0: DeltaToolCall(
                name=part.tool_name, json_args=args, tool_call_id=part.tool_call_id
            )
        }
    else:
        yield part.content


def agent(capabilities: list[Any], **given: Any) -> Any:
    model = FunctionModel(answer, stream_function=stream)
    made = Agent(model, capabilities=capabilities, **given)

    @made.tool_plain
    def read(n: int) -> str:
        return f"file {n}: {BIG}"

    return made


def parts(result: Any) -> list[str]:
    return [
        f"{part.part_kind} {getattr(part, 'content', '')!s:.20}"
        for message in result.all_messages()
        for part in message.parts
    ]


def streamed(capabilities: list[Any]) -> list[str]:
    async def run() -> list[str]:
        async with agent(capabilities).run_stream("Read.") as result:
            words = [text async for text in result.stream_text()]
            return [*words[-1:], *parts(result)]

    return asyncio.run(run())


def structured(capabilities: list[Any]) -> list[str]:
    result = agent(capabilities, output_type=Report).run_sync("Read.")
    return [result.output.text, *parts(result)]


def taken_up_twice(capabilities: list[Any]) -> list[str]:
    one = agent(capabilities)
    history = one.run_sync("Read.").all_messages()
    again = [one.run_sync(words, message_history=history) for words in ("On.", "Stop.")]
    return [line for result in again for line in parts(result)]


def delegated(capabilities: list[Any]) -> list[str]:
    helper = agent(capabilities)
    boss = agent(capabilities)

    @boss.tool_plain
    async def ask_helper(question: str) -> str:
        return (await helper.run(question)).output

    def chief(messages: list[Any], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(
                [ToolCallPart("ask_helper", {"question": "Read."}, "0")]
            )
        return ModelResponse([TextPart("the helper is done")])

    return parts(boss.run_sync("Delegate it.", model=FunctionModel(chief)))


compaction = Compaction("sessions", SETTINGS)
scenarios = [streamed, structured, taken_up_twice, delegated]
print(json.dumps(compare(scenarios, [], [compaction])))
