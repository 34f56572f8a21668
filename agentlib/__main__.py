"""`python -m agentlib`: the agent in a terminal."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `python -m` looks in the current folder first, and a `random.py` there isn't ours.
        sys.path.append(sys.path.pop(0))

    from agentlib.cli.main import main

    raise SystemExit(main())
