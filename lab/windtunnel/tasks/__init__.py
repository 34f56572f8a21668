"""What the agent is asked to do in the lessons, and how the result is checked."""
