"""OpenAI Agents' example, with a model of LiteLLM. Arguments: address, prompt, window."""

import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it asks the network

from agents import function_tool, set_tracing_disabled
from agents.extensions.models.litellm_model import LitellmModel
from examples import TOOLS, run

address, prompt = sys.argv[1:3]
set_tracing_disabled(True)
model = LitellmModel("anthropic/claude-haiku-5-5", base_url=address, api_key="any")
tools = [function_tool(tool) for tool in TOOLS]
names = run("openai_agents", model=model, prompt=prompt, tools=tools)
print(sum(i.get("type") == "function_call" for i in names["answer"].to_input_list()))
