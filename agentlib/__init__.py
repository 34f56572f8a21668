"""A small coding agent that outlives its context window. One module is one idea.

Import from the module; nothing is re-exported here:
`from agentlib.micro_compact import micro_compact`.

    messages        messages as plain JSON dicts in the wire's shape; the rules they must keep
    settings        every number a layer reads, in one frozen dataclass
    presets         real systems as settings, one each
    estimation      how many tokens is this? (lesson 01)
    micro_compact   old tool results give way to placeholders (02)
    auto_compact    archive, summarise, replace (03)
    manual_compact  the agent asks for it itself (04)
    transcripts     the append-only session file, resume, recall (05)
    pipeline        the layers in order, the only place where they meet
    tools           what the agent can do in a folder: bash, read, write, edit, recall
    loop            request, tools, request ... as an iterator of turns (00)
    lab             the bench around it: an offline model, scenarios, charts, panels

In a terminal: `python -m agentlib "Read every Python file here and write a report"`.
"""
