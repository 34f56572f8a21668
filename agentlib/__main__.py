"""`python -m agentlib`: the agent in a terminal."""

import sys


def end(number: int, frame: object) -> None:
    """Unwind and end the program with a shell's code for a signal."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `python -m` looks in the current folder first, and a `random.py` there isn't
        # ours.
        sys.path.append(sys.path.pop(0))

    import signal

    for name in {"SIGINT", "SIGTERM", "SIGHUP"} & {*dir(signal)}:
        if (
            signal.getsignal(getattr(signal, name)) != signal.SIG_IGN
        ):  # as nohup leaves it
            signal.signal(getattr(signal, name), end)

    from agentlib.cli.main import main

    if signal.getsignal(signal.SIGINT) is end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    raise SystemExit(main())
