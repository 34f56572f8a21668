"""What LangChain's adapter notes of a bill. Argument: the `input_token_details`, as
JSON."""

import json
import sys

from langchain_core.messages import AIMessage

from agentlib.adapters.langchain import Compaction

usage = {"input_tokens": 10_000, "output_tokens": 50, "total_tokens": 10_050}
usage["input_token_details"] = json.loads(sys.argv[1])
print(
    json.dumps(
        Compaction("sessions").ours(AIMessage("Hello.", usage_metadata=usage))["usage"]
    )
)
