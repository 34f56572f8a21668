"""What the sliders of several panels mean, as a screen reader says it."""

KEEP_RECENT = "how many of the newest results stay whole"
MIN_CHARS = "results of at most so many characters stay whole"
LENGTH = "tokens of each summary"
