"""A small coding agent that outlives its context window. One module is one idea.

Begin with `loop.Agent.run`, which is the agent in 25 lines, then `pipeline.compact`, where all
layers meet. Nothing is re-exported here. Import from the modules:
`from agentlib.micro_compact import micro_compact`.

In the order in which one would read them, with the number of the lesson:

    messages        messages as plain JSON dicts, the marks in them, the API's rules
    loop            prepare the context, ask, note the reply, act, and again (00)
    requests        a request with its cache markers
    tools, shell    what the agent can do in a folder: bash, read, write, edit, recall
    estimation      how many tokens is this? (01)
    micro_compact   old tool results give way to placeholders (02)
    auto_compact    archive, summarise, replace (03)
    manual_compact  the agent asks for a compaction itself (04)
    transcripts     the append-only session: resume, recall (05)
    session_file    the lines of its file, and writing them whole
    head_and_tail   both ends stay, a hand-off stands for the middle (06)
    recovery        when compaction fails: ask with less, rest, cut to size (07)
    hooks           before and after a compaction, and files put back beside the summary
    masks           keys and tokens are masked in summaries and in the terminal
    pipeline, step  what an engine is given, the layers in order, and what changes
    summaries       the call for a summary, and all that stands around it
    settings        every number that a layer reads, in one frozen dataclass
    presets         real systems as settings
    spending, live  prices, the cap of a live run, and the SDK in front of a real API
    adapters        the engine in other frameworks, and in any list of messages
    cli             the agent in a terminal

Exceptions of its own:

    auto_compact.SummaryFailed       there is no summary, and nothing was changed
        auto_compact.SummaryTooLong  the API refused the request for its size
        recovery.CompactionRests     the breaker is open: no model was asked
    pipeline.NoEngine                a function takes other arguments than an engine (a TypeError)
    loop.RequestTooLarge             the person's words alone don't fit (a ValueError)
    tools.ToolError                  a tool failed as tools may, and the model is told

In a terminal: `python -m agentlib "Read every Python file here and write a report"`.
"""
