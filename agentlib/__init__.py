"""A small coding agent that outlives its context window, one lesson after the other.

    loop            make the context, ask, note the reply, act, and again       (00)
    estimation      how many tokens is this?                                     (01)
    micro_compact   old tool results give way to placeholders                    (02)
    auto_compact    archive, summarise, replace                                  (03)
    manual_compact  the agent asks for a compaction itself                       (04)
    transcripts     the append-only session: note, fold, load                    (05)
    head_and_tail   both ends stay, a hand-off stands for the middle             (06)
    recovery        when compaction fails: ask with less, cut to size            (07)
    messages, step, pipeline    the data, what a layer decides, the list of layers
    settings, presets           every number in one place, real systems as numbers

Drawers: `compaction` (around an engine), `session` (its file), `api`, `tools`. Nothing is
re-exported. Begin with `loop.Agent.run`, then `pipeline.LAYERS`.
"""
