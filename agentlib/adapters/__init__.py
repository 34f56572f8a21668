"""The engine in other people's frameworks, and in any loop over a list of messages: one
module for each, imported only if you ask for it.

`chat` (any list in OpenAI's or Anthropic's shape), `langchain` (deepagents too),
`pydantic_agent`, `openai_agents`, `inspect_agent` and `claude_agent`. Each docstring has
an example to copy, and says what the framework's own record loses.

They share `conversation`, the guest's manners: whatever goes wrong with us, the agent
goes on as it would without us. `shapes` writes other people's messages in the wire's
shape, `thread` makes a session of a list and a list of a context, and `record` remembers
what was decided.

Scale the settings to your model's window. `Settings(context_window=32_000)` would keep
the reserves of a large window, so it would compact from 3,000 tokens on.
"""
