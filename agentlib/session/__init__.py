"""The session's file, and its care.

file        the lines, writing them whole, one process at a time
extras      what the lines say beside the conversation
mending     a damaged file, repaired
undo        take the last compaction back
keep_alive  the last request once more, so that the prompt cache lives on (08)
"""
