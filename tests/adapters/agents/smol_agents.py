"""smolagents' ToolCallingAgent with three tools. Arguments: address, prompt."""

import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it asks the network

from hands import bash, read_file, write_file
from smolagents import LiteLLMModel, ToolCallingAgent, tool

address, prompt = sys.argv[1:]
model = LiteLLMModel(
    model_id="anthropic/claude-haiku-5-5",
    api_base=address,
    api_key="any",
    max_tokens=16_000,
)
tools = [tool(each) for each in (bash, read_file, write_file)]
print(ToolCallingAgent(tools=tools, model=model, max_steps=60).run(prompt))
