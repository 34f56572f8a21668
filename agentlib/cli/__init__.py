"""The agent in a terminal: `python -m agentlib`."""
