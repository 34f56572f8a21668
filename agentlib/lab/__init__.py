"""The bench around the agent. The agent never imports it, `agentlib.__main__` apart.

    client     offline or live: the one place where it is chosen
    offline    the Messages API in this process: its rules, errors, tokens, cache
    policy     what the offline model does, from nothing but the request
    cache      the prompt cache's prefix rules
    cost       prices, an estimate before a run, a cap
    scenarios  tasks with planted facts and success checks
    charts     a table in, a figure out; it computes nothing
    panels     sliders beside a picture; wiring only

What the offline model does illustrates a mechanism. It is no evidence about language models.
"""
