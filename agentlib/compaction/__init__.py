"""What stands around an engine and its summaries.

around        hooks, the breaker, other models and bills around one engine (07, 10)
breaker       after three failures compaction rests (07)
engine_check  somebody's engine: its layers in words, its view as a step, what is wrong
events        what a person should know about a turn
hooks         what is put beside a summary: pins, files, results (10)
own_notes     the agent's own notes in place of a summary
"""
