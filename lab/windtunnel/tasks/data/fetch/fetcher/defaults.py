"""What was agreed."""

# FACT: the operators asked for 4 attempts per host.
PER_HOST = 4
PAUSE = 0.5
