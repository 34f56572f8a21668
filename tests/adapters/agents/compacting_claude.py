"""The hook's example in Claude Code, which is told to compact. Arguments: address,
prompt."""

import asyncio
import sys
from dataclasses import replace

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from examples import run

address, prompt = sys.argv[1:3]
options: ClaudeAgentOptions = run("claude_agent")["options"]
environment = {
    "ANTHROPIC_BASE_URL": address,
    "ANTHROPIC_API_KEY": "any",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
tools = ["Bash", "Read", "Write", "Edit"]
options = replace(
    options, model="claude-haiku-5-5", allowed_tools=tools, env=environment
)


async def main() -> str:
    trigger = ""
    async with ClaudeSDKClient(options) as client:
        for words in (prompt, "/compact"):
            await client.query(words)
            async for message in client.receive_response():
                data = getattr(message, "data", {})
                trigger = data.get("compact_metadata", {}).get("trigger", trigger)
    return trigger


print(asyncio.run(main()))
