"""A small coding agent that outlives its context window. One module is one idea.

Import from the module; nothing is re-exported here:
`from agentlib.micro_compact import micro_compact`.

    messages        messages as plain JSON dicts in the wire's shape; the rules they must keep
    kinds           what a message is made of, by kind of block
    wire            what is sent: a request with its cache markers
    settings        every number a layer reads, in one frozen dataclass
    presets         real systems as settings, one each
    estimation      how many tokens is this? (lesson 01)
    micro_compact   old tool results give way to placeholders (02)
    auto_compact    archive, summarise, replace (03)
    manual_compact  the agent asks for it itself (04)
    head_and_tail   both ends stay, a hand-off stands for the middle, updated each time (06)
    recovery        when compaction fails: less, rest, cut to size (07)
    restore         hooks around a compaction, and what is put back beside the summary
    transcripts     the append-only session, resume, recall (05)
    session_file    the session's file and its lines
    pipeline        the layers in order, the only place where they meet
    tools           what the agent can do in a folder: bash, read, write, edit, recall
    shell           running one bash command
    agent           what a round is made of: prepare, ask, act
    loop            rounds, as an iterator of turns (00)
    cli             `python -m agentlib`: the agent in a terminal
    lab             the bench around it: an offline model, scenarios, charts, panels

In a terminal: `python -m agentlib "Read every Python file here and write a report"`.
"""
