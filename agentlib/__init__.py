"""A small coding agent that outlives its context window. One module is one idea.

Begin with `loop.Agent.run`, which is the agent on one screen, then `pipeline.LAYERS`, the list of
its layers: `clear`, `summarise`, `cut`. Nothing is re-exported here. Import from the modules:
`from agentlib.micro_compact import micro_compact`.

**The core** is for one sitting. In the order in which one would read it, with the number of
the lesson:

    messages        messages as plain JSON dicts, the marks in them, what waits for an answer
    step            what changes before one request, and the context that it makes
    estimation      how many tokens is this? (01)
    micro_compact   old tool results give way to placeholders (02)
    auto_compact    archive, summarise, replace (03)
    manual_compact  the agent asks for a compaction itself (04)
    pipeline        what an engine is given, the layers, and a list of them as an engine
    transcripts     the append-only session: note, fold, load (05)
    session_file    the lines of its file, and writing them whole
    loop            make the context, ask, note the reply, act, and again (00)

**Beside it**, each plugged in at one place:

    head_and_tail   both ends stay, a hand-off stands for the middle (06)
    recovery        when compaction fails: ask with less, rest, cut to size (07)
    around          what stands around an engine: the breaker, hooks, other models, bills
    summaries       the call for a summary, and all that stands around it, in order
    own_notes       the agent's own notes in place of a summary
    hooks           before and after a compaction, pins, the gate, what is put back (10)
    keep_alive      the last request once more, so that the prompt cache lives on (08)
    undo            see what a compaction would do, and take the last one back
    events          what a person should know about a turn
    engine_check    somebody's engine or layer, and what is wrong with a function that is none
    session_extras  what a session's lines say beside the conversation
    session_lock    one process at a time
    mending         a damaged session file, repaired
    requests        a request with its cache markers, and sending it
    replies         what an endpoint sent, as it may be sent back
    refusals        how an API refuses a prompt for its size
    tools, shell    what the agent can do in a folder: bash, read, write, edit, recall
    masks           keys and tokens are masked in summaries and in the terminal
    settings        every number that a layer reads, in one frozen dataclass
    presets         real systems as settings
    spending, live  prices, the cap of a live run, and the SDK in front of a real API
    adapters        the engine in other frameworks, and in any list of messages
    cli             the agent in a terminal

Exceptions of its own:

    auto_compact.SummaryFailed       there is no summary, and nothing was changed
        auto_compact.SummaryTooLong  the API refused the request for its size
        recovery.CompactionRests     the breaker is open: no model was asked
    engine_check.NoEngine            a function takes other arguments than it should (a TypeError)
    requests.ModelFailed             the client raised something in place of a reply
        requests.TooLong             the API refused the request for its size
    loop.RequestTooLarge             the person's words alone don't fit (a ValueError)
    session_lock.SessionInUse        another process works on the session
    tools.ToolError                  a tool failed as tools may, and the model is told

In a terminal: `python -m agentlib "Read every Python file here and write a report"`.
"""
