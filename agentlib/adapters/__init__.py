"""The engine in other people's frameworks: one module for each, imported only if you
ask for it.

`langchain` (deepagents too), `pydantic_ai`, `openai_agents`, `inspect` and
`claude_agent`. Each docstring has an example to copy, and says what the framework's own
record loses. `conversation` holds the part that four of them share.

Scale the settings to your model's window. `Settings(context_window=32_000)` would keep
the reserves of a large window, so it would compact from 3,000 tokens on.
"""
