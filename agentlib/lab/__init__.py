"""The bench around the agent. The agent never imports it, `agentlib.__main__` apart.

    client      offline or live: the one place where it is chosen; metering: a cap in dollars
    offline     the Messages API in this process: its rules, errors, tokens, faults on request
    policy      what the offline model does, from nothing but the request
    cache       the prompt cache's prefix rules
    cost        prices, an estimate before a run
    scenarios   tasks with planted facts; workspaces, fetcher, parcels: their files; checking: is
                a report true?
    replay      a recorded session under other settings; recording: what its bills tell
    sessions    Claude Code's files read into the same session, and a session as a table
    figures     tables and messages in, pictures out; they compute nothing
    panels      sliders beside a picture; wiring only

What the offline model does illustrates a mechanism. It is no evidence about language models.
"""
