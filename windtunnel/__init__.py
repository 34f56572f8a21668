"""The bench around the agent. Of the rest of agentlib, only the terminal imports it.

    client         the real SDK, in front of the offline API or of a live one
    spending       prices, the dollars of a usage, the cap of a live run
    cache          the rules of the prompt cache
    api            the Messages API in this process: rules, tokens, faults
    model          the offline model's replies, from the request alone
    tasks          tasks with planted facts, their files, and checks of the result
    play           run the agent on a task, for naive_loop, crash and scoreboard too
    parts          the learner's own functions, put into the agent that play runs
    replay         a recorded session under other settings, weighed and billed
    put_back       judge a rule for what to put back after a compaction, by what was needed later
    engines        what other systems do that is no number in Settings, a function each
    judge          an engine's protocol, work and cost, beside presets and those engines
    sessions       files of Claude Code, read into the same Session
    figures        pictures of tables, and panels put sliders beside them
    lessons        predictions, and a room for each lesson: its exercises, panels and prints

The offline model shows how a mechanism works. It is no evidence about language models.
"""
