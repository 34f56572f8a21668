"""A small coding agent that outlives its context window. One module is one idea.

Import from the module; nothing is re-exported here:
`from agentlib.micro_compact import micro_compact`.

    messages        messages as plain JSON dicts; kinds of block, marks in texts, the API's rules
    requests        one request to the API, with its cache markers
    settings        every number a layer reads, in one frozen dataclass
    presets         real systems as settings
    estimation      how many tokens is this? (lesson 01)
    micro_compact   clear, truncate or trim old tool results (02)
    auto_compact    archive, summarise, replace (03)
    manual_compact  the tool by which the agent asks for a compaction itself (04)
    transcripts     the append-only session: resume, recall (05)
    session_file    the session's file and its lines
    head_and_tail   keep both ends, and update one hand-off for the middle (06)
    recovery        what to do when a compaction fails (07)
    hooks           before and after a compaction; files that are put back
    pipeline        the layers in their order; step: what they did before one request
    tools           what the agent can do in a folder; shell: one bash command
    loop            the agent: prepare, ask and act, as an iterator of turns (00)
    cli             the agent in a terminal
    lab             the bench around it: an offline model, tasks, replay, figures, panels

In a terminal: `python -m agentlib "Read every Python file here and write a report"`.
"""
