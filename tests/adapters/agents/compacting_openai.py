"""OpenAI Agents' example on a model of LiteLLM, then streamed. Arguments: address,
prompt."""

import asyncio
import os
import sys
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it asks the network

from agents import Runner, function_tool, set_tracing_disabled
from agents.extensions.models.litellm_model import LitellmModel
from examples import TOOLS, run

address, prompt = sys.argv[1:3]
set_tracing_disabled(True)
model = LitellmModel("anthropic/claude-haiku-5-5", base_url=address, api_key="any")
tools = [function_tool(tool) for tool in TOOLS]
names = run("openai_agents", model=model, prompt=prompt, tools=tools)


async def again() -> list[Any]:
    """Ask once more in the same conversation, streamed."""
    said = [*names["answer"].to_input_list(), {"role": "user", "content": prompt}]
    config = names["config"]
    answer = Runner.run_streamed(names["agent"], said, run_config=config, max_turns=200)
    async for _ in answer.stream_events():
        pass
    return answer.to_input_list()


items = asyncio.run(again())
print(sum(item.get("type") == "function_call" for item in items))
